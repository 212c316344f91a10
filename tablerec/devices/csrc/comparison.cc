// Operators that answer yes or no for each element.
#include "elementwise.h"

namespace tablerec {

#define COMPARE(name, Name, types, expression)                                            \
  struct Name##Function {                                                                 \
    template <class C> HOST_DEVICE bool operator()(C a, C b) const { return expression; } \
  };                                                                                      \
  template <class T, class X> void Name(const X& context, const Tensor& x, const Tensor& y, Tensor* out) { \
    binary<T, bool>(context, #name, x, y, out, Name##Function());                         \
  }                                                                                       \
  REGISTER_AMENDED(name, Name, types, gives_bool)

COMPARE(equal, Equal, kAll + kHalves, a == b)
COMPARE(not_equal, NotEqual, kAll + kHalves, a != b)
COMPARE(less_than, LessThan, kAll + kHalves, a < b)
COMPARE(less_equal, LessEqual, kAll + kHalves, a <= b)
COMPARE(greater_than, GreaterThan, kAll + kHalves, a > b)
COMPARE(greater_equal, GreaterEqual, kAll + kHalves, a >= b)
COMPARE(logical_and, LogicalAnd, kAll + kHalves, bool(a) && bool(b))
COMPARE(logical_or, LogicalOr, kAll + kHalves, bool(a) || bool(b))
COMPARE(logical_xor, LogicalXor, kAll + kHalves, bool(a) != bool(b))

template <class T, class X>
void IsClose(const X& context, const Tensor& x, const Tensor& y, const phi::Scalar& relative, const phi::Scalar& absolute,
             bool equal_nan, Tensor* out) {
  double by = relative.to<double>(), within = absolute.to<double>();
  auto r = write<bool>(context, out);
  auto to = out->dims();
  auto at = walk(to, broadcast_strides(x.dims(), to), broadcast_strides(y.dims(), to));
  launch_walk(context, "isclose", at, DEVICE(T u, T v) {
    double a = double(Compute<T>(u)), b = double(Compute<T>(v)), far = a < b ? b - a : a - b;
    return a == b || far <= within + by * (b < 0 ? -b : b) || (equal_nan && a != a && b != b);
  }, r, read<T>(x), read<T>(y));
}
REGISTER_AMENDED(isclose, IsClose, kFloats + kHalves, gives_bool)

template <class T, class F> void ask(const Context& context, const char* name, const Tensor& x, Tensor* out, F f) {
  using C = Compute<T>;
  auto a = read<T>(x);
  auto r = write<bool>(context, out);
  launch_elements(context, name, x.numel(), DEVICE(bool& y, T u) { y = f(C(u)); }, r, a);
}
#define QUESTION(name, Name, types, expression)                                           \
  struct Name##Function {                                                                 \
    template <class C> HOST_DEVICE bool operator()(C a) const { return expression; }      \
  };                                                                                      \
  template <class T, class X> void Name(const X& context, const Tensor& x, Tensor* out) { \
    ask<T>(context, #name, x, out, Name##Function());                                     \
  }                                                                                       \
  REGISTER_AMENDED(name, Name, types, gives_bool)

QUESTION(logical_not, LogicalNot, kAll + kHalves, !bool(a))
// The difference of an infinity with itself is no number.
QUESTION(isnan, IsNan, kNumbers + kHalves, a != a)
QUESTION(isinf, IsInf, kNumbers + kHalves, a == a && a - a != C(0))
QUESTION(isfinite, IsFinite, kNumbers + kHalves, a - a == C(0))

}  // namespace tablerec
