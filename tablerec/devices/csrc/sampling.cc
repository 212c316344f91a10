// Drawing a class from the most likely ones whose chances reach p together.
#include "elements.h"
#include "random.h"
#include "register.h"
#include "scan.h"
#include "shared.h"

namespace tablerec {

// Nothing is sorted: chances are added up by the bits of their value, the leading bits first, until the value is known at
// which the sum of all that are as large reaches what is asked. The sums are integers, so no order of adding matters.

constexpr int kLevels = 3, kMostBins = 2048;
HOST_DEVICE inline int bits_of_level(int level) { return level ? 10 : 11; }  // 31 in all: a chance has no sign

// Chances that are not above zero, and what is no number, count nothing.
HOST_DEVICE inline uint32_t key_of(float chance) {
  uint32_t key = 0;
  if (chance > 0) memcpy(&key, &chance, sizeof(key));
  return key;
}
HOST_DEVICE inline float chance_of(uint32_t key) {
  float chance;
  memcpy(&chance, &key, sizeof(chance));
  return chance;
}
// In units of 2^-44; a chance is at most one, so 2^18 of them fit.
HOST_DEVICE inline uint64_t share_of(float chance) { return uint64_t((chance < 2 ? chance : 2.0f) * 17592186044416.0f); }
HOST_DEVICE inline uint64_t share_of_key(uint32_t key) { return share_of(chance_of(key)); }

// What the members of a team share.
struct SamplingMemory {
  uint64_t bins[kMostBins];
  uint64_t above;  // the sum of what is surely larger
  uint32_t bin;
  int equal[32];  // of each segment of the row
  int64_t place;
};

HOST_DEVICE inline void add_share(uint64_t* to, uint64_t share) {
#ifdef __CUDA_ARCH__
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(share));
#else
  *to += share;
#endif
}
HOST_DEVICE inline void count_one(int* to) {
#ifdef __CUDA_ARCH__
  atomicAdd(to, 1);
#else
  ++*to;
#endif
}

#ifdef TABLEREC_CUDA
constexpr int kSamplers = 1024;
template <class F> __global__ void __launch_bounds__(kSamplers) run_samplers(int64_t rows, F body) {
  __shared__ SamplingMemory memory;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) body(row, Team{int(threadIdx.x), kSamplers}, memory);
}
#endif
// Runs body(row, team, memory).
template <class F> void launch_samplers(const Context& context, const char* name, int64_t rows, F body) {
  if (rows <= 0) return;
  KernelScope scope(name, context.stream());
#ifdef TABLEREC_CUDA
  run_samplers<<<unsigned(std::min<int64_t>(rows, 1 << 20)), kSamplers, 0, stream_of(context)>>>(rows, body);
  check_launch(name);
#else
  SamplingMemory memory;
  for (int64_t row = 0; row < rows; ++row) body(row, Team{0, 1}, memory);
#endif
}

// A row of chances, and the order in which it is gone through: larger ones first, of equal ones the first.
template <class T> struct ChanceRow {
  const T* x;
  int64_t length;
  static constexpr int N = 16 / sizeof(T);

  HOST_DEVICE uint32_t key(int64_t j) const { return key_of(float(x[j])); }

  // Runs body(key, place) for a member's part.
  template <class F> HOST_DEVICE void each(Team team, F body) const {
    for (int64_t first = int64_t(team.rank) * N; first < length; first += int64_t(team.size) * N) {
      int count = length - first < N ? int(length - first) : N;
      auto pack = load<N>(x + first, 1, count);
      for (int n = 0; n < N; ++n)
        if (n < count) body(key_of(float(pack.at[n])), first + n);
    }
  }
};

// A chance and its place; the larger one, of equal ones the first.
struct Likeliest {
  uint32_t key;
  int place;
  HOST_DEVICE Likeliest operator()(Likeliest a, Likeliest b) const {
    return a.key > b.key || (a.key == b.key && a.place < b.place) ? a : b;
  }
};
// The smaller one, of equal ones the last.
struct Unlikeliest {
  uint32_t key;
  int place;
  HOST_DEVICE Unlikeliest operator()(Unlikeliest a, Unlikeliest b) const {
    return a.key < b.key || (a.key == b.key && a.place > b.place) ? a : b;
  }
};
template <class T> HOST_DEVICE Likeliest likeliest(const ChanceRow<T>& row, Team team, Likeliest after) {
  Likeliest best = {0, std::numeric_limits<int>::max()};
  row.each(team, [&](uint32_t key, int64_t j) {
    bool later = key < after.key || (key == after.key && int(j) > after.place);
    if (later) best = Likeliest()(best, Likeliest{key, int(j)});
  });
  return team.all(best, Likeliest());
}

// Of the chances equal to `key`, the place of the `number`-th, counted from one.
template <class T> HOST_DEVICE int64_t place_among_equals(const ChanceRow<T>& row, Team team, SamplingMemory& memory, uint32_t key, int64_t number) {
  int lanes = team.size < 32 ? team.size : 32, segments = team.size / lanes, own = team.rank / lanes, lane = team.rank % lanes;
  int64_t step = (row.length + segments - 1) / segments, from = own * step, to = from + step < row.length ? from + step : row.length;
  meet();
  if (lane == 0) memory.equal[own] = 0;
  if (team.rank == 0) memory.place = 0;
  meet();
  for (int64_t j = from + lane; j < to; j += lanes)
    if (row.key(j) == key) count_one(&memory.equal[own]);
  meet();
  int64_t before = 0;
  for (int s = 0; s < own; ++s) before += memory.equal[s];
  if (before < number && number <= before + memory.equal[own]) {  // all lanes of one segment
    for (int64_t first = from; first < to; first += lanes) {
      bool hit = first + lane < to && row.key(first + lane) == key;
      int earlier = 0, found = hit;
#ifdef __CUDA_ARCH__
      unsigned hits = __ballot_sync(~0u, hit);
      earlier = __popc(hits & ((1u << lane) - 1));
      found = __popc(hits);
#endif
      if (hit && before + earlier + 1 == number) memory.place = first + lane;
      before += found;
      if (before >= number) break;
    }
  }
  meet();
  return memory.place;
}

struct Reached {
  uint32_t key;
  int64_t place;
};
// The first place, in the row's order, at which the sum of chances reaches `wanted` of 2^44, or all of the row's.
template <class T> HOST_DEVICE Reached reach(const ChanceRow<T>& row, Team team, SamplingMemory& memory, uint64_t wanted) {
  uint32_t prefix = 0;
  uint64_t above = 0;
  int shift = 31;
  for (int level = 0; level < kLevels; ++level) {
    int bins = 1 << bits_of_level(level), whole = shift;
    shift -= bits_of_level(level);
    meet();
    for (int b = team.rank; b < bins; b += team.size) memory.bins[b] = 0;
    meet();
    row.each(team, [&](uint32_t key, int64_t) {
      if (key && (key >> whole) == prefix) add_share(&memory.bins[(key >> shift) & (bins - 1)], share_of_key(key));
    });
    meet();
    // Each member has neighbouring bins, those of larger chances first.
    int per = (bins + team.size - 1) / team.size, first = bins - 1 - team.rank * per;
    uint64_t own = 0, total = 0;
    for (int b = first; b > first - per && b >= 0; --b) own += memory.bins[b];
    uint64_t before = uint64_t(sum_before(team, int64_t(own), reinterpret_cast<int64_t&>(total)));
    if (level == 0) {
      wanted = wanted < total ? wanted : total;
      if (!wanted) wanted = 1;
      if (!total) return {0, 0};  // the same for all members
    }
    uint64_t sum = above + before;
    for (int b = first; b > first - per && b >= 0; --b) {
      if (sum < wanted && wanted <= sum + memory.bins[b]) memory.bin = b, memory.above = sum;
      sum += memory.bins[b];
    }
    meet();
    prefix = (prefix << bits_of_level(level)) | memory.bin;
    above = memory.above;
  }
  uint64_t each = share_of_key(prefix);
  return {prefix, place_among_equals(row, team, memory, prefix, int64_t((wanted - above + each - 1) / each))};
}

// `truncated`: a uniform number, times p, says how far to go down the sorted chances, so that the last of them keeps
// but the part of its chance that p leaves. Else all that are needed to reach p keep theirs. What lies under the
// threshold is not drawn: the nearest more likely one is, or the most likely of all.
template <class T, class X>
void TopPSampling(const X& context, const Tensor& x, const Tensor& ps, const OptionalTensor& thresholds, const OptionalTensor& seeds,
                  int64_t given_seed, int k, const std::string& mode, Tensor* out, Tensor* ids, Tensor* top_values, Tensor* top_ids) {
  const char* name = "top_p_sampling";
  REQUIRE(x.dims().size() == 2, "top_p_sampling of %d dimensions", x.dims().size());
  int64_t rows = x.dims()[0], length = x.dims()[1];
  REQUIRE(ps.dtype() == x.dtype() && (!thresholds || thresholds->dtype() == x.dtype()),
          "top_p_sampling with p of another type than the chances is not supported on %s", device_name());
  REQUIRE(ps.numel() == rows && (!thresholds || thresholds->numel() == rows) && (!seeds || seeds->numel() == rows),
          "top_p_sampling: %d rows, but %d values of p; thresholds and seeds are one for a row too", int(rows), int(ps.numel()));
  REQUIRE(length > 0 && length < (int64_t(1) << 18), "top_p_sampling of %d classes is not supported on %s; 1 to 262143 are", int(length),
          device_name());
  REQUIRE(mode == "truncated" || mode == "non-truncated", "top_p_sampling: the mode %s", mode);
  REQUIRE(k <= length, "top_p_sampling: the %d best of %d classes", k, int(length));
  bool truncated = mode == "truncated", each_its_own = !seeds && given_seed == -1;
  uint64_t seed = each_its_own ? context.GetGenerator()->Random64() : uint64_t(given_seed);
  auto a = read<T>(x), p = read<T>(ps), least = read<T>(thresholds);
  auto row_seeds = read<int64_t>(seeds);
  auto value = write<T>(context, out);
  auto id = write<int64_t>(context, ids);
  if (k > 0) top_values->Resize(phi::make_ddim({rows, k})), top_ids->Resize(phi::make_ddim({rows, k}));
  auto best_value = k > 0 ? write<T>(context, top_values) : nullptr;
  auto best_id = k > 0 ? write<int64_t>(context, top_ids) : nullptr;
  launch_samplers(context, name, rows, DEVICE(int64_t row, Team team, SamplingMemory& memory) {
    ChanceRow<T> chances{a + row * length, length};
    uint64_t own_seed = row_seeds ? uint64_t(row_seeds[row]) : seed, start = each_its_own ? row * (length + 1) : 0;
    const Likeliest before_all = {~0u, 0};
    Likeliest last = before_all;
    for (int j = 0; j < k; ++j) {
      last = likeliest(chances, team, last);
      if (team.rank) continue;
      best_value[row * k + j] = chances.x[last.place];
      best_id[row * k + j] = last.place;
    }
    double reach_for = double(Compute<T>(p[row]));
    reach_for = reach_for > 0 ? (reach_for < 1024 ? reach_for : 1024.0) : 0.0;
    if (truncated) reach_for *= uniform_number(own_seed, start);
    Reached end = reach(chances, team, memory, uint64_t(reach_for * 17592186044416.0));
    int64_t drawn = end.place;
    uint32_t lowest = least ? key_of(float(least[row])) : 0;
    bool none = false;
    if (truncated && end.key < lowest) {
      Unlikeliest kept = {~0u, -1};
      chances.each(team, [&](uint32_t key, int64_t j) {
        if (key >= lowest) kept = Unlikeliest()(kept, Unlikeliest{key, int(j)});
      });
      kept = team.all(kept, Unlikeliest());
      drawn = kept.place;
      none = kept.place < 0;
    }
    if (!truncated) {
      Ring first = {std::numeric_limits<double>::infinity(), -1};
      chances.each(team, [&](uint32_t key, int64_t j) {
        if (!key || key < lowest || key < end.key || (key == end.key && j > end.place)) return;
        first = Ring()(first, Ring{-log(uniform_number(own_seed, start + 1 + j)) / double(chance_of(key)), j});
      });
      first = team.all(first, Ring());
      drawn = first.place;
      none = first.place < 0;
    }
    if (none) drawn = likeliest(chances, team, before_all).place;
    if (team.rank) return;
    id[row] = drawn;
    value[row] = chances.x[drawn];
  });
}
inline void gives_classes(phi::Kernel* kernel) {
  for (int k : {1, 3}) kernel->OutputAt(k).SetDataType(phi::DataType::INT64);
}
REGISTER_AMENDED(top_p_sampling, TopPSampling, Types<float>() + kHalves, gives_classes)

}  // namespace tablerec
