// Reductions over any axes, each read coalesced: where the innermost dimension is reduced, a team shares an output; where
// it is kept, neighbouring threads take neighbouring outputs. Few and long ones are reduced in pieces first.
#pragma once
#include <optional>

#include "shapes.h"

namespace tablerec {

// Walks the reduced places in steps without dividing: the innermost dimension and the one around it by adding.
struct Path {
  Walk<1> rows;  // all dimensions but the innermost
  int64_t size = 1, stride = 0;

  struct Place { int64_t row, column, base; };
  HOST_DEVICE Place at(int64_t j) const {
    if (!rows.rank) return {0, j, 0};
    int64_t row = rows.small ? uint32_t(j) / uint32_t(size) : j / size;
    return {row, j - row * size, rows(row).at[0]};
  }
  HOST_DEVICE void advance(Place& p, Place step) const {
    p.column += step.column;
    if (!rows.rank) return;
    p.row += step.row;
    if (p.column >= size) p.column -= size, ++p.row;
    p.base = rows(p.row).at[0];
  }
  HOST_DEVICE int64_t offset(const Place& p) const { return p.base + p.column * stride; }
};

inline Path path_of(const Walk<1>& walk) {
  Path path;
  path.rows = walk;
  if (!walk.rank) return path;
  int last = --path.rows.rank;
  path.size = walk.size[last], path.stride = walk.stride[0][last];
  return path;
}

struct Reduction {
  Walk<1> kept, reduced;
  int64_t outputs = 1, length = 1;
  // The innermost dimension is kept, and wide enough to be read coalesced.
  bool by_columns() const {
    int inner = kept.rank - 1;
    return inner >= 0 && kept.stride[0][inner] == 1 && kept.size[inner] >= 8 && length > 1;
  }
};

// `axes` empty, or `all`: over everything.
inline Reduction reduction(const phi::DDim& dims, const std::vector<int64_t>& axes, bool all = false) {
  std::vector<bool> is_reduced(dims.size(), all || axes.empty());
  for (auto axis : axes) is_reduced[to_axis(axis, dims.size())] = true;
  REQUIRE(dims.size() <= kMaxRank, "a tensor of %d dimensions; at most %d are supported", dims.size(), kMaxRank);
  auto strides = contiguous_strides(dims);
  Reduction r;
  for (int k = 0; k < dims.size(); ++k) {
    auto& part = is_reduced[k] ? r.reduced : r.kept;
    part.size[part.rank] = dims[k];
    part.stride[0][part.rank++] = strides[k];
    (is_reduced[k] ? r.length : r.outputs) *= dims[k];
  }
  r.kept = r.kept.simplified();
  r.reduced = r.reduced.simplified();
  return r;
}

// The places from, from + step, ... before `to`; four reads are under way at a time.
template <class Rule> HOST_DEVICE auto reduce_places(const Rule& rule, const Path& path, int64_t base, int64_t from, int64_t to,
                                                     int step) -> decltype(rule.start()) {
  using A = decltype(rule.start());
  A a = rule.start();
  if (from >= to) return a;
  auto place = path.at(from), stride = path.at(step);
  int64_t j = from;
  for (; j + 3 * step < to; j += 4 * step) {
    A v[4];
    for (int k = 0; k < 4; ++k) {
      v[k] = rule.enter(base + path.offset(place));
      path.advance(place, stride);
    }
    a = rule.combine(a, rule.combine(rule.combine(v[0], v[1]), rule.combine(v[2], v[3])));
  }
  for (; j < to; j += step) {
    a = rule.combine(a, rule.enter(base + path.offset(place)));
    path.advance(place, stride);
  }
  return a;
}

// A reduction is a type A with: start value, `enter` (element -> A), `combine`, `leave` (A, length -> result).
template <class R, class Rule> void reduce(const Context& context, const char* name, const Reduction& how, Rule rule,
                                           R* out, int64_t given_length = 0) {
  using A = decltype(rule.start());
  int64_t outputs = how.outputs, length = how.length, counted = given_length ? given_length : how.length;
  auto kept = how.kept;
  auto path = path_of(how.reduced);
  const bool by_columns = how.by_columns();
  if (outputs == 0) return;
  // Enough pieces to fill a card, each long enough to be worth a thread's or a team's start.
  const int64_t threads = 132 * 1024, teams = 132 * 8;
  int64_t most = by_columns ? (length + 15) / 16 : (length + 4095) / 4096;
  int64_t wanted = by_columns ? threads / outputs : (teams + outputs - 1) / outputs;
  int64_t pieces = std::max<int64_t>(std::min(most, wanted), 1), step = (length + pieces - 1) / pieces;
  // The pieces of an output lie `outputs` apart; a single piece is the output.
  std::optional<Temporary<uint8_t>> memory;
  if (pieces > 1) memory.emplace(context, outputs * pieces * int64_t(sizeof(A)));
  A* partial = memory ? reinterpret_cast<A*>(memory->data) : nullptr;
  if (by_columns) {
    launch(context, name, outputs * pieces, DEVICE(int64_t item) {
      int64_t piece = partial ? item / outputs : 0, from = piece * step, to = from + step < length ? from + step : length;
      A a = reduce_places(rule, path, kept(item - piece * outputs).at[0], from, to, 1);
      if (partial) partial[item] = a;
      else out[item] = rule.leave(a, counted);
    });
  } else {
    launch_teams(context, name, outputs * pieces, step, DEVICE(int64_t item, Team team) {
      int64_t piece = partial ? item / outputs : 0, from = piece * step, to = from + step < length ? from + step : length;
      A a = team.all(reduce_places(rule, path, kept(item - piece * outputs).at[0], from + team.rank, to, team.size), rule);
      if (team.rank) return;
      if (partial) partial[item] = a;
      else out[item] = rule.leave(a, counted);
    });
  }
  if (pieces == 1) return;
  launch_teams(context, name, outputs, pieces, DEVICE(int64_t item, Team team) {
    A a = rule.start();
    for (int64_t j = team.rank; j < pieces; j += team.size) a = rule.combine(a, partial[j * outputs + item]);
    a = team.all(a, rule);
    if (team.rank == 0) out[item] = rule.leave(a, counted);
  });
}

// The sum, or the mean, of elements.
template <class T, class R> struct SumRule {
  const T* x;
  bool mean = false;
  using A = Sum<T>;
  HOST_DEVICE A start() const { return 0; }
  HOST_DEVICE A enter(int64_t i) const { return A(Compute<T>(x[i])); }
  HOST_DEVICE A combine(A a, A b) const { return a + b; }
  HOST_DEVICE A operator()(A a, A b) const { return a + b; }
  HOST_DEVICE R leave(A a, int64_t n) const { return R(mean ? a / A(n) : a); }
};

// Sums and means in the elements' own type. summing.cc compiles them for all files: their kernels are many and long.
template <class T>
void sum_elements(const Context& context, const char* name, const Reduction& how, const T* from, T* out, bool mean = false);

// Sums `from`, of the shape `dims`, down to the shape of `to`, which broadcasts to it. In summing.cc too.
template <class T>
void sum_to_shape(const Context& context, const char* name, const T* from, const phi::DDim& dims, Tensor* to);

// Converts what a reduction left in the type that it sums in.
template <class R, class A> void convert(const Context& context, const char* name, const A* from, Tensor* out) {
  auto r = write<R>(context, out);
  launch(context, name, out->numel(), DEVICE(int64_t i) { r[i] = R(from[i]); });
}

template <class C> HOST_DEVICE constexpr C lowest() {
  return std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::lowest();
}
template <class C> HOST_DEVICE constexpr C highest() {
  return std::numeric_limits<C>::has_infinity ? std::numeric_limits<C>::infinity() : std::numeric_limits<C>::max();
}

// For gradients: the strides of the output over the shape that was reduced.
inline std::vector<int64_t> output_strides(const phi::DDim& dims, const std::vector<int64_t>& axes, bool all) {
  std::vector<bool> is_reduced(dims.size(), all || axes.empty());
  for (auto axis : axes) is_reduced[to_axis(axis, dims.size())] = true;
  std::vector<int64_t> strides(dims.size(), 0);
  int64_t step = 1;
  for (int k = dims.size() - 1; k >= 0; --k) {
    if (is_reduced[k]) continue;
    strides[k] = step;
    step *= dims[k];
  }
  return strides;
}

}  // namespace tablerec
