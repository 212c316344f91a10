// Mixtures of experts: which token goes to which expert, the way there and back, and how even the load is.
#include "accumulate.h"
#include "elements.h"
#include "host.h"
#include "register.h"
#include "scan.h"

namespace tablerec {

// ---- the place of a choice among those of the same expert
//
// Each of `rows` tokens makes `k` choices. Nothing is sorted and nothing waits for the host: choices are counted by runs,
// the counts are summed along the runs, and a choice looks back along its own run.

constexpr int64_t kRun = 256;

// Choices in an order of their own; those whose expert is not in [first, first + experts) have none (-1).
struct Choices {
  const int* expert;          // [rows, k]
  const bool* taken = nullptr;  // [k, rows]: where given, the others have none
  int64_t rows, k, first, experts;
  bool by_token;  // the choices of a token one after another; else all first ones come before all second ones

  HOST_DEVICE int64_t row(int64_t j) const { return by_token ? j / k : j % rows; }
  HOST_DEVICE int64_t choice(int64_t j) const { return by_token ? j % k : j / rows; }
  HOST_DEVICE int64_t of(int64_t j) const {
    int64_t e = expert[row(j) * k + choice(j)] - first;
    return e < 0 || e >= experts || (taken && !taken[choice(j) * rows + row(j)]) ? -1 : e;
  }
  int64_t count() const { return rows * k; }
};
struct RunCounts {
  const int64_t* counts;
  HOST_DEVICE int64_t operator()(int64_t i) const { return counts[i]; }
};
struct RunStarts {
  int64_t* starts;
  HOST_DEVICE void operator()(int64_t i, int64_t before, int64_t) const { starts[i] = before; }
};

// ranks[choice, row]: how many of the same expert come earlier; -1 where there is none. totals[expert]: how many it has.
inline void rank_choices(const Context& context, const char* name, const Choices& c, int* ranks, int64_t* totals) {
  int64_t count = c.count(), experts = c.experts, runs = std::max<int64_t>((count + kRun - 1) / kRun, 1);
  Temporary<int64_t> counts(context, std::max<int64_t>(experts * runs, 1)), starts(context, std::max<int64_t>(experts * runs, 1));
  auto of_run = counts.data, start = starts.data;
  launch(context, name, experts * runs, DEVICE(int64_t i) {  // neighbours read the same choices
    int64_t e = i % experts, run = i / experts, found = 0;
    for (int64_t j = run * kRun; j < count && j < (run + 1) * kRun; ++j) found += c.of(j) == e;
    of_run[e * runs + run] = found;
  });
  scan<int64_t>(context, name, Split(phi::make_ddim({experts, runs}), 1), false, RunCounts{of_run}, RunStarts{start});
  launch(context, name, experts, DEVICE(int64_t e) { totals[e] = start[(e + 1) * runs - 1] + of_run[(e + 1) * runs - 1]; });
  launch(context, name, count, DEVICE(int64_t j) {
    int64_t e = c.of(j), rank = -1;
    if (e >= 0) {
      rank = start[e * runs + j / kRun];
      for (int64_t i = j / kRun * kRun; i < j; ++i) rank += c.of(i) == e;
    }
    ranks[c.choice(j) * c.rows + c.row(j)] = int(rank);
  });
}

// How often each of the numbers low ... low + bins - 1 occurs.
template <class T, class R>
void count_each(const Context& context, const char* name, const T* numbers, int64_t count, int64_t low, int64_t bins, R* out) {
  if (bins > 256) {
    launch(context, name, bins, DEVICE(int64_t i) { out[i] = 0; });
    launch(context, name, count, DEVICE(int64_t i) {
      int64_t at = int64_t(numbers[i]) - low;
      if (at >= 0 && at < bins) add_to(out + at, R(1));
    });
    return;
  }
  launch_teams(context, name, bins, count, DEVICE(int64_t bin, Team team) {
    int64_t found = 0;
    for (int64_t i = team.rank; i < count; i += team.size) found += int64_t(numbers[i]) - low == bin;
    found = team.sum(found);
    if (team.rank == 0) out[bin] = R(found);
  });
}

// ---- rows on their way to the experts

// Of numbers that are not negative; in 32 bits where they fit, several times faster on a card.
HOST_DEVICE inline int64_t quotient(int64_t i, int64_t by) {
  return (i | by) >> 32 ? i / by : int64_t(uint32_t(i) / uint32_t(by));
}

// out[slot] = x[source[slot]], or zeros where there is no source; a thread moves 16 bytes.
template <class B>
void move_rows(const Context& context, const char* name, int64_t slots, int64_t width, const int* source, int64_t rows, const B* x, B* out) {
  constexpr int N = 16 / sizeof(B);
  int64_t packs = (width + N - 1) / N;
  launch(context, name, slots * packs, DEVICE(int64_t i) {
    int64_t slot = quotient(i, packs), at = (i - slot * packs) * N, from = source[slot];
    int count = width - at < N ? int(width - at) : N;
    Pack<B, N> pack = {};
    if (from >= 0 && from < rows) pack = load<N>(x + from * width + at, 1, count);
    store<N>(out + slot * width + at, count, pack);
  });
}
// The way back: each token's sum of the rows that its choices lead to, where their weight is not zero.
template <class T>
void gather_rows(const Context& context, const char* name, const T* from, int64_t slots, const int* slot_of, const float* weights,
                 int64_t rows, int64_t k, int64_t width, T* out) {
  using C = Compute<T>;
  constexpr int N = 16 / sizeof(T);
  int64_t packs = (width + N - 1) / N;
  launch(context, name, rows * packs, DEVICE(int64_t i) {
    int64_t row = quotient(i, packs), at = (i - row * packs) * N;
    int count = width - at < N ? int(width - at) : N;
    C sum[N] = {};
    for (int64_t choice = 0; choice < k; ++choice) {
      int64_t slot = slot_of[choice * rows + row];
      if (!(weights[row * k + choice] > 0) || slot < 0 || slot >= slots) continue;
      auto pack = load<N>(from + slot * width + at, 1, count);
      for (int n = 0; n < N; ++n) sum[n] += C(pack.at[n]);
    }
    Pack<T, N> result;
    for (int n = 0; n < N; ++n) result.at[n] = T(sum[n]);
    store<N>(out + row * width + at, count, result);
  });
}

// ---- choosing and dispatching in one

struct Best {
  float value;
  int place;
  HOST_DEVICE Best operator()(Best a, Best b) const {
    return a.value > b.value || (a.value == b.value && a.place < b.place) ? a : b;
  }
};

// `chances` come as they shall weigh; a bias counts for choosing alone. An expert takes `capacity` tokens, those first that
// prefer it: padded, each expert has as many places as that, else one after another with gaps where there were too many.
template <class T, class X>
void GateDispatch(const X& context, const Tensor& x, const Tensor& chances, const OptionalTensor& bias, int64_t k, int64_t capacity,
                  bool padded, Tensor* y, Tensor* weights, Tensor* slots, Tensor* ends, Tensor* chosen) {
  const char* name = "moe_gate_dispatch";
  REQUIRE(chances.dtype() == phi::DataType::FLOAT32, "moe_gate_dispatch of chances that are not float32 is not supported on %s",
          device_name());
  int64_t rows = x.dims()[0], width = x.dims()[1], experts = chances.dims()[1];
  REQUIRE(k >= 1 && k <= experts, "moe_gate_dispatch: %d choices of %d experts", int(k), int(experts));
  auto chance = read<float>(chances), extra = read<float>(bias);
  auto weight = write<float>(context, weights);
  auto expert = write<int>(context, chosen), slot = write<int>(context, slots);
  auto end = write<int64_t>(context, ends);
  launch_teams(context, name, rows, experts, DEVICE(int64_t row, Team team) {
    Best last = {std::numeric_limits<float>::infinity(), -1};
    for (int64_t choice = 0; choice < k; ++choice) {
      Best best = {-std::numeric_limits<float>::infinity(), int(experts)};
      for (int64_t e = team.rank; e < experts; e += team.size) {
        Best here = {chance[row * experts + e] + (extra ? extra[e] : 0.0f), int(e)};
        if (here.value < last.value || (here.value == last.value && here.place > last.place)) best = Best()(here, best);
      }
      last = team.all(best, Best());
      if (team.rank) continue;
      int e = last.place < experts ? last.place : 0;  // chances that are no numbers
      expert[row * k + choice] = e;
      weight[row * k + choice] = chance[row * experts + e];
    }
  });
  Choices c{expert, nullptr, rows, k, 0, experts, !padded};
  Temporary<int64_t> counted(context, experts);
  auto totals = counted.data;
  rank_choices(context, name, c, slot, totals);
  launch(context, name, 1, DEVICE(int64_t) {
    int64_t sum = 0;
    for (int64_t e = 0; e < experts; ++e) end[e] = sum += totals[e];
  });
  int64_t places = y->dims()[0];
  Temporary<int> sources(context, std::max<int64_t>(places, 1));
  auto source = sources.data;
  launch(context, name, places, DEVICE(int64_t i) { source[i] = -1; });
  launch(context, name, rows * k, DEVICE(int64_t j) {
    int64_t row = j % rows, choice = j / rows, e = expert[row * k + choice], rank = slot[j];
    bool fits = rank < capacity;
    int64_t at = padded ? e * capacity + rank : end[e] - totals[e] + rank;
    slot[j] = fits ? int(at) : 0;
    if (fits) source[at] = int(row);
    else weight[row * k + choice] = 0;
  });
  move_rows(context, name, places, width, source, rows, bits(read<T>(x)), bits(write<T>(context, y)));
}
template <class T, class X>
void GateDispatchGrad(const X& context, const Tensor& weights, const Tensor& slots, const Tensor& chosen, const Tensor& dy,
                      const Tensor& dweights, int64_t, int64_t, bool padded, Tensor* dx, Tensor* dchances) {
  const char* name = "moe_gate_dispatch_grad";
  REQUIRE(padded, "moe_gate_dispatch_grad without padding is not supported on %s: Paddle tells it a wrong number of experts", device_name());
  int64_t rows = weights.dims()[0], k = weights.dims()[1], experts = dchances->dims()[1];
  auto weight = read<float>(weights), g = read<float>(dweights);
  auto expert = read<int>(chosen);
  gather_rows(context, name, read<T>(dy), dy.dims()[0], read<int>(slots), weight, rows, k, dy.dims()[1], write<T>(context, dx));
  auto r = write<float>(context, dchances);
  launch(context, name, rows * experts, DEVICE(int64_t i) {
    int64_t row = i / experts, e = i - row * experts;
    float sum = 0;
    for (int64_t j = row * k; j < (row + 1) * k; ++j)
      if (expert[j] == e && weight[j] > 0) sum += g[j];
    r[i] = sum;
  });
}
inline void gives_routes(phi::Kernel* kernel) {
  kernel->OutputAt(1).SetDataType(phi::DataType::FLOAT32);
  kernel->OutputAt(2).SetDataType(phi::DataType::INT32);
  kernel->OutputAt(3).SetDataType(phi::DataType::INT64);
  kernel->OutputAt(4).SetDataType(phi::DataType::INT32);
}
inline void gives_float_second(phi::Kernel* kernel) { kernel->OutputAt(1).SetDataType(phi::DataType::FLOAT32); }
REGISTER_AMENDED(moe_gate_dispatch, GateDispatch, kFloats + kHalves, gives_routes)
REGISTER_AMENDED(moe_gate_dispatch_grad, GateDispatchGrad, kFloats + kHalves, gives_float_second)

// ---- dispatching what was chosen, to a part of the experts

// An expert takes `capacity` tokens, first ones first (`last_ones`: without padding, the last ones); its tokens then come
// in their own order. Padded, each expert has `capacity` places; else the host waits for the number of places.
template <class T, class X>
void DispatchChosen(const X& context, const Tensor& x, const Tensor& given_weights, const Tensor& chosen, int64_t k, int64_t capacity,
                    int64_t experts, bool padded, int64_t first, int64_t last, bool last_ones, Tensor* y, Tensor* weights, Tensor* slots,
                    Tensor* sources, Tensor* counts, Tensor* own_counts) {
  const char* name = "moe_gate_dispatch_partial_nosoftmaxtopk";
  REQUIRE(chosen.dtype() == phi::DataType::INT32 && given_weights.dtype() == phi::DataType::FLOAT32,
          "%s takes experts in int32 and weights in float32 on %s", name, device_name());
  int64_t rows = x.dims()[0], width = x.dims()[1], own = last - first, count = rows * k;
  auto expert = read<int>(chosen);
  auto given = read<float>(given_weights);
  auto weight = write<float>(context, weights);
  auto slot = write<int>(context, slots);
  counts->Resize(phi::make_ddim({experts}));
  own_counts->Resize(phi::make_ddim({experts}));
  count_each(context, name, expert, count, 0, experts, write<int64_t>(context, counts));
  auto of_own = write<int64_t>(context, own_counts);

  Temporary<int64_t> all(context, std::max<int64_t>(own, 1)), left(context, std::max<int64_t>(own, 1));
  Temporary<int> ranks(context, std::max<int64_t>(count, 1));
  Temporary<bool> marks(context, std::max<int64_t>(count, 1));
  auto totals = all.data, kept = left.data;
  auto rank = ranks.data;
  auto mark = marks.data;
  Choices c{expert, nullptr, rows, k, first, own, false};
  rank_choices(context, name, c, rank, totals);
  launch(context, name, count, DEVICE(int64_t j) {
    int64_t e = expert[c.row(j) * k + c.choice(j)] - first, at = rank[j];
    mark[j] = at >= 0 && (last_ones && !padded ? totals[e] - 1 - at : at) < capacity;
  });
  Choices in_order{expert, mark, rows, k, first, own, true};
  rank_choices(context, name, in_order, rank, kept);
  launch(context, name, experts, DEVICE(int64_t e) {
    of_own[e] = e < first || e >= last ? 0 : padded ? totals[e - first] : kept[e - first];
  });

  Temporary<int64_t> ends(context, own + 1);
  auto end = ends.data;
  launch(context, name, 1, DEVICE(int64_t) {
    end[0] = 0;
    for (int64_t e = 0; e < own; ++e) end[e + 1] = end[e] + (padded ? capacity : kept[e]);
  });
  int64_t places = own * capacity;
  if (!padded) {
    Temporary<int64_t> total(context, 1);
    auto to = total.data;
    launch(context, name, 1, DEVICE(int64_t) { to[0] = end[own]; });
    places = number_on_host(context, total);
  }
  sources->Resize(phi::make_ddim({places}));
  y->Resize(phi::make_ddim({places, width}));
  Temporary<int> memory(context, std::max<int64_t>(places, 1));
  auto source = memory.data;
  launch(context, name, places, DEVICE(int64_t i) { source[i] = int(rows); });
  launch(context, name, count, DEVICE(int64_t j) {
    int64_t row = j % rows, choice = j / rows, at = rank[j];
    int64_t to = at < 0 ? 0 : end[expert[row * k + choice] - first] + at;
    slot[j] = int(to);
    weight[row * k + choice] = at < 0 ? 0.0f : given[row * k + choice];
    if (at >= 0) source[to] = int(row);
  });
  if (!places) {  // Paddle's way to say so: one row, and a number for the sources
    y->Resize(phi::make_ddim({1, width}));
    sources->Resize(phi::make_ddim(std::vector<int64_t>{}));
    fill_elements(context, name, width, Bits<T>(0), bits(write<T>(context, y)));
    fill_elements(context, name, 1, int(rows), write<int>(context, sources));
    return;
  }
  copy_elements(context, name, places, static_cast<const int*>(source), write<int>(context, sources));
  move_rows(context, name, places, width, source, rows, bits(read<T>(x)), bits(write<T>(context, y)));
}
template <class T, class X>
void DispatchChosenGrad(const X& context, const Tensor& weights, const Tensor& slots, const Tensor&, const Tensor&, const Tensor&,
                        const Tensor& dy, const Tensor& dweights, int64_t, int64_t, bool, int64_t, int64_t, Tensor* dx, Tensor* dgiven) {
  const char* name = "moe_gate_dispatch_partial_nosoftmaxtopk_grad";
  int64_t rows = weights.dims()[0], k = weights.dims()[1], width = dy.dims()[1];
  auto weight = read<float>(weights), g = read<float>(dweights);
  dx->Resize(phi::make_ddim({rows, width}));
  gather_rows(context, name, read<T>(dy), dy.dims()[0], read<int>(slots), weight, rows, k, width, write<T>(context, dx));
  auto r = write<float>(context, dgiven);
  launch_elements(context, name, weights.numel(), DEVICE(float& y, float w, float d) { y = w > 0 ? d : 0.0f; }, r, weight, g);
}
inline void gives_chosen_routes(phi::Kernel* kernel) {
  kernel->OutputAt(1).SetDataType(phi::DataType::FLOAT32);
  for (int k : {2, 3}) kernel->OutputAt(k).SetDataType(phi::DataType::INT32);
  for (int k : {4, 5}) kernel->OutputAt(k).SetDataType(phi::DataType::INT64);
}
REGISTER_AMENDED(moe_gate_dispatch_partial_nosoftmaxtopk, DispatchChosen, kFloats + kHalves, gives_chosen_routes)
REGISTER_AMENDED(moe_gate_dispatch_partial_nosoftmaxtopk_grad, DispatchChosenGrad, kFloats + kHalves, gives_float_second)

// The group of a choice is added where choices are made by groups; two kinds of tokens have experts side by side on a rank.
template <class T, class X>
void ExpandModality(const X& context, const Tensor& chosen, int64_t of_kind, int64_t group, int64_t kind, bool by_groups, Tensor* out) {
  int64_t k = chosen.dims()[1];
  auto a = read<T>(chosen);
  auto r = write<T>(context, out);
  launch(context, "expand_modality_expert_id", chosen.numel(), DEVICE(int64_t i) {
    int64_t e = int64_t(a[i]) + (by_groups ? i % k * group : 0);
    r[i] = T(of_kind > 0 ? e / of_kind * (of_kind * 2) + e % of_kind + kind * of_kind : e);
  });
}
REGISTER(expand_modality_expert_id, ExpandModality, kIntegers)

// For each place of the experts' input, one expert after another: the rank that has the expert, and its number there.
template <class T, class X>
void SourceRanks(const X& context, const Tensor& counts, const std::vector<int64_t>& known, int64_t experts_of_rank, Tensor* ranks,
                 Tensor* numbers) {
  int64_t experts = int64_t(known.size()), total = 0;
  for (auto count : known) total += count;
  ranks->Resize(phi::make_ddim({total}));
  numbers->Resize(phi::make_ddim({total}));
  auto a = read<T>(counts);
  auto r = write<int>(context, ranks), n = write<int>(context, numbers);
  launch(context, "build_src_rank_and_local_expert_id", total, DEVICE(int64_t i) {
    int64_t e = 0, end = int64_t(a[0]);
    while (i >= end && e + 1 < experts) end += int64_t(a[++e]);
    r[i] = int(e / experts_of_rank);
    n[i] = int(e % experts_of_rank);
  });
}
inline void gives_int32(phi::Kernel* kernel) {
  for (int k : {0, 1}) kernel->OutputAt(k).SetDataType(phi::DataType::INT32);
}
REGISTER_AMENDED(build_src_rank_and_local_expert_id, SourceRanks, Types<int64_t>(), gives_int32)

// ---- what the experts gave, weighed and summed

template <class T, class X>
void Combine(const X& context, const Tensor& x, const Tensor& weights, const Tensor& slots, Tensor* y) {
  using C = Compute<T>;
  constexpr int N = 16 / sizeof(T);
  int64_t rows = weights.dims()[0], k = weights.dims()[1], width = x.dims()[1], places = x.dims()[0], packs = (width + N - 1) / N;
  auto a = read<T>(x), w = read<T>(weights);
  auto at = read<int>(slots);
  auto r = write<T>(context, y);
  launch(context, "moe_combine", places ? rows * packs : 0, DEVICE(int64_t i) {
    int64_t row = quotient(i, packs), column = (i - row * packs) * N;
    int count = width - column < N ? int(width - column) : N;
    C sum[N] = {};
    for (int64_t j = row * k; j < (row + 1) * k; ++j) {
      C by = C(w[j]);
      if (by == 0) continue;  // of a token that found no place
      auto pack = load<N>(a + at[j] * width + column, 1, count);
      for (int n = 0; n < N; ++n) sum[n] += by * C(pack.at[n]);
    }
    Pack<T, N> result;
    for (int n = 0; n < N; ++n) result.at[n] = T(sum[n]);
    store<N>(r + row * width + column, count, result);
  });
}
// Paddle gives the products for the weights' gradient unsummed, [rows, k, width], for whoever asked to sum over the last.
// Here they come summed, [rows, k, 1]: the same result, and no tensor k times as large as the activations.
template <class T, class X>
void CombineGrad(const X& context, const Tensor& x, const Tensor& weights, const Tensor& slots, const Tensor& dy, Tensor* dx,
                 Tensor* dweights) {
  const char* name = "moe_combine_grad";
  using C = Compute<T>;
  constexpr int N = 16 / sizeof(T);
  int64_t rows = weights.dims()[0], k = weights.dims()[1], width = x.dims()[1], places = x.dims()[0], packs = (width + N - 1) / N;
  auto a = read<T>(x), w = read<T>(weights), g = read<T>(dy);
  auto at = read<int>(slots);
  if (dweights) {
    dweights->Resize(phi::make_ddim({rows, k, 1}));
    auto r = write<T>(context, dweights);
    launch_teams(context, name, rows * k, width, DEVICE(int64_t j, Team team) {
      const T *one = a + at[j] * width, *other = g + j / k * width;
      C sum = 0;
      for (int64_t c = team.rank; c < width; c += team.size) sum += C(one[c]) * C(other[c]);
      sum = C(team.sum(double(sum)));
      if (team.rank == 0) r[j] = T(sum);
    });
  }
  if (!dx) return;
  Temporary<int> memory(context, std::max<int64_t>(places, 1));
  auto source = memory.data;  // the choice that led to a place
  launch(context, name, places, DEVICE(int64_t i) { source[i] = -1; });
  launch(context, name, rows * k, DEVICE(int64_t j) {
    if (C(w[j]) != 0) source[at[j]] = int(j);
  });
  auto r = write<T>(context, dx);
  launch(context, name, places * packs, DEVICE(int64_t i) {
    int64_t place = quotient(i, packs), column = (i - place * packs) * N, from = source[place];
    int count = width - column < N ? int(width - column) : N;
    Pack<T, N> result = {};
    if (from >= 0) {
      auto pack = load<N>(g + from / k * width + column, 1, count);
      for (int n = 0; n < N; ++n) result.at[n] = T(C(w[from]) * C(pack.at[n]));
    }
    store<N>(r + place * width + column, count, result);
  });
}
REGISTER(moe_combine, Combine, kFloats + kHalves)
REGISTER(moe_combine_grad, CombineGrad, kFloats + kHalves)

// ---- how even the load is

// `type` is a number out of either of Paddle's two lists of types.
template <class T, class X>
void IntBincount(const X& context, const Tensor& x, int64_t low, int64_t high, int64_t type, Tensor* out) {
  const char* name = "int_bincount";
  constexpr int64_t narrow = 2, wide = 3;  // in the older list
  REQUIRE(low < high, "int_bincount of the empty range [%d, %d)", int(low), int(high));
  out->Resize(phi::make_ddim({high - low}));
  auto a = read<T>(x);
  if (type == narrow || phi::DataType(type) == phi::DataType::INT32)
    return count_each(context, name, a, x.numel(), low, high - low, write<int>(context, out));
  REQUIRE(type == wide || phi::DataType(type) == phi::DataType::INT64, "int_bincount in the type %d is not supported on %s; int32 and "
          "int64 are", int(type), device_name());
  count_each(context, name, a, x.numel(), low, high - low, write<int64_t>(context, out));
}
REGISTER_AMENDED(int_bincount, IntBincount, kIntegers, gives_another_type)

// experts * sum over experts of (share of tokens) * (mean chance): Switch Transformers (Fedus, Zoph and Shazeer, 2021). The
// tokens of all ranks count; a rank has but its own chances, so its loss is scaled up, and the gradient is not.
template <class T, class X>
void AuxiliaryLoss(const X& context, const Tensor& chances, const Tensor& dispatched, const OptionalTensor& own_tokens,
                   const OptionalTensor& all_tokens, int64_t experts, bool by_groups, int64_t k, float least, Tensor* loss,
                   Tensor* tokens, Tensor* shares) {
  const char* name = "cal_aux_loss";
  using C = Compute<T>;
  REQUIRE(dispatched.dtype() == phi::DataType::INT64, "cal_aux_loss takes counts in int64 on %s", device_name());
  int64_t rows = chances.dims()[0], columns = chances.dims()[1];
  int64_t parts = dispatched.dims().size() > 1 ? dispatched.dims()[0] : 1;
  int64_t of_all = all_tokens ? all_tokens->numel() : 0;
  auto a = read<T>(chances), mine = read<T>(own_tokens);
  auto sent = read<int64_t>(dispatched);
  auto everyone = read<bool>(all_tokens);
  bool with_all = bool(all_tokens), with_own = bool(own_tokens);
  auto out = write<T>(context, loss), number = write<T>(context, tokens), share = write<T>(context, shares);
  Temporary<double> memory(context, std::max<int64_t>(2 * columns, 1));
  auto sums = memory.data;
  launch_teams(context, name, columns, rows, DEVICE(int64_t e, Team team) {
    double chance = 0, count = 0;
    for (int64_t row = team.rank; row < rows; row += team.size) chance += double(C(a[row * columns + e]));
    for (int64_t part = team.rank; part < parts; part += team.size) count += double(sent[part * columns + e]);
    chance = team.sum(chance);
    count = team.sum(count);
    if (team.rank == 0) sums[e] = chance, sums[columns + e] = count;
  });
  launch_teams(context, name, 1, std::max(rows, of_all), DEVICE(int64_t, Team team) {
    double own = 0, all = 0, sum = 0;
    for (int64_t row = team.rank; row < rows; row += team.size) own += mine ? double(C(mine[row])) : 0;
    for (int64_t row = team.rank; row < of_all; row += team.size) all += everyone[row];
    own = team.sum(own);
    all = team.sum(all);
    double counted = with_all ? all : with_own ? own : double(rows) * double(columns) / double(experts);
    double scale = with_all && with_own && rows != of_all ? all / (own > least ? own : double(least)) : 1;
    counted = counted > least ? counted : double(least);
    for (int64_t e = team.rank; e < columns; e += team.size) {
      share[e] = T(sums[columns + e] / counted);
      sum += sums[columns + e] / counted * (sums[e] / counted);
    }
    sum = team.sum(sum);
    if (team.rank) return;
    *out = T(sum * double(experts) / (by_groups ? double(k) : 1) * scale);
    *number = T(counted);
  });
}
template <class T, class X>
void AuxiliaryLossGrad(const X& context, const Tensor& chances, const Tensor& tokens, const Tensor& shares, const Tensor& dloss,
                       int64_t experts, bool by_groups, int64_t k, Tensor* dchances) {
  using C = Compute<T>;
  int64_t columns = chances.dims()[1];
  auto share = read<T>(shares), number = read<T>(tokens), g = read<T>(dloss);
  auto r = write<T>(context, dchances);
  launch(context, "cal_aux_loss_grad", chances.numel(), DEVICE(int64_t i) {
    r[i] = T(C(*g) * C(experts) / (by_groups ? C(k) : C(1)) * C(share[i % columns]) / C(*number));
  });
}
REGISTER(cal_aux_loss, AuxiliaryLoss, kFloats + kHalves)
REGISTER(cal_aux_loss_grad, AuxiliaryLossGrad, kFloats + kHalves)

}  // namespace tablerec
