// Products, norms, logarithms of sums, and truths along axes.
#include "reduce.h"
#include "register.h"

namespace tablerec {

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

}  // namespace tablerec
