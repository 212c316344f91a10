// The largest and the smallest along axes, and their gradients.
#include "reduce.h"
#include "register.h"

namespace tablerec {

// The largest or the smallest; what is not a number wins.
template <class T> struct ExtremeRule {
  using C = Compute<T>;
  const T* x;
  bool largest;
  HOST_DEVICE C start() const { return largest ? lowest<C>() : highest<C>(); }
  HOST_DEVICE C enter(int64_t i) const { return C(x[i]); }
  HOST_DEVICE C combine(C a, C b) const { return (largest ? a > b : a < b) || a != a ? a : b; }
  HOST_DEVICE C operator()(C a, C b) const { return combine(a, b); }
  HOST_DEVICE T leave(C a, int64_t) const { return T(a); }
};

template <class T, class X> void Max(const X& context, const Tensor& x, const phi::IntArray& axes, bool, Tensor* out) {
  reduce<T>(context, "max", reduction(x.dims(), axes.GetData()), ExtremeRule<T>{read<T>(x), true}, write<T>(context, out));
}
template <class T, class X> void Min(const X& context, const Tensor& x, const phi::IntArray& axes, bool, Tensor* out) {
  reduce<T>(context, "min", reduction(x.dims(), axes.GetData()), ExtremeRule<T>{read<T>(x), false}, write<T>(context, out));
}
template <class T, class X> void AMax(const X& context, const Tensor& x, const std::vector<int64_t>& axes, bool, Tensor* out) {
  reduce<T>(context, "amax", reduction(x.dims(), axes), ExtremeRule<T>{read<T>(x), true}, write<T>(context, out));
}
template <class T, class X> void AMin(const X& context, const Tensor& x, const std::vector<int64_t>& axes, bool, Tensor* out) {
  reduce<T>(context, "amin", reduction(x.dims(), axes), ExtremeRule<T>{read<T>(x), false}, write<T>(context, out));
}
REGISTER(max, Max, kNumbers + kHalves)
REGISTER(min, Min, kNumbers + kHalves)
REGISTER(amax, AMax, kFloats + kHalves)
REGISTER(amin, AMin, kFloats + kHalves)

// An extreme, and how often it occurs.
template <class C> struct Counted {
  C value;
  int64_t count;
};
template <class T> struct CountExtremesRule {
  using C = Compute<T>;
  using A = Counted<C>;
  const T* x;
  C sign;  // -1: the smallest
  HOST_DEVICE A start() const { return {lowest<C>(), 0}; }
  HOST_DEVICE A enter(int64_t i) const { return {sign * C(x[i]), 1}; }
  HOST_DEVICE A combine(A a, A b) const {
    if (a.value == b.value) return {a.value, a.count + b.count};
    return a.value > b.value || a.value != a.value ? a : b;
  }
  HOST_DEVICE A operator()(A a, A b) const { return combine(a, b); }
  HOST_DEVICE int64_t leave(A a, int64_t) const { return a.count; }
};
// The gradient is shared evenly by all that are equal to the extreme.
template <class T>
void spread_to_extremes(const Context& context, const char* name, const Tensor& x, const Tensor& out, const Tensor& dout,
                        const std::vector<int64_t>& axes, bool all, bool largest, Tensor* dx) {
  using C = Compute<T>;
  Temporary<int64_t> counts(context, out.numel());
  auto n = counts.data;
  auto a = read<T>(x), y = read<T>(out), g = read<T>(dout);
  reduce<int64_t>(context, name, reduction(x.dims(), axes, all), CountExtremesRule<T>{a, C(largest ? 1 : -1)}, n);
  auto at = walk(x.dims(), output_strides(x.dims(), axes, all));
  auto r = write<T>(context, dx);
  launch(context, name, x.numel(), DEVICE(int64_t i) {
    int64_t o = at(i).at[0];
    r[i] = C(a[i]) == C(y[o]) ? T(C(g[o]) / C(n[o])) : T(0);
  });
}
#define EXTREME_GRAD(Name, name, largest, Axes, given)                                                               \
  template <class T, class X>                                                                                        \
  void Name(const X& context, const Tensor& x, const Tensor& out, const Tensor& dout, const Axes& axes, bool, bool all, \
            Tensor* dx) {                                                                                            \
    spread_to_extremes<T>(context, #name, x, out, dout, given, all, largest, dx);                                    \
  }                                                                                                                  \
  REGISTER(name, Name, kFloats + kHalves)
EXTREME_GRAD(MaxGrad, max_grad, true, phi::IntArray, axes.GetData())
EXTREME_GRAD(MinGrad, min_grad, false, phi::IntArray, axes.GetData())
EXTREME_GRAD(AMaxGrad, amax_grad, true, std::vector<int64_t>, axes)
EXTREME_GRAD(AMinGrad, amin_grad, false, std::vector<int64_t>, axes)

}  // namespace tablerec
