// Operators of one operand that compute each element by itself, and their gradients.
#include "elementwise.h"

namespace tablerec {

UNARY(exp, Exp, kFloats + kHalves, exp(a))
UNARY(log, Log, kFloats + kHalves, log(a))
UNARY(log2, Log2, kFloats + kHalves, log2(a))
UNARY(log1p, Log1p, kFloats + kHalves, log1p(a))
UNARY(sqrt, Sqrt, kFloats + kHalves, sqrt(a))
UNARY(rsqrt, Rsqrt, kFloats + kHalves, 1 / sqrt(a))
UNARY(reciprocal, Reciprocal, kFloats + kHalves, 1 / a)
UNARY(sin, Sin, kFloats + kHalves, sin(a))
UNARY(cos, Cos, kFloats + kHalves, cos(a))
UNARY(atan, Atan, kFloats + kHalves, atan(a))
UNARY(erf, Erf, kFloats + kHalves, erf(a))
UNARY(trunc, Trunc, kFloats + kHalves, trunc(a))
UNARY(floor, Floor, kFloats + kHalves, floor(a))
UNARY(ceil, Ceil, kFloats + kHalves, ceil(a))
UNARY(sign, Sign, kNumbers + kHalves, C(a > 0) - C(a < 0))
UNARY(abs, Abs, kNumbers + kHalves, a < 0 ? -a : a)
UNARY(square, Square, kNumbers + kHalves, a * a)

struct RoundFunction {
  double step;  // a power of ten; halves go to the even neighbour
  template <class C> HOST_DEVICE C operator()(C a) const { return step == 1 ? rint(a) : rint(a * C(step)) / C(step); }
};
template <class T, class X> void Round(const X& context, const Tensor& x, int decimals, Tensor* out) {
  unary<T>(context, "round", x, out, RoundFunction{std::pow(10.0, decimals)});
}
REGISTER(round, Round, kFloats + kHalves)

template <class T, class X> void BitwiseNot(const X& context, const Tensor& x, Tensor* out) {
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch_elements(context, "bitwise_not", x.numel(), DEVICE(T& y, T u) {
    y = std::is_same<T, bool>::value ? T(!u) : T(~u);
  }, r, a);
}
REGISTER(bitwise_not, BitwiseNot, kIntegers + kBool)

UNARY_GRADIENT(exp_grad, ExpGrad, g * a)
UNARY_GRADIENT(sqrt_grad, SqrtGrad, g / (2 * a))
UNARY_GRADIENT(rsqrt_grad, RsqrtGrad, g * C(-0.5) * a * a * a)
UNARY_GRADIENT(reciprocal_grad, ReciprocalGrad, -g * a * a)
UNARY_GRADIENT(log_grad, LogGrad, g / a)
UNARY_GRADIENT(log2_grad, Log2Grad, g / (a * C(0.69314718055994530942)))
UNARY_GRADIENT(log1p_grad, Log1pGrad, g / (1 + a))
UNARY_GRADIENT(sin_grad, SinGrad, g * cos(a))
UNARY_GRADIENT(cos_grad, CosGrad, -g * sin(a))
UNARY_GRADIENT(atan_grad, AtanGrad, g / (1 + a * a))
UNARY_GRADIENT(erf_grad, ErfGrad, g * C(1.12837916709551257390) * exp(-a * a))
UNARY_GRADIENT(abs_grad, AbsGrad, a > 0 ? g : (a < 0 ? -g : C(0)))
UNARY_GRADIENT(square_grad, SquareGrad, 2 * g * a)

// Steps are flat.
template <class T> void zeros(const Context& context, const char* name, Tensor* out) {
  auto r = write<T>(context, out);
  fill_elements(context, name, out->numel(), Bits<T>(0), bits(r));
}
#define FLAT_GRADIENT(name, Name)                                                        \
  template <class T, class X> void Name(const X& context, const Tensor&, Tensor* dx) { \
    zeros<T>(context, #name, dx);                                                      \
  }                                                                                    \
  REGISTER(name, Name, kFloats + kHalves)
FLAT_GRADIENT(floor_grad, FloorGrad)
FLAT_GRADIENT(ceil_grad, CeilGrad)
FLAT_GRADIENT(round_grad, RoundGrad)
FLAT_GRADIENT(trunc_grad, TruncGrad)

// ---- with numbers as arguments

template <class T, class X>
void Scale(const X& context, const Tensor& x, const phi::Scalar& scale, const phi::Scalar& bias, bool bias_after,
           Tensor* out) {
  using C = Compute<T>;
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  C s = scale.to<C>(), b = bias.to<C>();
  launch_elements(context, "scale", x.numel(), DEVICE(T& y, T u) { y = T(bias_after ? C(u) * s + b : (C(u) + b) * s); }, r, a);
}
REGISTER(scale, Scale, kNumbers + kHalves)

template <class T, class X> void DivScale(const X& context, const Tensor& x, const phi::Scalar& by, Tensor* out) {
  using C = Compute<T>;
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  C s = by.to<C>();
  launch_elements(context, "div_scale", x.numel(), DEVICE(T& y, T u) { y = T(C(u) / s); }, r, a);
}
REGISTER(div_scale, DivScale, kFloats + kHalves)

template <class T, class X> void Increment(const X& context, const Tensor& x, float by, Tensor* out) {
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch_elements(context, "increment", x.numel(), DEVICE(T& y, T u) { y = T(u + T(by)); }, r, a);
}
REGISTER(increment, Increment, kNumbers)

template <class T, class X>
void Clip(const X& context, const Tensor& x, const phi::Scalar& least, const phi::Scalar& most, Tensor* out) {
  using C = Compute<T>;
  C low = least.to<C>(), high = most.to<C>();
  unary<T>(context, "clip", x, out, DEVICE(C a) { return between(a, low, high); });
}
template <class T, class X>
void ClipGrad(const X& context, const Tensor& x, const Tensor& dout, const phi::Scalar& least, const phi::Scalar& most,
              Tensor* dx) {
  using C = Compute<T>;
  C low = least.to<C>(), high = most.to<C>();
  // Paddle's rule: nothing flows on the limits themselves.
  unary_gradient<T>(context, "clip_grad", x, dout, dx, DEVICE(C a, C g) { return a > low && a < high ? g : C(0); });
}
REGISTER(clip, Clip, kNumbers + kHalves)
REGISTER(clip_grad, ClipGrad, kFloats + kHalves)

template <class T, class X> void Pow(const X& context, const Tensor& x, const phi::Scalar& factor, Tensor* out) {
  using C = Compute<T>;
  C p = factor.to<C>();
  unary<T>(context, "pow", x, out, DEVICE(C a) { return power(a, p); });
}
template <class T, class X>
void PowGrad(const X& context, const Tensor& x, const Tensor& dout, const phi::Scalar& factor, Tensor* dx) {
  using C = Compute<T>;
  C p = factor.to<C>();
  unary_gradient<T>(context, "pow_grad", x, dout, dx, DEVICE(C a, C g) { return g * p * power(a, p - 1); });
}
REGISTER(pow, Pow, kNumbers + kHalves)
REGISTER(pow_grad, PowGrad, kFloats + kHalves)

// The sum of several tensors of one shape, up to four of them in one pass.
template <class T, class X> void AddN(const X& context, const std::vector<const phi::TensorBase*>& x, Tensor* out) {
  using C = Compute<T>;
  for (auto* base : x) REQUIRE(Tensor::classof(base), "add_n takes dense tensors only on %s", device_name());
  auto part = [&](size_t k) { return k < x.size() ? read<T>(*static_cast<const Tensor*>(x[k])) : nullptr; };
  auto r = write<T>(context, out);
  for (size_t k = 4; k < x.size(); ++k)
    REQUIRE(!r || part(k) != r, "add_n into its operand %d is not supported on %s", int(k), device_name());
  auto four = DEVICE(T& y, T a, T b, T c, T d) { y = T((C(a) + C(b)) + (C(c) + C(d))); };
  launch_elements(context, "add_n", out->numel(), four, r, part(0), part(1), part(2), part(3));
  for (size_t k = 4; k < x.size(); k += 3)
    launch_elements(context, "add_n", out->numel(), four, r, static_cast<const T*>(r), part(k), part(k + 1), part(k + 2));
}
REGISTER(add_n, AddN, kNumbers + kHalves)

}  // namespace tablerec
