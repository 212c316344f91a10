// Where the largest and the smallest along an axis are.
#include "reduce.h"
#include "register.h"

namespace tablerec {

template <class C> struct Candidate {
  C value;
  int64_t index;  // -1: none yet
};
// Keeps the first of the largest, or of the smallest; what is not a number loses, as on the CPU.
template <class T> struct FindRule {
  using C = Compute<T>;
  using A = Candidate<C>;
  const T* x;
  bool largest;
  int64_t inner, length;
  HOST_DEVICE A start() const { return {C(0), -1}; }
  HOST_DEVICE A enter(int64_t i) const {
    C v = C(x[i]);
    return {v, v == v ? i / inner % length : -1};
  }
  HOST_DEVICE A combine(A a, A b) const {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    bool wins = largest ? a.value > b.value : a.value < b.value;
    return wins || (a.value == b.value && a.index < b.index) ? a : b;
  }
  HOST_DEVICE A operator()(A a, A b) const { return combine(a, b); }
  HOST_DEVICE int64_t leave(A a, int64_t) const { return a.index < 0 ? 0 : a.index; }
};

template <class T>
void find_extreme(const Context& context, const char* name, const Tensor& x, const phi::Scalar& axis, bool flatten,
                  phi::DataType type, bool largest, Tensor* out) {
  REQUIRE(x.numel() > 0, "%s of an empty tensor", name);
  auto dims = flatten || !x.dims().size() ? phi::make_ddim({x.numel()}) : x.dims();
  int64_t at = flatten || !x.dims().size() ? 0 : axis.to<int64_t>();
  Split s(dims, at);
  FindRule<T> rule{read<T>(x), largest, s.inner, s.length};
  auto how = reduction(dims, {at});
  if (type != phi::DataType::INT32) {
    reduce<int64_t>(context, name, how, rule, write<int64_t>(context, out));
    return;
  }
  Temporary<int64_t> found(context, s.rows());
  reduce<int64_t>(context, name, how, rule, found.data);
  convert<int>(context, name, found.data, out);
}
template <class T, class X>
void ArgMax(const X& context, const Tensor& x, const phi::Scalar& axis, bool, bool flatten, phi::DataType type, Tensor* out) {
  find_extreme<T>(context, "argmax", x, axis, flatten, type, true, out);
}
template <class T, class X>
void ArgMin(const X& context, const Tensor& x, const phi::Scalar& axis, bool, bool flatten, phi::DataType type, Tensor* out) {
  find_extreme<T>(context, "argmin", x, axis, flatten, type, false, out);
}
REGISTER_AMENDED(argmax, ArgMax, kNumbers + kHalves, gives_another_type)
REGISTER_AMENDED(argmin, ArgMin, kNumbers + kHalves, gives_another_type)

}  // namespace tablerec
