// Norms, and logarithms of sums, along axes.
#include "reduce.h"
#include "register.h"

namespace tablerec {

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
REGISTER(logsumexp_grad, LogSumExpGrad, kFloats + kHalves)

}  // namespace tablerec
