// Sums, means, extremes, and searches along an axis.
#include "reduce.h"
#include "register.h"

namespace tablerec {

template <class T, class X>
void SumKernel(const X& context, const Tensor& x, const phi::IntArray& axes, phi::DataType, bool, Tensor* out) {
  auto how = reduction(x.dims(), axes.GetData());
  auto a = read<T>(x);
  // As on the CPU: int32 and bool are summed into int64.
  if constexpr (std::is_same<T, bool>::value || std::is_same<T, int>::value)
    reduce<int64_t>(context, "sum", how, SumRule<T, int64_t>{a}, write<int64_t>(context, out));
  else
    reduce<T>(context, "sum", how, SumRule<T, T>{a}, write<T>(context, out));
}
REGISTER_AMENDED(sum, SumKernel, kNumbers + kBool, gives_another_type)

template <class T, class X>
void Mean(const X& context, const Tensor& x, const phi::IntArray& axes, bool, Tensor* out) {
  reduce<T>(context, "mean", reduction(x.dims(), axes.GetData()), SumRule<T, T>{read<T>(x), true}, write<T>(context, out));
}
template <class T, class X> void MeanAll(const X& context, const Tensor& x, Tensor* out) {
  reduce<T>(context, "mean_all", reduction(x.dims(), {}), SumRule<T, T>{read<T>(x), true}, write<T>(context, out));
}
REGISTER(mean, Mean, kFloats)
REGISTER(mean_all, MeanAll, kFloats)

#define RULE(Name, R, A, first, entered, expression)                    \
  template <class T> struct Name {                                      \
    const T* x;                                                         \
    HOST_DEVICE A start() const { return first; }                       \
    HOST_DEVICE A enter(int64_t i) const { return entered; }            \
    HOST_DEVICE A combine(A a, A b) const { return expression; }        \
    HOST_DEVICE A operator()(A a, A b) const { return expression; }     \
    HOST_DEVICE R leave(A a, int64_t) const { return R(a); }            \
  };
RULE(MaxRule, T, T, std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest(), x[i], (a > b || a != a ? a : b))
RULE(MinRule, T, T, std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max(), x[i], (a < b || a != a ? a : b))
RULE(ProductRule, T, Sum<T>, 1, Sum<T>(x[i]), a * b)
RULE(AllRule, bool, int, 1, int(bool(x[i])), a & b)
RULE(AnyRule, bool, int, 0, int(bool(x[i])), a | b)
RULE(SquaresRule, T, double, 0, double(x[i]) * double(x[i]), a + b)

template <class T, class X> void Max(const X& context, const Tensor& x, const phi::IntArray& axes, bool, Tensor* out) {
  reduce<T>(context, "max", reduction(x.dims(), axes.GetData()), MaxRule<T>{read<T>(x)}, write<T>(context, out));
}
template <class T, class X> void Min(const X& context, const Tensor& x, const phi::IntArray& axes, bool, Tensor* out) {
  reduce<T>(context, "min", reduction(x.dims(), axes.GetData()), MinRule<T>{read<T>(x)}, write<T>(context, out));
}
template <class T, class X>
void Product(const X& context, const Tensor& x, const phi::IntArray& axes, bool, bool all, Tensor* out) {
  reduce<T>(context, "prod", reduction(x.dims(), axes.GetData(), all), ProductRule<T>{read<T>(x)}, write<T>(context, out));
}
template <class T, class X>
void All(const X& context, const Tensor& x, const std::vector<int64_t>& axes, bool, Tensor* out) {
  reduce<bool>(context, "all", reduction(x.dims(), axes), AllRule<T>{read<T>(x)}, write<bool>(context, out));
}
template <class T, class X>
void Any(const X& context, const Tensor& x, const std::vector<int64_t>& axes, bool, Tensor* out) {
  reduce<bool>(context, "any", reduction(x.dims(), axes), AnyRule<T>{read<T>(x)}, write<bool>(context, out));
}
template <class T, class X> void SquaredL2Norm(const X& context, const Tensor& x, Tensor* out) {
  reduce<T>(context, "squared_l2_norm", reduction(x.dims(), {}), SquaresRule<T>{read<T>(x)}, write<T>(context, out));
}
REGISTER(max, Max, kNumbers)
REGISTER(min, Min, kNumbers)
REGISTER(prod, Product, kNumbers)
REGISTER_AMENDED(all, All, kNumbers + kBool, gives_bool)
REGISTER_AMENDED(any, Any, kNumbers + kBool, gives_bool)
REGISTER(squared_l2_norm, SquaredL2Norm, kFloats)

// ---- gradients: the value of the output, at each place that went into it

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

template <class T>
void spread(const Context& context, const char* name, const Tensor& x, const Tensor& dout,
            const std::vector<int64_t>& axes, bool all, bool mean, Tensor* dx) {
  using C = Compute<T>;
  auto at = walk(x.dims(), output_strides(x.dims(), axes, all));
  auto g = read<T>(dout);
  auto r = write<T>(context, dx);
  int64_t length = reduction(x.dims(), axes, all).length;
  C weight = mean && length ? C(1) / C(length) : C(1);
  launch(context, name, x.numel(), DEVICE(int64_t i) { r[i] = T(C(g[at(i).at[0]]) * weight); });
}

template <class T, class X>
void SumGrad(const X& context, const Tensor& x, const Tensor& dout, const phi::IntArray& axes, bool, bool all, Tensor* dx) {
  spread<T>(context, "sum_grad", x, dout, axes.GetData(), all, false, dx);
}
template <class T, class X>
void MeanGrad(const X& context, const Tensor& x, const Tensor& dout, const phi::IntArray& axes, bool, bool all, Tensor* dx) {
  spread<T>(context, "mean_grad", x, dout, axes.GetData(), all, true, dx);
}
template <class T, class X> void MeanAllGrad(const X& context, const Tensor& x, const Tensor& dout, Tensor* dx) {
  spread<T>(context, "mean_all_grad", x, dout, {}, true, true, dx);
}
REGISTER(sum_grad, SumGrad, kFloats)
REGISTER(mean_grad, MeanGrad, kFloats)
REGISTER(mean_all_grad, MeanAllGrad, kFloats)

// ---- searches

template <class T> struct Candidate {
  T value;
  int64_t index;  // -1: none yet
};
// Keeps the first of the largest, or of the smallest.
template <class T> struct BetterCandidate {
  bool largest;
  HOST_DEVICE Candidate<T> operator()(Candidate<T> a, Candidate<T> b) const {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    bool wins = largest ? a.value > b.value : a.value < b.value;
    return wins || (a.value == b.value && a.index < b.index) ? a : b;
  }
};

template <class T, class I>
void find_extreme(const Context& context, const char* name, const Tensor& x, const Split& s, bool largest, Tensor* out) {
  auto a = read<T>(x);
  auto r = write<I>(context, out);
  BetterCandidate<T> better{largest};
  launch_teams(context, name, s.rows(), s.length, DEVICE(int64_t row, Team team) {
    const T* at = a + s.start(row);
    Candidate<T> best{T(0), -1};
    for (int64_t j = team.rank; j < s.length; j += team.size) best = better(best, Candidate<T>{at[j * s.inner], j});
    best = team.all(best, better);
    if (team.rank == 0) r[row] = I(best.index);
  });
}
template <class T>
void find_extreme(const Context& context, const char* name, const Tensor& x, const phi::Scalar& axis, bool flatten,
                  phi::DataType type, bool largest, Tensor* out) {
  REQUIRE(x.numel() > 0, "%s of an empty tensor", name);
  auto s = flatten ? Split(phi::make_ddim({x.numel()}), 0) : Split(x.dims(), axis.to<int64_t>());
  if (type == phi::DataType::INT32) find_extreme<T, int>(context, name, x, s, largest, out);
  else find_extreme<T, int64_t>(context, name, x, s, largest, out);
}
template <class T, class X>
void ArgMax(const X& context, const Tensor& x, const phi::Scalar& axis, bool, bool flatten, phi::DataType type, Tensor* out) {
  find_extreme<T>(context, "argmax", x, axis, flatten, type, true, out);
}
template <class T, class X>
void ArgMin(const X& context, const Tensor& x, const phi::Scalar& axis, bool, bool flatten, phi::DataType type, Tensor* out) {
  find_extreme<T>(context, "argmin", x, axis, flatten, type, false, out);
}
REGISTER_AMENDED(argmax, ArgMax, kNumbers, gives_another_type)
REGISTER_AMENDED(argmin, ArgMin, kNumbers, gives_another_type)

// The k first by (value, index): each round a team finds the best one after the last. O(k * length).
template <class T, class X>
void TopK(const X& context, const Tensor& x, const phi::Scalar& k_scalar, int axis, bool largest, bool, Tensor* out,
          Tensor* indices) {
  int64_t k = k_scalar.to<int64_t>();
  auto dims = x.dims();
  if (dims.size()) dims[to_axis(axis, dims.size())] = k;
  out->Resize(dims);
  indices->Resize(dims);
  Split s(x.dims(), axis);
  REQUIRE(k <= s.length, "topk: %d of %d elements", int(k), int(s.length));
  auto a = read<T>(x);
  auto values = write<T>(context, out);
  auto places = write<int64_t>(context, indices);
  BetterCandidate<T> better{largest};
  launch_teams(context, "topk", s.rows(), s.length, DEVICE(int64_t row, Team team) {
    const T* at = a + s.start(row);
    int64_t to = (row / s.inner) * k * s.inner + row % s.inner;
    Candidate<T> last{T(0), -1};
    for (int64_t round = 0; round < k; ++round) {
      Candidate<T> best{T(0), -1};
      for (int64_t j = team.rank; j < s.length; j += team.size) {
        T v = at[j * s.inner];
        bool later = round == 0 || (largest ? v < last.value : v > last.value) || (v == last.value && j > last.index);
        if (later) best = better(best, Candidate<T>{v, j});
      }
      last = team.all(best, better);
      if (team.rank == 0) {
        values[to + round * s.inner] = last.value;
        places[to + round * s.inner] = last.index;
      }
    }
  });
}
REGISTER_AMENDED(topk, TopK, kNumbers, gives_indices_second)

template <class T, class X>
void CumSum(const X& context, const Tensor& x, const phi::Scalar& axis, bool flatten, bool exclusive, bool reverse,
            Tensor* out) {
  auto s = flatten ? Split(phi::make_ddim({x.numel()}), 0) : Split(x.dims(), axis.to<int64_t>());
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch(context, "cumsum", s.rows(), DEVICE(int64_t row) {
    Sum<T> total = 0;
    for (int64_t j = 0; j < s.length; ++j) {
      int64_t at = s.start(row) + (reverse ? s.length - 1 - j : j) * s.inner;
      T here = a[at];
      r[at] = T(exclusive ? total : total + here);
      total += here;
    }
  });
}
REGISTER(cumsum, CumSum, kNumbers)

}  // namespace tablerec
