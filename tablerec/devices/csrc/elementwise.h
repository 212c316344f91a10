// What computes each element by itself: functions of one operand and of two, and their gradients.
#pragma once
#include "elements.h"
#include "register.h"

namespace tablerec {

// ---- two operands, broadcast

template <class T, class R, class F>
void binary(const Context& context, const char* name, const Tensor& x, const Tensor& y, Tensor* out, F f) {
  using C = Compute<T>;
  auto a = read<T>(x), b = read<T>(y);
  auto r = write<R>(context, out);
  auto to = out->dims();
  auto at = walk(to, broadcast_strides(x.dims(), to), broadcast_strides(y.dims(), to));
  launch_walk(context, name, at, DEVICE(T u, T v) { return R(f(C(u), C(v))); }, r, a, b);
}

template <class C> HOST_DEVICE C power(C a, C b) {
  if constexpr (std::is_integral<C>::value) return C(llrint(pow(double(a), double(b))));
  else return pow(a, b);
}

// ---- one operand

template <class T, class F> void unary(const Context& context, const char* name, const Tensor& x, Tensor* out, F f) {
  using C = Compute<T>;
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch_elements(context, name, x.numel(), DEVICE(T& y, T u) { y = T(f(C(u))); }, r, a);
}
template <class T, class F>
void unary_gradient(const Context& context, const char* name, const Tensor& kept, const Tensor& dout, Tensor* dx, F f) {
  using C = Compute<T>;
  auto a = read<T>(kept), g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch_elements(context, name, dout.numel(), DEVICE(T& y, T u, T w) { y = T(f(C(u), C(w))); }, r, a, g);
}

#define UNARY(name, Name, types, expression)                                          \
  struct Name##Function {                                                             \
    template <class C> HOST_DEVICE C operator()(C a) const { return expression; }     \
  };                                                                                  \
  template <class T, class X> void Name(const X& context, const Tensor& x, Tensor* out) { \
    unary<T>(context, #name, x, out, Name##Function());                               \
  }                                                                                   \
  REGISTER(name, Name, types)

// `a` is what the operator keeps for its gradient: its output or its input, as Paddle's table says.
#define UNARY_GRADIENT(name, Name, expression)                                                                \
  struct Name##Function {                                                                                     \
    template <class C> HOST_DEVICE C operator()(C a, C g) const { return expression; }                        \
  };                                                                                                          \
  template <class T, class X> void Name(const X& context, const Tensor& kept, const Tensor& dout, Tensor* dx) { \
    unary_gradient<T>(context, #name, kept, dout, dx, Name##Function());                                      \
  }                                                                                                           \
  REGISTER(name, Name, kFloats + kHalves)

template <class C> HOST_DEVICE C sigmoid_of(C a) { return 1 / (1 + exp(-a)); }
template <class C> HOST_DEVICE C softplus_of(C a) { return (a > 0 ? a : C(0)) + log1p(exp(a > 0 ? -a : a)); }
template <class C> HOST_DEVICE C between(C a, C low, C high) { return a < low ? low : (a > high ? high : a); }

}  // namespace tablerec
