// Operators that compute each element by itself, and their gradients.
#include "reduce.h"
#include "register.h"
#include "shapes.h"

namespace tablerec {

// ---- two operands, broadcast

template <class T, class R, class F>
void binary(const Context& context, const char* name, const Tensor& x, const Tensor& y, Tensor* out, F f) {
  using C = Compute<T>;
  auto a = read<T>(x), b = read<T>(y);
  auto r = write<R>(context, out);
  if (x.dims() == y.dims()) {
    launch(context, name, out->numel(), DEVICE(int64_t i) { r[i] = R(f(C(a[i]), C(b[i]))); });
    return;
  }
  auto at = walk(out->dims(), broadcast_strides(x.dims(), out->dims()), broadcast_strides(y.dims(), out->dims()));
  launch(context, name, out->numel(), DEVICE(int64_t i) {
    auto o = at(i);
    r[i] = R(f(C(a[o.at[0]]), C(b[o.at[1]])));
  });
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

BINARY(add, Add, kNumbers, a + b)
BINARY(subtract, Subtract, kNumbers, a - b)
BINARY(multiply, Multiply, kNumbers, a * b)
BINARY(divide, Divide, kNumbers, quotient(a, b))
BINARY(maximum, Maximum, kNumbers, a > b || a != a ? a : b)
BINARY(minimum, Minimum, kNumbers, a < b || a != a ? a : b)
BINARY(elementwise_pow, ElementwisePow, kNumbers, power(a, b))
BINARY(floor_divide, FloorDivide, kNumbers, floor_quotient(a, b))
BINARY(remainder, Remainder, kNumbers, floor_remainder(a, b))
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

COMPARE(equal, Equal, kAll, a == b)
COMPARE(not_equal, NotEqual, kAll, a != b)
COMPARE(less_than, LessThan, kAll, a < b)
COMPARE(less_equal, LessEqual, kAll, a <= b)
COMPARE(greater_than, GreaterThan, kAll, a > b)
COMPARE(greater_equal, GreaterEqual, kAll, a >= b)
COMPARE(logical_and, LogicalAnd, kAll, bool(a) && bool(b))
COMPARE(logical_or, LogicalOr, kAll, bool(a) || bool(b))

// Gradient of one operand: f(dout, x, y) at each place, summed over the places where it was repeated.
template <class T, class F>
void operand_gradient(const Context& context, const char* name, const Tensor& x, const Tensor& y, const Tensor& dout,
                      Tensor* dx, F f) {
  if (!dx) return;
  using C = Compute<T>;
  // Sums and differences keep no operands for their gradient.
  auto a = x.initialized() ? read<T>(x) : nullptr, b = y.initialized() ? read<T>(y) : nullptr;
  auto g = read<T>(dout);
  auto dims = dout.dims();
  auto at = walk(dims, broadcast_strides(x.dims(), dims), broadcast_strides(y.dims(), dims));
  auto fill = [&](T* r) {
    launch(context, name, dout.numel(), DEVICE(int64_t i) {
      auto o = at(i);
      r[i] = T(f(C(g[i]), a ? C(a[o.at[0]]) : C(0), b ? C(b[o.at[1]]) : C(0)));
    });
  };
  if (dx->dims() == dims) {
    fill(write<T>(context, dx));
  } else {
    Temporary<T> whole(context, dims);
    fill(whole.data);
    sum_to_shape<T>(context, name, whole.data, dims, dx);
  }
}

// `gx` and `gy`: the gradients in terms of g (of the output), x and y.
// dx comes last: Paddle may give it the memory of dout.
#define BINARY_GRADIENT(name, Name, gx, gy)                                                           \
  struct Name##X {                                                                                    \
    template <class C> HOST_DEVICE C operator()(C g, C x, C y) const { return gx; }                   \
  };                                                                                                  \
  struct Name##Y {                                                                                    \
    template <class C> HOST_DEVICE C operator()(C g, C x, C y) const { return gy; }                   \
  };                                                                                                  \
  template <class T>                                                                                  \
  void both_##name(const Context& context, const Tensor& x, const Tensor& y, const Tensor& dout, Tensor* dx, \
                   Tensor* dy) {                                                                      \
    operand_gradient<T>(context, #name, x, y, dout, dy, Name##Y());                                   \
    operand_gradient<T>(context, #name, x, y, dout, dx, Name##X());                                   \
  }

BINARY_GRADIENT(add_grad, AddGrad, g, g)
BINARY_GRADIENT(subtract_grad, SubtractGrad, g, -g)
BINARY_GRADIENT(multiply_grad, MultiplyGrad, g * y, g * x)
BINARY_GRADIENT(divide_grad, DivideGrad, g / y, -g * x / (y * y))
BINARY_GRADIENT(maximum_grad, MaximumGrad, x > y ? g : C(0), x > y ? C(0) : g)
BINARY_GRADIENT(minimum_grad, MinimumGrad, x < y ? g : C(0), x < y ? C(0) : g)

template <class T, class X>
void AddGrad(const X& context, const Tensor& x, const Tensor& y, const Tensor& dout, int, Tensor* dx, Tensor* dy) {
  both_add_grad<T>(context, x, y, dout, dx, dy);
}
template <class T, class X>
void SubtractGrad(const X& context, const Tensor& x, const Tensor& y, const Tensor& dout, int, Tensor* dx, Tensor* dy) {
  both_subtract_grad<T>(context, x, y, dout, dx, dy);
}
template <class T, class X>
void MultiplyGrad(const X& context, const Tensor& x, const Tensor& y, const Tensor& dout, int, Tensor* dx, Tensor* dy) {
  both_multiply_grad<T>(context, x, y, dout, dx, dy);
}
template <class T, class X>
void DivideGrad(const X& context, const Tensor& x, const Tensor& y, const Tensor&, const Tensor& dout, int, Tensor* dx,
                Tensor* dy) {
  both_divide_grad<T>(context, x, y, dout, dx, dy);
}
template <class T, class X>
void MaximumGrad(const X& context, const Tensor& x, const Tensor& y, const Tensor& dout, Tensor* dx, Tensor* dy) {
  both_maximum_grad<T>(context, x, y, dout, dx, dy);
}
template <class T, class X>
void MinimumGrad(const X& context, const Tensor& x, const Tensor& y, const Tensor& dout, Tensor* dx, Tensor* dy) {
  both_minimum_grad<T>(context, x, y, dout, dx, dy);
}
REGISTER(add_grad, AddGrad, kFloats)
REGISTER(subtract_grad, SubtractGrad, kFloats)
REGISTER(multiply_grad, MultiplyGrad, kFloats)
REGISTER(divide_grad, DivideGrad, kFloats)
REGISTER(maximum_grad, MaximumGrad, kFloats)
REGISTER(minimum_grad, MinimumGrad, kFloats)

// ---- one operand

template <class T, class F> void unary(const Context& context, const char* name, const Tensor& x, Tensor* out, F f) {
  using C = Compute<T>;
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch(context, name, x.numel(), DEVICE(int64_t i) { r[i] = T(f(C(a[i]))); });
}

#define UNARY(name, Name, types, expression)                                          \
  struct Name##Function {                                                             \
    template <class C> HOST_DEVICE C operator()(C a) const { return expression; }     \
  };                                                                                  \
  template <class T, class X> void Name(const X& context, const Tensor& x, Tensor* out) { \
    unary<T>(context, #name, x, out, Name##Function());                               \
  }                                                                                   \
  REGISTER(name, Name, types)

UNARY(relu, Relu, kFloats, a > 0 ? a : (a != a ? a : C(0)))
UNARY(sigmoid, Sigmoid, kFloats, 1 / (1 + exp(-a)))
UNARY(silu, Silu, kFloats, a / (1 + exp(-a)))
UNARY(tanh, Tanh, kFloats, tanh(a))
UNARY(exp, Exp, kFloats, exp(a))
UNARY(log, Log, kFloats, log(a))
UNARY(sqrt, Sqrt, kFloats, sqrt(a))
UNARY(rsqrt, Rsqrt, kFloats, 1 / sqrt(a))
UNARY(sin, Sin, kFloats, sin(a))
UNARY(cos, Cos, kFloats, cos(a))
UNARY(floor, Floor, kFloats, floor(a))
UNARY(ceil, Ceil, kFloats, ceil(a))
UNARY(abs, Abs, kNumbers, a < 0 ? -a : a)
UNARY(square, Square, kNumbers, a * a)

template <class T, class X> void LogicalNot(const X& context, const Tensor& x, Tensor* out) {
  auto a = read<T>(x);
  auto r = write<bool>(context, out);
  launch(context, "logical_not", x.numel(), DEVICE(int64_t i) { r[i] = !a[i]; });
}
REGISTER_AMENDED(logical_not, LogicalNot, kAll, gives_bool)

template <class T, class X> void BitwiseNot(const X& context, const Tensor& x, Tensor* out) {
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch(context, "bitwise_not", x.numel(), DEVICE(int64_t i) {
    r[i] = std::is_same<T, bool>::value ? T(!a[i]) : T(~a[i]);
  });
}
REGISTER(bitwise_not, BitwiseNot, kIntegers + kBool)

template <class T, class F>
void unary_gradient(const Context& context, const char* name, const Tensor& x, const Tensor& dout, Tensor* dx, F f) {
  using C = Compute<T>;
  auto a = read<T>(x), g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch(context, name, dout.numel(), DEVICE(int64_t i) { r[i] = T(f(C(a[i]), C(g[i]))); });
}

// `a` is what the operator keeps for its gradient: its output or its input, as Paddle's table says.
#define UNARY_GRADIENT(name, Name, expression)                                                                \
  struct Name##Function {                                                                                     \
    template <class C> HOST_DEVICE C operator()(C a, C g) const { return expression; }                        \
  };                                                                                                          \
  template <class T, class X> void Name(const X& context, const Tensor& kept, const Tensor& dout, Tensor* dx) { \
    unary_gradient<T>(context, #name, kept, dout, dx, Name##Function());                                      \
  }                                                                                                           \
  REGISTER(name, Name, kFloats)

UNARY_GRADIENT(relu_grad, ReluGrad, a > 0 ? g : C(0))
UNARY_GRADIENT(sigmoid_grad, SigmoidGrad, g * a * (1 - a))
UNARY_GRADIENT(tanh_grad, TanhGrad, g * (1 - a * a))
UNARY_GRADIENT(exp_grad, ExpGrad, g * a)
UNARY_GRADIENT(sqrt_grad, SqrtGrad, g / (2 * a))
UNARY_GRADIENT(rsqrt_grad, RsqrtGrad, g * C(-0.5) * a * a * a)
UNARY_GRADIENT(log_grad, LogGrad, g / a)
UNARY_GRADIENT(sin_grad, SinGrad, g * cos(a))
UNARY_GRADIENT(cos_grad, CosGrad, -g * sin(a))
UNARY_GRADIENT(abs_grad, AbsGrad, a > 0 ? g : (a < 0 ? -g : C(0)))
UNARY_GRADIENT(square_grad, SquareGrad, 2 * g * a)

struct SiluGradFunction {
  template <class C> HOST_DEVICE C operator()(C a, C g) const {
    C s = 1 / (1 + exp(-a));
    return g * s * (1 + a * (1 - s));
  }
};
template <class T, class X>
void SiluGrad(const X& context, const Tensor& x, const Tensor&, const Tensor& dout, Tensor* dx) {
  unary_gradient<T>(context, "silu_grad", x, dout, dx, SiluGradFunction());
}
REGISTER(silu_grad, SiluGrad, kFloats)

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
REGISTER(gelu, Gelu, kFloats)
REGISTER(gelu_grad, GeluGrad, kFloats)

// ---- with numbers as arguments

template <class T, class X>
void Scale(const X& context, const Tensor& x, const phi::Scalar& scale, const phi::Scalar& bias, bool bias_after,
           Tensor* out) {
  using C = Compute<T>;
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  C s = scale.to<C>(), b = bias.to<C>();
  launch(context, "scale", x.numel(), DEVICE(int64_t i) { r[i] = T(bias_after ? C(a[i]) * s + b : (C(a[i]) + b) * s); });
}
REGISTER(scale, Scale, kNumbers)

template <class T, class X> void DivScale(const X& context, const Tensor& x, const phi::Scalar& by, Tensor* out) {
  using C = Compute<T>;
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  C s = by.to<C>();
  launch(context, "div_scale", x.numel(), DEVICE(int64_t i) { r[i] = T(C(a[i]) / s); });
}
REGISTER(div_scale, DivScale, kFloats)

template <class T, class X>
void Clip(const X& context, const Tensor& x, const phi::Scalar& least, const phi::Scalar& most, Tensor* out) {
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  T low = least.to<T>(), high = most.to<T>();
  launch(context, "clip", x.numel(), DEVICE(int64_t i) { r[i] = a[i] < low ? low : (a[i] > high ? high : a[i]); });
}
template <class T, class X>
void ClipGrad(const X& context, const Tensor& x, const Tensor& dout, const phi::Scalar& least, const phi::Scalar& most,
              Tensor* dx) {
  auto a = read<T>(x), g = read<T>(dout);
  auto r = write<T>(context, dx);
  T low = least.to<T>(), high = most.to<T>();
  // Paddle's rule: nothing flows on the limits themselves.
  launch(context, "clip_grad", x.numel(), DEVICE(int64_t i) { r[i] = a[i] > low && a[i] < high ? g[i] : T(0); });
}
REGISTER(clip, Clip, kNumbers)
REGISTER(clip_grad, ClipGrad, kFloats)

template <class T, class X> void Pow(const X& context, const Tensor& x, const phi::Scalar& factor, Tensor* out) {
  using C = Compute<T>;
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  C p = factor.to<C>();
  launch(context, "pow", x.numel(), DEVICE(int64_t i) { r[i] = T(power(C(a[i]), p)); });
}
template <class T, class X>
void PowGrad(const X& context, const Tensor& x, const Tensor& dout, const phi::Scalar& factor, Tensor* dx) {
  using C = Compute<T>;
  auto a = read<T>(x), g = read<T>(dout);
  auto r = write<T>(context, dx);
  C p = factor.to<C>();
  launch(context, "pow_grad", x.numel(), DEVICE(int64_t i) { r[i] = T(C(g[i]) * p * power(C(a[i]), p - 1)); });
}
REGISTER(pow, Pow, kNumbers)
REGISTER(pow_grad, PowGrad, kFloats)

template <class From, class To> void cast_to(const Context& context, const Tensor& x, Tensor* out) {
  auto a = read<From>(x);
  auto r = write<To>(context, out);
  launch(context, "cast", x.numel(), DEVICE(int64_t i) { r[i] = static_cast<To>(Compute<From>(a[i])); });
}
template <class T, class X> void Cast(const X& context, const Tensor& x, phi::DataType type, Tensor* out) {
  switch (type) {
    case phi::DataType::FLOAT32: return cast_to<T, float>(context, x, out);
    case phi::DataType::FLOAT64: return cast_to<T, double>(context, x, out);
    case phi::DataType::INT32: return cast_to<T, int>(context, x, out);
    case phi::DataType::INT64: return cast_to<T, int64_t>(context, x, out);
    case phi::DataType::BOOL: return cast_to<T, bool>(context, x, out);
    case phi::DataType::UINT8: return cast_to<T, uint8_t>(context, x, out);
    case phi::DataType::FLOAT16: return cast_to<T, phi::dtype::float16>(context, x, out);
    case phi::DataType::BFLOAT16: return cast_to<T, phi::dtype::bfloat16>(context, x, out);
    default: REQUIRE(false, "cast to %s is not supported on %s", phi::DataTypeToString(type), device_name());
  }
}
REGISTER_AMENDED(cast, Cast, kAll + kHalves, gives_another_type)

template <class T, class X>
void Where(const X& context, const Tensor& condition, const Tensor& x, const Tensor& y, Tensor* out) {
  auto c = read<bool>(condition);
  auto a = read<T>(x), b = read<T>(y);
  auto r = write<T>(context, out);
  auto to = out->dims();
  auto at = walk(to, broadcast_strides(condition.dims(), to), broadcast_strides(x.dims(), to),
                 broadcast_strides(y.dims(), to));
  launch(context, "where", out->numel(), DEVICE(int64_t i) {
    auto o = at(i);
    r[i] = c[o.at[0]] ? a[o.at[1]] : b[o.at[2]];
  });
}
template <class T, class X>
void WhereGrad(const X& context, const Tensor& condition, const Tensor& x, const Tensor& y, const Tensor& dout,
               Tensor* dx, Tensor* dy) {
  REQUIRE((!dx || dx->dims() == dout.dims()) && (!dy || dy->dims() == dout.dims()) &&
              condition.dims() == dout.dims(),
          "where_grad with operands of different shapes is not supported on %s", device_name());
  auto c = read<bool>(condition);
  auto g = read<T>(dout);
  auto a = write<T>(context, dx), b = write<T>(context, dy);
  launch(context, "where_grad", dout.numel(), DEVICE(int64_t i) {
    if (a) a[i] = c[i] ? g[i] : T(0);
    if (b) b[i] = c[i] ? T(0) : g[i];
  });
}
REGISTER(where, Where, kAll)
REGISTER(where_grad, WhereGrad, kFloats)

// The sum of several tensors of one shape.
template <class T, class X> void AddN(const X& context, const std::vector<const phi::TensorBase*>& x, Tensor* out) {
  using C = Compute<T>;
  for (auto* base : x)
    REQUIRE(Tensor::classof(base), "add_n takes dense tensors only on %s", device_name());
  auto r = write<T>(context, out);
  for (size_t k = 0; k < x.size(); ++k) {
    auto a = read<T>(*static_cast<const Tensor*>(x[k]));
    if (!a || (k == 0 && a == r)) continue;
    REQUIRE(k == 0 || a != r, "add_n into any but its first operand is not supported on %s", device_name());
    if (k == 0) launch(context, "add_n", out->numel(), DEVICE(int64_t i) { r[i] = a[i]; });
    else launch(context, "add_n", out->numel(), DEVICE(int64_t i) { r[i] = T(C(r[i]) + C(a[i])); });
  }
}
REGISTER(add_n, AddN, kNumbers)

}  // namespace tablerec
