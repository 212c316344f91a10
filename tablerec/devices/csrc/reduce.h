// Reductions over any axes: a team for each output, and several teams where outputs are few and long.
#pragma once
#include "shapes.h"

namespace tablerec {

struct Reduction {
  Walk<1> kept, reduced;
  int64_t outputs = 1, length = 1;
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

// A reduction is a type A with: start value, `enter` (element -> A), `combine`, `leave` (A, length -> result).
template <class R, class Rule> void reduce(const Context& context, const char* name, const Reduction& how, Rule rule,
                                           R* out, int64_t given_length = 0) {
  using A = decltype(rule.start());
  int64_t outputs = how.outputs, length = how.length, counted = given_length ? given_length : how.length;
  auto kept = how.kept, reduced = how.reduced;
  const int64_t piece = 4096, wanted = 264;
  int64_t pieces = outputs < wanted ? std::min<int64_t>((length + piece - 1) / piece, (wanted + outputs - 1) / std::max<int64_t>(outputs, 1)) : 1;
  if (pieces <= 1) {
    launch_teams(context, name, outputs, length, DEVICE(int64_t item, Team team) {
      int64_t base = kept(item).at[0];
      A a = rule.start();
      for (int64_t j = team.rank; j < length; j += team.size) a = rule.combine(a, rule.enter(base + reduced(j).at[0]));
      a = team.all(a, rule);
      if (team.rank == 0) out[item] = rule.leave(a, counted);
    });
    return;
  }
  Temporary<uint8_t> memory(context, outputs * pieces * int64_t(sizeof(A)));
  A* partial = reinterpret_cast<A*>(memory.data);
  int64_t step = (length + pieces - 1) / pieces;
  launch_teams(context, name, outputs * pieces, step, DEVICE(int64_t item, Team team) {
    int64_t base = kept(item / pieces).at[0], from = (item % pieces) * step;
    int64_t to = from + step < length ? from + step : length;
    A a = rule.start();
    for (int64_t j = from + team.rank; j < to; j += team.size) a = rule.combine(a, rule.enter(base + reduced(j).at[0]));
    a = team.all(a, rule);
    if (team.rank == 0) partial[item] = a;
  });
  launch_teams(context, name, outputs, pieces, DEVICE(int64_t item, Team team) {
    A a = rule.start();
    for (int64_t j = team.rank; j < pieces; j += team.size) a = rule.combine(a, partial[item * pieces + j]);
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

// Sums `from`, of the shape `dims`, down to the shape of `to`, which broadcasts to it.
template <class T>
void sum_to_shape(const Context& context, const char* name, const T* from, const phi::DDim& dims, Tensor* to) {
  int missing = dims.size() - to->dims().size();
  std::vector<int64_t> axes;
  for (int k = 0; k < dims.size(); ++k)
    if (k < missing || (to->dims()[k - missing] == 1 && dims[k] != 1)) axes.push_back(k);
  auto out = write<T>(context, to);
  if (axes.empty()) {  // only leading ones differ
    launch(context, name, to->numel(), DEVICE(int64_t i) { out[i] = from[i]; });
    return;
  }
  reduce<T>(context, name, reduction(dims, axes), SumRule<T, T>{from}, out);
}

}  // namespace tablerec
