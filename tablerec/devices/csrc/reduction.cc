// Sums, means, extremes, and searches along an axis.
#include "accumulate.h"
#include "reduce.h"
#include "register.h"
#include "scan.h"

namespace tablerec {

// Converts what a reduction left in the type that it sums in.
template <class R, class A> void convert(const Context& context, const char* name, const A* from, Tensor* out) {
  auto r = write<R>(context, out);
  launch(context, name, out->numel(), DEVICE(int64_t i) { r[i] = R(from[i]); });
}

template <class T, class X>
void SumKernel(const X& context, const Tensor& x, const phi::IntArray& axes, phi::DataType type, bool, Tensor* out) {
  auto how = reduction(x.dims(), axes.GetData());
  auto a = read<T>(x);
  // As on the CPU: int32 and bool are summed into int64.
  using R = std::conditional_t<std::is_same<T, bool>::value || std::is_same<T, int>::value, int64_t, T>;
  if (type == phi::DataType::UNDEFINED || type == phi::CppTypeToDataType<R>::Type()) {
    reduce<R>(context, "sum", how, SumRule<T, R>{a}, write<R>(context, out));
    return;
  }
  Temporary<Sum<T>> sums(context, out->numel());
  reduce<Sum<T>>(context, "sum", how, SumRule<T, Sum<T>>{a}, sums.data);
  if (type == phi::DataType::FLOAT32) convert<float>(context, "sum", sums.data, out);
  else if (type == phi::DataType::FLOAT64) convert<double>(context, "sum", sums.data, out);
  else if (type == phi::DataType::INT64) convert<int64_t>(context, "sum", sums.data, out);
  else if (type == phi::DataType::INT32) convert<int>(context, "sum", sums.data, out);
  else REQUIRE(false, "sum into type %s is not supported on %s", phi::DataTypeToString(type), device_name());
}
REGISTER_AMENDED(sum, SumKernel, kNumbers + kHalves + kBool, gives_another_type)

template <class T, class X>
void Mean(const X& context, const Tensor& x, const phi::IntArray& axes, bool, Tensor* out) {
  reduce<T>(context, "mean", reduction(x.dims(), axes.GetData()), SumRule<T, T>{read<T>(x), true}, write<T>(context, out));
}
template <class T, class X> void MeanAll(const X& context, const Tensor& x, Tensor* out) {
  reduce<T>(context, "mean_all", reduction(x.dims(), {}), SumRule<T, T>{read<T>(x), true}, write<T>(context, out));
}
REGISTER(mean, Mean, kFloats + kHalves)
REGISTER(mean_all, MeanAll, kFloats + kHalves)

#define RULE(Name, R, A, first, entered, expression)                    \
  template <class T> struct Name {                                      \
    using C = Compute<T>;                                               \
    const T* x;                                                         \
    HOST_DEVICE A start() const { return first; }                       \
    HOST_DEVICE A enter(int64_t i) const { return entered; }            \
    HOST_DEVICE A combine(A a, A b) const { return expression; }        \
    HOST_DEVICE A operator()(A a, A b) const { return expression; }     \
    HOST_DEVICE R leave(A a, int64_t) const { return R(a); }            \
  };
template <class C> HOST_DEVICE constexpr C lowest() {
  return std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::lowest();
}
template <class C> HOST_DEVICE constexpr C highest() {
  return std::numeric_limits<C>::has_infinity ? std::numeric_limits<C>::infinity() : std::numeric_limits<C>::max();
}
// The largest or the smallest; what is not a number wins.
template <class T> struct ExtremeRule {
  using C = Compute<T>;
  const T* x;
  bool largest;
  HOST_DEVICE C start() const { return largest ? lowest<C>() : highest<C>(); }
  HOST_DEVICE C enter(int64_t i) const { return C(x[i]); }
  HOST_DEVICE C combine(C a, C b) const { return (largest ? a > b : a < b) || a != a ? a : b; }
  HOST_DEVICE C operator()(C a, C b) const { return combine(a, b); }
  HOST_DEVICE T leave(C a, int64_t) const { return T(a); }
};
template <class T> struct TruthRule {
  const T* x;
  bool all;
  HOST_DEVICE int start() const { return all; }
  HOST_DEVICE int enter(int64_t i) const { return x[i] != T(0); }
  HOST_DEVICE int combine(int a, int b) const { return all ? a & b : a | b; }
  HOST_DEVICE int operator()(int a, int b) const { return combine(a, b); }
  HOST_DEVICE bool leave(int a, int64_t) const { return a; }
};
RULE(ProductRule, T, Sum<T>, 1, Sum<T>(C(x[i])), a * b)
RULE(SquaresRule, T, double, 0, double(C(x[i])) * double(C(x[i])), a + b)

template <class T, class X> void Max(const X& context, const Tensor& x, const phi::IntArray& axes, bool, Tensor* out) {
  reduce<T>(context, "max", reduction(x.dims(), axes.GetData()), ExtremeRule<T>{read<T>(x), true}, write<T>(context, out));
}
template <class T, class X> void Min(const X& context, const Tensor& x, const phi::IntArray& axes, bool, Tensor* out) {
  reduce<T>(context, "min", reduction(x.dims(), axes.GetData()), ExtremeRule<T>{read<T>(x), false}, write<T>(context, out));
}
template <class T, class X> void AMax(const X& context, const Tensor& x, const std::vector<int64_t>& axes, bool, Tensor* out) {
  reduce<T>(context, "amax", reduction(x.dims(), axes), ExtremeRule<T>{read<T>(x), true}, write<T>(context, out));
}
template <class T, class X> void AMin(const X& context, const Tensor& x, const std::vector<int64_t>& axes, bool, Tensor* out) {
  reduce<T>(context, "amin", reduction(x.dims(), axes), ExtremeRule<T>{read<T>(x), false}, write<T>(context, out));
}
template <class T, class X>
void Product(const X& context, const Tensor& x, const phi::IntArray& axes, bool, bool all, Tensor* out) {
  reduce<T>(context, "prod", reduction(x.dims(), axes.GetData(), all), ProductRule<T>{read<T>(x)}, write<T>(context, out));
}
template <class T, class X>
void All(const X& context, const Tensor& x, const std::vector<int64_t>& axes, bool, Tensor* out) {
  reduce<bool>(context, "all", reduction(x.dims(), axes), TruthRule<T>{read<T>(x), true}, write<bool>(context, out));
}
template <class T, class X>
void Any(const X& context, const Tensor& x, const std::vector<int64_t>& axes, bool, Tensor* out) {
  reduce<bool>(context, "any", reduction(x.dims(), axes), TruthRule<T>{read<T>(x), false}, write<bool>(context, out));
}
template <class T, class X> void SquaredL2Norm(const X& context, const Tensor& x, Tensor* out) {
  reduce<T>(context, "squared_l2_norm", reduction(x.dims(), {}), SquaresRule<T>{read<T>(x)}, write<T>(context, out));
}
REGISTER(max, Max, kNumbers + kHalves)
REGISTER(min, Min, kNumbers + kHalves)
REGISTER(amax, AMax, kFloats + kHalves)
REGISTER(amin, AMin, kFloats + kHalves)
REGISTER(prod, Product, kNumbers + kHalves)
REGISTER_AMENDED(all, All, kNumbers + kBool, gives_bool)
REGISTER_AMENDED(any, Any, kNumbers + kBool, gives_bool)
REGISTER(squared_l2_norm, SquaredL2Norm, kFloats + kHalves)

// The largest so far, and the sum of exp(x - largest).
template <class C> struct ExpSum {
  C largest;
  double sum;
};
template <class T> struct LogSumExpRule {
  using C = Compute<T>;
  using A = ExpSum<C>;
  const T* x;
  HOST_DEVICE A start() const { return {lowest<C>(), 0}; }
  HOST_DEVICE A enter(int64_t i) const { return {C(x[i]), 1}; }
  HOST_DEVICE A combine(A a, A b) const {
    if (b.largest > a.largest) {
      A c = a;
      a = b, b = c;
    }
    // Of equal infinities the difference is not a number.
    C gap = b.largest == a.largest ? C(0) : b.largest - a.largest;
    return {a.largest, a.sum + b.sum * exp(gap)};
  }
  HOST_DEVICE A operator()(A a, A b) const { return combine(a, b); }
  HOST_DEVICE T leave(A a, int64_t) const { return T(C(double(a.largest) + log(a.sum))); }
};
template <class T, class X>
void LogSumExp(const X& context, const Tensor& x, const std::vector<int>& axes, bool, bool all, Tensor* out) {
  std::vector<int64_t> wide(axes.begin(), axes.end());
  reduce<T>(context, "logsumexp", reduction(x.dims(), wide, all), LogSumExpRule<T>{read<T>(x)}, write<T>(context, out));
}
REGISTER(logsumexp, LogSumExp, kFloats + kHalves)

// The norm of order p over an axis, or over everything; of order 0 the number of what is not zero.
HOST_DEVICE inline bool endless(double order) { return order == INFINITY || order == -INFINITY; }
template <class T> struct NormRule {
  using C = Compute<T>;
  const T* x;
  double order;
  HOST_DEVICE double start() const { return order == -INFINITY ? INFINITY : 0; }
  HOST_DEVICE double enter(int64_t i) const {
    C v = C(x[i]);
    v = v < 0 ? -v : v;
    if (order == 2) return double(v) * double(v);
    if (order == 1 || endless(order)) return double(v);
    return order == 0 ? double(v != 0) : double(pow(v, C(order)));
  }
  HOST_DEVICE double combine(double a, double b) const {
    if (!endless(order)) return a + b;
    return (order > 0 ? a > b : a < b) || a != a ? a : b;
  }
  HOST_DEVICE double operator()(double a, double b) const { return combine(a, b); }
  HOST_DEVICE T leave(double a, int64_t) const {
    if (order == 2) a = sqrt(a);
    else if (order != 1 && order != 0 && !endless(order)) a = pow(a, 1 / order);
    return T(C(a));
  }
};
inline std::vector<int64_t> norm_axes(int axis, bool whole) { return whole ? std::vector<int64_t>() : std::vector<int64_t>{axis}; }
template <class T, class X>
void PNorm(const X& context, const Tensor& x, float order, int axis, float, bool, bool whole, Tensor* out) {
  reduce<T>(context, "p_norm", reduction(x.dims(), norm_axes(axis, whole)), NormRule<T>{read<T>(x), order}, write<T>(context, out));
}
REGISTER(p_norm, PNorm, kFloats + kHalves)

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
REGISTER(sum_grad, SumGrad, kFloats + kHalves)
REGISTER(mean_grad, MeanGrad, kFloats + kHalves)
REGISTER(mean_all_grad, MeanAllGrad, kFloats + kHalves)

// An extreme, and how often it occurs.
template <class C> struct Counted {
  C value;
  int64_t count;
};
template <class T> struct CountExtremesRule {
  using C = Compute<T>;
  using A = Counted<C>;
  const T* x;
  C sign;  // -1: the smallest
  HOST_DEVICE A start() const { return {lowest<C>(), 0}; }
  HOST_DEVICE A enter(int64_t i) const { return {sign * C(x[i]), 1}; }
  HOST_DEVICE A combine(A a, A b) const {
    if (a.value == b.value) return {a.value, a.count + b.count};
    return a.value > b.value || a.value != a.value ? a : b;
  }
  HOST_DEVICE A operator()(A a, A b) const { return combine(a, b); }
  HOST_DEVICE int64_t leave(A a, int64_t) const { return a.count; }
};
// The gradient is shared evenly by all that are equal to the extreme.
template <class T>
void spread_to_extremes(const Context& context, const char* name, const Tensor& x, const Tensor& out, const Tensor& dout,
                        const std::vector<int64_t>& axes, bool all, bool largest, Tensor* dx) {
  using C = Compute<T>;
  Temporary<int64_t> counts(context, out.numel());
  auto n = counts.data;
  auto a = read<T>(x), y = read<T>(out), g = read<T>(dout);
  reduce<int64_t>(context, name, reduction(x.dims(), axes, all), CountExtremesRule<T>{a, C(largest ? 1 : -1)}, n);
  auto at = walk(x.dims(), output_strides(x.dims(), axes, all));
  auto r = write<T>(context, dx);
  launch(context, name, x.numel(), DEVICE(int64_t i) {
    int64_t o = at(i).at[0];
    r[i] = C(a[i]) == C(y[o]) ? T(C(g[o]) / C(n[o])) : T(0);
  });
}
#define EXTREME_GRAD(Name, name, largest, Axes, given)                                                               \
  template <class T, class X>                                                                                        \
  void Name(const X& context, const Tensor& x, const Tensor& out, const Tensor& dout, const Axes& axes, bool, bool all, \
            Tensor* dx) {                                                                                            \
    spread_to_extremes<T>(context, #name, x, out, dout, given, all, largest, dx);                                    \
  }                                                                                                                  \
  REGISTER(name, Name, kFloats + kHalves)
EXTREME_GRAD(MaxGrad, max_grad, true, phi::IntArray, axes.GetData())
EXTREME_GRAD(MinGrad, min_grad, false, phi::IntArray, axes.GetData())
EXTREME_GRAD(AMaxGrad, amax_grad, true, std::vector<int64_t>, axes)
EXTREME_GRAD(AMinGrad, amin_grad, false, std::vector<int64_t>, axes)

template <class T, class X>
void ProductGrad(const X& context, const Tensor& x, const Tensor& out, const Tensor& dout, const phi::IntArray& axes, bool, bool all,
                 Tensor* dx) {
  using C = Compute<T>;
  auto at = walk(x.dims(), output_strides(x.dims(), axes.GetData(), all));
  auto a = read<T>(x), y = read<T>(out), g = read<T>(dout);
  auto r = write<T>(context, dx);
  // As on the CPU: not a number where an element is zero.
  launch(context, "prod_grad", x.numel(), DEVICE(int64_t i) {
    int64_t o = at(i).at[0];
    r[i] = T(C(g[o]) * C(y[o]) / C(a[i]));
  });
}
template <class T, class X>
void LogSumExpGrad(const X& context, const Tensor& x, const Tensor& out, const Tensor& dout, const std::vector<int>& axes, bool,
                   bool all, Tensor* dx) {
  using C = Compute<T>;
  auto at = walk(x.dims(), output_strides(x.dims(), std::vector<int64_t>(axes.begin(), axes.end()), all));
  auto a = read<T>(x), y = read<T>(out), g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch(context, "logsumexp_grad", x.numel(), DEVICE(int64_t i) {
    int64_t o = at(i).at[0];
    r[i] = T(C(g[o]) * exp(C(a[i]) - C(y[o])));
  });
}
template <class T, class X>
void SquaredL2NormGrad(const X& context, const Tensor& x, const Tensor& dout, Tensor* dx) {
  using C = Compute<T>;
  auto a = read<T>(x), g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch(context, "squared_l2_norm_grad", x.numel(), DEVICE(int64_t i) { r[i] = T(2 * C(g[0]) * C(a[i])); });
}
template <class T, class X>
void PNormGrad(const X& context, const Tensor& x, const Tensor& out, const Tensor& dout, float order, int axis, float, bool, bool whole,
               Tensor* dx) {
  using C = Compute<T>;
  auto at = walk(x.dims(), output_strides(x.dims(), norm_axes(axis, whole), whole));
  auto a = read<T>(x), y = read<T>(out), g = read<T>(dout);
  auto r = write<T>(context, dx);
  double p = order;
  launch(context, "p_norm_grad", x.numel(), DEVICE(int64_t i) {
    int64_t o = at(i).at[0];
    C v = C(a[i]), size = v < 0 ? -v : v, norm = C(y[o]), sign = C(v > 0) - C(v < 0), slope;
    if (p == 0 || norm == 0) slope = 0;
    else if (endless(p)) slope = size == norm ? sign : C(0);
    else if (p == 1) slope = sign;
    else if (p == 2) slope = v / norm;
    else slope = size == 0 ? C(0) : sign * C(pow(size / norm, C(p - 1)));
    r[i] = T(C(g[o]) * slope);
  });
}
REGISTER(p_norm_grad, PNormGrad, kFloats + kHalves)
REGISTER(prod_grad, ProductGrad, kFloats + kHalves)
REGISTER(logsumexp_grad, LogSumExpGrad, kFloats + kHalves)
REGISTER(squared_l2_norm_grad, SquaredL2NormGrad, kFloats + kHalves)

// ---- searches

template <class C> struct Candidate {
  C value;
  int64_t index;  // -1: none yet
};
// Keeps the first of the largest, or of the smallest; what is not a number loses, as on the CPU.
template <class T> struct FindRule {
  using C = Compute<T>;
  using A = Candidate<C>;
  const T* x;
  bool largest;
  int64_t inner, length;
  HOST_DEVICE A start() const { return {C(0), -1}; }
  HOST_DEVICE A enter(int64_t i) const {
    C v = C(x[i]);
    return {v, v == v ? i / inner % length : -1};
  }
  HOST_DEVICE A combine(A a, A b) const {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    bool wins = largest ? a.value > b.value : a.value < b.value;
    return wins || (a.value == b.value && a.index < b.index) ? a : b;
  }
  HOST_DEVICE A operator()(A a, A b) const { return combine(a, b); }
  HOST_DEVICE int64_t leave(A a, int64_t) const { return a.index < 0 ? 0 : a.index; }
};

template <class T>
void find_extreme(const Context& context, const char* name, const Tensor& x, const phi::Scalar& axis, bool flatten,
                  phi::DataType type, bool largest, Tensor* out) {
  REQUIRE(x.numel() > 0, "%s of an empty tensor", name);
  auto dims = flatten || !x.dims().size() ? phi::make_ddim({x.numel()}) : x.dims();
  int64_t at = flatten || !x.dims().size() ? 0 : axis.to<int64_t>();
  Split s(dims, at);
  FindRule<T> rule{read<T>(x), largest, s.inner, s.length};
  auto how = reduction(dims, {at});
  if (type != phi::DataType::INT32) {
    reduce<int64_t>(context, name, how, rule, write<int64_t>(context, out));
    return;
  }
  Temporary<int64_t> found(context, s.rows());
  reduce<int64_t>(context, name, how, rule, found.data);
  convert<int>(context, name, found.data, out);
}
template <class T, class X>
void ArgMax(const X& context, const Tensor& x, const phi::Scalar& axis, bool, bool flatten, phi::DataType type, Tensor* out) {
  find_extreme<T>(context, "argmax", x, axis, flatten, type, true, out);
}
template <class T, class X>
void ArgMin(const X& context, const Tensor& x, const phi::Scalar& axis, bool, bool flatten, phi::DataType type, Tensor* out) {
  find_extreme<T>(context, "argmin", x, axis, flatten, type, false, out);
}
REGISTER_AMENDED(argmax, ArgMax, kNumbers + kHalves, gives_another_type)
REGISTER_AMENDED(argmin, ArgMin, kNumbers + kHalves, gives_another_type)

// ---- cumulated sums

template <class T> struct Elements {
  const T* x;
  HOST_DEVICE Sum<T> operator()(int64_t i) const { return Sum<T>(Compute<T>(x[i])); }
};
template <class T> struct KeepSums {
  T* out;
  bool exclusive;
  HOST_DEVICE void operator()(int64_t i, Sum<T> before, Sum<T> value) const { out[i] = T(exclusive ? before : before + value); }
};
template <class T>
void cumulate(const Context& context, const char* name, const Tensor& x, const phi::Scalar& axis, bool flatten, bool exclusive,
              bool reverse, Tensor* out) {
  auto s = flatten ? Split(phi::make_ddim({x.numel()}), 0) : Split(x.dims(), axis.to<int64_t>());
  auto r = write<T>(context, out);
  if (x.numel()) scan<Sum<T>>(context, name, s, reverse, Elements<T>{read<T>(x)}, KeepSums<T>{r, exclusive});
}
template <class T, class X>
void CumSum(const X& context, const Tensor& x, const phi::Scalar& axis, bool flatten, bool exclusive, bool reverse,
            Tensor* out) {
  cumulate<T>(context, "cumsum", x, axis, flatten, exclusive, reverse, out);
}
template <class T, class X>
void CumSumGrad(const X& context, const Tensor& x, const Tensor& dout, const phi::Scalar& axis, bool flatten, bool exclusive,
                bool reverse, Tensor* dx) {
  dx->Resize(x.dims());
  cumulate<T>(context, "cumsum_grad", dout, axis, flatten, exclusive, !reverse, dx);
}
REGISTER(cumsum, CumSum, kNumbers + kHalves)
REGISTER(cumsum_grad, CumSumGrad, kFloats + kHalves)

}  // namespace tablerec
