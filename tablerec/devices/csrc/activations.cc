// Activations and their gradients.
#include "elementwise.h"

namespace tablerec {

UNARY(relu, Relu, kFloats + kHalves, a > 0 ? a : (a != a ? a : C(0)))
UNARY(sigmoid, Sigmoid, kFloats + kHalves, sigmoid_of(a))
UNARY(logsigmoid, LogSigmoid, kFloats + kHalves, -softplus_of(-a))
UNARY(silu, Silu, kFloats + kHalves, a * sigmoid_of(a))
UNARY(swish, Swish, kFloats + kHalves, a * sigmoid_of(a))
UNARY(relu6, Relu6, kFloats + kHalves, between(a, C(0), C(6)))
UNARY(hardswish, HardSwish, kFloats + kHalves, a * between(a + 3, C(0), C(6)) / 6)
UNARY(tanh, Tanh, kFloats + kHalves, tanh(a))

UNARY_GRADIENT(relu_grad, ReluGrad, a > 0 ? g : C(0))
UNARY_GRADIENT(relu6_grad, Relu6Grad, a > 0 && a < 6 ? g : C(0))
UNARY_GRADIENT(sigmoid_grad, SigmoidGrad, g * a * (1 - a))
UNARY_GRADIENT(logsigmoid_grad, LogSigmoidGrad, g * sigmoid_of(-a))
UNARY_GRADIENT(swish_grad, SwishGrad, g * sigmoid_of(a) * (1 + a * sigmoid_of(-a)))
UNARY_GRADIENT(hardswish_grad, HardSwishGrad, g * (a <= -3 ? C(0) : (a < 3 ? a / 3 + C(0.5) : C(1))))
UNARY_GRADIENT(tanh_grad, TanhGrad, g * (1 - a * a))

template <class T, class X>
void SiluGrad(const X& context, const Tensor& x, const Tensor&, const Tensor& dout, Tensor* dx) {
  unary_gradient<T>(context, "silu_grad", x, dout, dx, SwishGradFunction());
}
REGISTER(silu_grad, SiluGrad, kFloats + kHalves)

// Activations with numbers: forward as f(a), gradient as f(kept, g).
struct LeakyReluFunction {
  double slope;
  template <class C> HOST_DEVICE C operator()(C a) const { return a > 0 ? a : a * C(slope); }
  template <class C> HOST_DEVICE C operator()(C a, C g) const { return a > 0 ? g : g * C(slope); }
};
struct EluFunction {
  double alpha;
  template <class C> HOST_DEVICE C operator()(C a) const { return a > 0 ? a : C(alpha) * expm1(a); }
  template <class C> HOST_DEVICE C operator()(C a, C g) const { return a > 0 ? g : g * C(alpha) * exp(a); }
};
struct SoftplusFunction {
  double beta, threshold;
  template <class C> HOST_DEVICE C operator()(C a) const {
    return a * C(beta) > C(threshold) ? a : log1p(exp(a * C(beta))) / C(beta);
  }
  template <class C> HOST_DEVICE C operator()(C a, C g) const {
    return a * C(beta) > C(threshold) ? g : g * sigmoid_of(a * C(beta));
  }
};
struct MishFunction {
  double threshold;
  template <class C> HOST_DEVICE C operator()(C a) const { return a * tanh(a > C(threshold) ? a : softplus_of(a)); }
  template <class C> HOST_DEVICE C operator()(C a, C g) const {
    C t = tanh(a > C(threshold) ? a : softplus_of(a));
    return g * (t + a * (1 - t * t) * (a > C(threshold) ? C(1) : sigmoid_of(a)));
  }
};
struct HardSigmoidFunction {  // its gradient keeps the output
  float slope, offset;
  template <class C> HOST_DEVICE C operator()(C a) const { return between(a * C(slope) + C(offset), C(0), C(1)); }
  template <class C> HOST_DEVICE C operator()(C a, C g) const { return a > 0 && a < 1 ? g * C(slope) : C(0); }
};
struct HardTanhFunction {
  float low, high;
  template <class C> HOST_DEVICE C operator()(C a) const { return between(a, C(low), C(high)); }
  template <class C> HOST_DEVICE C operator()(C a, C g) const { return a > C(low) && a < C(high) ? g : C(0); }
};
#define WITH_ONE_NUMBER(name, Name, Number)                                                                \
  template <class T, class X> void Name(const X& context, const Tensor& x, Number first, Tensor* out) {    \
    unary<T>(context, #name, x, out, Name##Function{first});                                               \
  }                                                                                                        \
  template <class T, class X>                                                                              \
  void Name##Grad(const X& context, const Tensor& kept, const Tensor& dout, Number first, Tensor* dx) {    \
    unary_gradient<T>(context, #name "_grad", kept, dout, dx, Name##Function{first});                      \
  }                                                                                                        \
  REGISTER(name, Name, kFloats + kHalves)                                                                  \
  REGISTER(name##_grad, Name##Grad, kFloats + kHalves)
#define WITH_TWO_NUMBERS(name, Name, Number)                                                               \
  template <class T, class X>                                                                              \
  void Name(const X& context, const Tensor& x, Number first, Number second, Tensor* out) {                 \
    unary<T>(context, #name, x, out, Name##Function{first, second});                                       \
  }                                                                                                        \
  template <class T, class X>                                                                              \
  void Name##Grad(const X& context, const Tensor& kept, const Tensor& dout, Number first, Number second, Tensor* dx) { \
    unary_gradient<T>(context, #name "_grad", kept, dout, dx, Name##Function{first, second});              \
  }                                                                                                        \
  REGISTER(name, Name, kFloats + kHalves)                                                                  \
  REGISTER(name##_grad, Name##Grad, kFloats + kHalves)

WITH_ONE_NUMBER(leaky_relu, LeakyRelu, double)
WITH_ONE_NUMBER(mish, Mish, float)
WITH_TWO_NUMBERS(softplus, Softplus, double)
WITH_TWO_NUMBERS(hardsigmoid, HardSigmoid, float)
WITH_TWO_NUMBERS(hardtanh, HardTanh, float)

template <class T, class X> void Elu(const X& context, const Tensor& x, float alpha, Tensor* out) {
  unary<T>(context, "elu", x, out, EluFunction{alpha});
}
template <class T, class X>
void EluGrad(const X& context, const Tensor& x, const Tensor&, const Tensor& dout, float alpha, Tensor* dx) {
  unary_gradient<T>(context, "elu_grad", x, dout, dx, EluFunction{alpha});
}
REGISTER(elu, Elu, kFloats + kHalves)
REGISTER(elu_grad, EluGrad, kFloats + kHalves)

// Gaussian error linear unit, exact (erf) or by the tanh approximation.
struct GeluFunction {
  bool approximate;
  template <class C> HOST_DEVICE C operator()(C a) const {
    const C root_two_over_pi = C(0.79788456080286535588);
    if (approximate) return C(0.5) * a * (1 + tanh(root_two_over_pi * (a + C(0.044715) * a * a * a)));
    return C(0.5) * a * (1 + erf(a * C(0.70710678118654752440)));
  }
  template <class C> HOST_DEVICE C operator()(C a, C g) const {
    const C root_two_over_pi = C(0.79788456080286535588);
    if (approximate) {
      C t = tanh(root_two_over_pi * (a + C(0.044715) * a * a * a));
      return g * C(0.5) * (1 + t + a * (1 - t * t) * root_two_over_pi * (1 + 3 * C(0.044715) * a * a));
    }
    C density = exp(C(-0.5) * a * a) * C(0.39894228040143267794);
    return g * (C(0.5) * (1 + erf(a * C(0.70710678118654752440))) + a * density);
  }
};
template <class T, class X> void Gelu(const X& context, const Tensor& x, bool approximate, Tensor* out) {
  unary<T>(context, "gelu", x, out, GeluFunction{approximate});
}
template <class T, class X>
void GeluGrad(const X& context, const Tensor& x, const Tensor& dout, bool approximate, Tensor* dx) {
  unary_gradient<T>(context, "gelu_grad", x, dout, dx, GeluFunction{approximate});
}
REGISTER(gelu, Gelu, kFloats + kHalves)
REGISTER(gelu_grad, GeluGrad, kFloats + kHalves)

}  // namespace tablerec
