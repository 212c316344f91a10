// Products, sums of squares, and truths along axes.
#include "elements.h"
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

template <class B> struct TruthRule {
  const B* x;
  B not_zero;
  bool all;
  HOST_DEVICE int start() const { return all; }
  HOST_DEVICE int enter(int64_t i) const { return (x[i] & not_zero) != 0; }
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
  reduce<bool>(context, "all", reduction(x.dims(), axes), TruthRule<Bits<T>>{bits(read<T>(x)), bits_not_zero<T>(), true},
               write<bool>(context, out));
}
template <class T, class X>
void Any(const X& context, const Tensor& x, const std::vector<int64_t>& axes, bool, Tensor* out) {
  reduce<bool>(context, "any", reduction(x.dims(), axes), TruthRule<Bits<T>>{bits(read<T>(x)), bits_not_zero<T>(), false},
               write<bool>(context, out));
}
template <class T, class X> void SquaredL2Norm(const X& context, const Tensor& x, Tensor* out) {
  reduce<T>(context, "squared_l2_norm", reduction(x.dims(), {}), SquaresRule<T>{read<T>(x)}, write<T>(context, out));
}
REGISTER(prod, Product, kNumbers + kHalves)
REGISTER_AMENDED(all, All, kNumbers + kBool, gives_bool)
REGISTER_AMENDED(any, Any, kNumbers + kBool, gives_bool)
REGISTER(squared_l2_norm, SquaredL2Norm, kFloats + kHalves)

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
void SquaredL2NormGrad(const X& context, const Tensor& x, const Tensor& dout, Tensor* dx) {
  using C = Compute<T>;
  auto a = read<T>(x), g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch(context, "squared_l2_norm_grad", x.numel(), DEVICE(int64_t i) { r[i] = T(2 * C(g[0]) * C(a[i])); });
}
REGISTER(prod_grad, ProductGrad, kFloats + kHalves)
REGISTER(squared_l2_norm_grad, SquaredL2NormGrad, kFloats + kHalves)

}  // namespace tablerec
