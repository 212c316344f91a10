// Operators of two operands that compute each element by itself.
#include "elementwise.h"

namespace tablerec {

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

}  // namespace tablerec
