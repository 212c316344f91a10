// Operators that compute each element by itself, and their gradients.
#include "elements.h"
#include "float8.h"
#include "reduce.h"
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

// A card has no trap for an integer divided by zero: the answer is 0 in both builds.
template <class C> HOST_DEVICE C quotient(C a, C b) {
  if (std::is_integral<C>::value && b == C(0)) return C(0);
  return a / b;
}

// The quotient rounded down and its remainder, which has the sign of the divisor.
template <class C> HOST_DEVICE C floor_quotient(C a, C b) {
  if constexpr (std::is_integral<C>::value) {
    if (b == 0) return 0;
    C q = a / b;
    return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
  } else {
    return floor(a / b);
  }
}
template <class C> HOST_DEVICE C floor_remainder(C a, C b) {
  if constexpr (std::is_integral<C>::value) {
    if (b == 0) return 0;
    C m = a % b;
    return (m != 0 && ((m < 0) != (b < 0))) ? m + b : m;
  } else {
    C m = fmod(a, b);
    return (m != 0 && ((m < 0) != (b < 0))) ? m + b : m;
  }
}
template <class C> HOST_DEVICE C power(C a, C b) {
  if constexpr (std::is_integral<C>::value) return C(llrint(pow(double(a), double(b))));
  else return pow(a, b);
}

#define BINARY(name, Name, types, expression)                                          \
  struct Name##Function {                                                              \
    template <class C> HOST_DEVICE C operator()(C a, C b) const { return expression; } \
  };                                                                                   \
  template <class T, class X> void Name(const X& context, const Tensor& x, const Tensor& y, Tensor* out) { \
    binary<T, T>(context, #name, x, y, out, Name##Function());                         \
  }                                                                                    \
  REGISTER(name, Name, types)

BINARY(add, Add, kNumbers + kHalves, a + b)
BINARY(subtract, Subtract, kNumbers + kHalves, a - b)
BINARY(multiply, Multiply, kNumbers + kHalves, a * b)
BINARY(divide, Divide, kNumbers + kHalves, quotient(a, b))
BINARY(maximum, Maximum, kNumbers + kHalves, a > b || a != a ? a : b)
BINARY(minimum, Minimum, kNumbers + kHalves, a < b || a != a ? a : b)
BINARY(elementwise_pow, ElementwisePow, kNumbers + kHalves, power(a, b))
BINARY(floor_divide, FloorDivide, kNumbers + kHalves, floor_quotient(a, b))
BINARY(remainder, Remainder, kNumbers + kHalves, floor_remainder(a, b))
BINARY(bitwise_and, BitwiseAnd, kIntegers + kBool, C(a & b))
BINARY(bitwise_or, BitwiseOr, kIntegers + kBool, C(a | b))
BINARY(bitwise_xor, BitwiseXor, kIntegers + kBool, C(a ^ b))

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

// Some gradients do not need an operand, and Paddle does not keep it.
template <class T> const T* read_kept(const Tensor& x) { return x.initialized() ? read<T>(x) : nullptr; }

// Gradient of one operand: f(dout, x, y) at each place, summed over the places where it was repeated.
template <class T, class F>
void operand_gradient(const Context& context, const char* name, const Tensor& x, const Tensor& y, const Tensor& dout,
                      Tensor* dx, F f) {
  if (!dx) return;
  using C = Compute<T>;
  auto a = read_kept<T>(x), b = read_kept<T>(y), g = read<T>(dout);
  auto dims = dout.dims();
  auto at = walk(dims, contiguous_strides(dims), broadcast_strides(x.dims(), dims), broadcast_strides(y.dims(), dims));
  auto body = DEVICE(T w, T u, T v) { return T(f(C(w), C(u), C(v))); };
  if (dx->dims() == dims) {
    launch_walk(context, name, at, body, write<T>(context, dx), g, a, b);
  } else {
    Temporary<T> whole(context, dims);
    launch_walk(context, name, at, body, whole.data, g, a, b);
    sum_to_shape<T>(context, name, whole.data, dims, dx);
  }
}

// Gradients of both operands. dx comes last: Paddle may give it the memory of dout.
template <class T, class FX, class FY>
void operand_gradients(const Context& context, const char* name, const Tensor& x, const Tensor& y, const Tensor& dout,
                       Tensor* dx, Tensor* dy, FX fx, FY fy) {
  using C = Compute<T>;
  if (dx && dy && x.dims() == y.dims()) {
    auto a = read_kept<T>(x), b = read_kept<T>(y), g = read<T>(dout);
    auto ra = write<T>(context, dx), rb = write<T>(context, dy);
    launch_elements(context, name, dout.numel(), DEVICE(T& p, T& q, T w, T u, T v) {
      p = T(fx(C(w), C(u), C(v)));
      q = T(fy(C(w), C(u), C(v)));
    }, ra, rb, g, a, b);
    return;
  }
  operand_gradient<T>(context, name, x, y, dout, dy, fy);
  operand_gradient<T>(context, name, x, y, dout, dx, fx);
}

#define BINARY_GRADIENT_FUNCTIONS(Name, gx, gy)                                                       \
  struct Name##X {                                                                                    \
    template <class C> HOST_DEVICE C operator()(C g, C x, C y) const { return gx; }                   \
  };                                                                                                  \
  struct Name##Y {                                                                                    \
    template <class C> HOST_DEVICE C operator()(C g, C x, C y) const { return gy; }                   \
  };
// `gx` and `gy`: the gradients in terms of g (of the output), x and y. The first three operators were given an axis.
#define BINARY_GRADIENT_WITH_AXIS(name, Name, gx, gy)                                                 \
  BINARY_GRADIENT_FUNCTIONS(Name, gx, gy)                                                             \
  template <class T, class X>                                                                         \
  void Name(const X& context, const Tensor& x, const Tensor& y, const Tensor& dout, int, Tensor* dx, Tensor* dy) { \
    operand_gradients<T>(context, #name, x, y, dout, dx, dy, Name##X(), Name##Y());                   \
  }                                                                                                   \
  REGISTER(name, Name, kFloats + kHalves)
#define BINARY_GRADIENT(name, Name, gx, gy)                                                           \
  BINARY_GRADIENT_FUNCTIONS(Name, gx, gy)                                                             \
  template <class T, class X>                                                                         \
  void Name(const X& context, const Tensor& x, const Tensor& y, const Tensor& dout, Tensor* dx, Tensor* dy) { \
    operand_gradients<T>(context, #name, x, y, dout, dx, dy, Name##X(), Name##Y());                   \
  }                                                                                                   \
  REGISTER(name, Name, kFloats + kHalves)

BINARY_GRADIENT_WITH_AXIS(subtract_grad, SubtractGrad, g, -g)
BINARY_GRADIENT_WITH_AXIS(multiply_grad, MultiplyGrad, g * y, g * x)
// Equals share the gradient.
BINARY_GRADIENT(maximum_grad, MaximumGrad, x > y ? g : (x == y ? g / 2 : C(0)), y > x ? g : (x == y ? g / 2 : C(0)))
BINARY_GRADIENT(minimum_grad, MinimumGrad, x < y ? g : (x == y ? g / 2 : C(0)), y < x ? g : (x == y ? g / 2 : C(0)))
BINARY_GRADIENT(elementwise_pow_grad, ElementwisePowGrad, g * y * pow(x, y - 1), g * log(x) * pow(x, y))

BINARY_GRADIENT_FUNCTIONS(DivideGrad, g / y, -g * x / (y * y))
template <class T, class X>
void DivideGrad(const X& context, const Tensor& x, const Tensor& y, const Tensor&, const Tensor& dout, int, Tensor* dx,
                Tensor* dy) {
  operand_gradients<T>(context, "divide_grad", x, y, dout, dx, dy, DivideGradX(), DivideGradY());
}
REGISTER(divide_grad, DivideGrad, kFloats + kHalves)

// A sum passes the gradient on: a copy, and none where Paddle gave dx the memory of dout.
template <class T, class X>
void AddGrad(const X& context, const Tensor&, const Tensor&, const Tensor& dout, int, Tensor* dx, Tensor* dy) {
  auto g = read<T>(dout);
  for (auto* to : {dy, dx}) {
    if (!to) continue;
    if (to->dims() != dout.dims()) sum_to_shape<T>(context, "add_grad", g, dout.dims(), to);
    else copy_elements(context, "add_grad", dout.numel(), bits(g), bits(write<T>(context, to)));
  }
}
REGISTER(add_grad, AddGrad, kFloats + kHalves)

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

template <class C> HOST_DEVICE C sigmoid_of(C a) { return 1 / (1 + exp(-a)); }
template <class C> HOST_DEVICE C softplus_of(C a) { return (a > 0 ? a : C(0)) + log1p(exp(a > 0 ? -a : a)); }
template <class C> HOST_DEVICE C between(C a, C low, C high) { return a < low ? low : (a > high ? high : a); }

UNARY(relu, Relu, kFloats + kHalves, a > 0 ? a : (a != a ? a : C(0)))
UNARY(sigmoid, Sigmoid, kFloats + kHalves, sigmoid_of(a))
UNARY(logsigmoid, LogSigmoid, kFloats + kHalves, -softplus_of(-a))
UNARY(silu, Silu, kFloats + kHalves, a * sigmoid_of(a))
UNARY(swish, Swish, kFloats + kHalves, a * sigmoid_of(a))
UNARY(relu6, Relu6, kFloats + kHalves, between(a, C(0), C(6)))
UNARY(hardswish, HardSwish, kFloats + kHalves, a * between(a + 3, C(0), C(6)) / 6)
UNARY(tanh, Tanh, kFloats + kHalves, tanh(a))
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

template <class T, class X> void BitwiseNot(const X& context, const Tensor& x, Tensor* out) {
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch_elements(context, "bitwise_not", x.numel(), DEVICE(T& y, T u) {
    y = std::is_same<T, bool>::value ? T(!u) : T(~u);
  }, r, a);
}
REGISTER(bitwise_not, BitwiseNot, kIntegers + kBool)

// `a` is what the operator keeps for its gradient: its output or its input, as Paddle's table says.
#define UNARY_GRADIENT(name, Name, expression)                                                                \
  struct Name##Function {                                                                                     \
    template <class C> HOST_DEVICE C operator()(C a, C g) const { return expression; }                        \
  };                                                                                                          \
  template <class T, class X> void Name(const X& context, const Tensor& kept, const Tensor& dout, Tensor* dx) { \
    unary_gradient<T>(context, #name, kept, dout, dx, Name##Function());                                      \
  }                                                                                                           \
  REGISTER(name, Name, kFloats + kHalves)

UNARY_GRADIENT(relu_grad, ReluGrad, a > 0 ? g : C(0))
UNARY_GRADIENT(relu6_grad, Relu6Grad, a > 0 && a < 6 ? g : C(0))
UNARY_GRADIENT(sigmoid_grad, SigmoidGrad, g * a * (1 - a))
UNARY_GRADIENT(logsigmoid_grad, LogSigmoidGrad, g * sigmoid_of(-a))
UNARY_GRADIENT(swish_grad, SwishGrad, g * sigmoid_of(a) * (1 + a * sigmoid_of(-a)))
UNARY_GRADIENT(hardswish_grad, HardSwishGrad, g * (a <= -3 ? C(0) : (a < 3 ? a / 3 + C(0.5) : C(1))))
UNARY_GRADIENT(tanh_grad, TanhGrad, g * (1 - a * a))
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

template <class From, class To> void cast_to(const Context& context, const Tensor& x, Tensor* out) {
  auto a = read<From>(x);
  auto r = write<To>(context, out);
  launch_elements(context, "cast", x.numel(), DEVICE(To& y, From u) { y = static_cast<To>(Compute<From>(u)); }, r, a);
}
template <class T, class X> void Cast(const X& context, const Tensor& x, phi::DataType type, Tensor* out) {
  switch (type) {
    case phi::DataType::FLOAT32: return cast_to<T, float>(context, x, out);
    case phi::DataType::FLOAT64: return cast_to<T, double>(context, x, out);
    case phi::DataType::INT32: return cast_to<T, int>(context, x, out);
    case phi::DataType::INT64: return cast_to<T, int64_t>(context, x, out);
    case phi::DataType::BOOL: return cast_to<T, bool>(context, x, out);
    case phi::DataType::UINT8: return cast_to<T, uint8_t>(context, x, out);
    case phi::DataType::INT8: return cast_to<T, int8_t>(context, x, out);
    case phi::DataType::INT16: return cast_to<T, int16_t>(context, x, out);
    case phi::DataType::FLOAT16: return cast_to<T, phi::dtype::float16>(context, x, out);
    case phi::DataType::BFLOAT16: return cast_to<T, phi::dtype::bfloat16>(context, x, out);
    case phi::DataType::FLOAT8_E4M3FN: return cast_to<T, phi::dtype::float8_e4m3fn>(context, x, out);
    case phi::DataType::FLOAT8_E5M2: return cast_to<T, phi::dtype::float8_e5m2>(context, x, out);
    default: REQUIRE(false, "cast to %s is not supported on %s", phi::DataTypeToString(type), device_name());
  }
}
REGISTER_AMENDED(cast, Cast, kMoved, gives_another_type)

template <class B>
void choose(const Context& context, const Tensor& condition, const Tensor& x, const Tensor& y, Tensor* out, const B* a,
            const B* b, B* r) {
  auto to = out->dims();
  auto at = walk(to, broadcast_strides(condition.dims(), to), broadcast_strides(x.dims(), to),
                 broadcast_strides(y.dims(), to));
  launch_walk(context, "where", at, DEVICE(bool c, B u, B v) { return c ? u : v; }, r, read<bool>(condition), a, b);
}
template <class T, class X>
void Where(const X& context, const Tensor& condition, const Tensor& x, const Tensor& y, Tensor* out) {
  auto r = write<T>(context, out);
  choose(context, condition, x, y, out, bits(read<T>(x)), bits(read<T>(y)), bits(r));
}
template <class T, class X>
void WhereGrad(const X& context, const Tensor& condition, const Tensor& x, const Tensor& y, const Tensor& dout,
               Tensor* dx, Tensor* dy) {
  using C = Compute<T>;
  auto c = read<bool>(condition);
  auto g = read<T>(dout);
  auto dims = dout.dims();
  auto at = walk(dims, broadcast_strides(condition.dims(), dims), contiguous_strides(dims));
  for (bool chosen : {false, true}) {
    Tensor* to = chosen ? dx : dy;
    if (!to) continue;
    auto body = DEVICE(bool u, T w) { return u == chosen ? w : T(0); };
    if (to->dims() == dims) {
      launch_walk(context, "where_grad", at, body, write<T>(context, to), c, g);
    } else {
      Temporary<T> whole(context, dims);
      launch_walk(context, "where_grad", at, body, whole.data, c, g);
      sum_to_shape<T>(context, "where_grad", whole.data, dims, to);
    }
  }
}
REGISTER(where, Where, kAll + kHalves)
REGISTER(where_grad, WhereGrad, kFloats + kHalves)

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
