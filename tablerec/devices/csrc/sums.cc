// Sums and means, their gradients, and cumulated sums.
#include "reduce.h"
#include "register.h"
#include "scan.h"

namespace tablerec {

template <class T, class R> void sum_into(const Context& context, const Reduction& how, const T* from, R* out) {
  if constexpr (std::is_same<T, R>::value) sum_elements(context, "sum", how, from, out);
  else reduce<R>(context, "sum", how, SumRule<T, R>{from}, out);
}
template <class T, class X>
void SumKernel(const X& context, const Tensor& x, const phi::IntArray& axes, phi::DataType type, bool, Tensor* out) {
  auto how = reduction(x.dims(), axes.GetData());
  auto a = read<T>(x);
  // As on the CPU: int32 and bool are summed into int64.
  using R = std::conditional_t<std::is_same<T, bool>::value || std::is_same<T, int>::value, int64_t, T>;
  if (type == phi::DataType::UNDEFINED || type == phi::CppTypeToDataType<R>::Type()) {
    sum_into(context, how, a, write<R>(context, out));
    return;
  }
  Temporary<Sum<T>> sums(context, out->numel());
  sum_into(context, how, a, sums.data);
  if (type == phi::DataType::FLOAT32) convert<float>(context, "sum", sums.data, out);
  else if (type == phi::DataType::FLOAT64) convert<double>(context, "sum", sums.data, out);
  else if (type == phi::DataType::INT64) convert<int64_t>(context, "sum", sums.data, out);
  else if (type == phi::DataType::INT32) convert<int>(context, "sum", sums.data, out);
  else REQUIRE(false, "sum into type %s is not supported on %s", phi::DataTypeToString(type), device_name());
}
REGISTER_AMENDED(sum, SumKernel, kNumbers + kHalves + kBool, gives_another_type)

template <class T, class X>
void Mean(const X& context, const Tensor& x, const phi::IntArray& axes, bool, Tensor* out) {
  sum_elements(context, "mean", reduction(x.dims(), axes.GetData()), read<T>(x), write<T>(context, out), true);
}
template <class T, class X> void MeanAll(const X& context, const Tensor& x, Tensor* out) {
  sum_elements(context, "mean_all", reduction(x.dims(), {}), read<T>(x), write<T>(context, out), true);
}
REGISTER(mean, Mean, kFloats + kHalves)
REGISTER(mean_all, MeanAll, kFloats + kHalves)

// ---- gradients: the value of the output, at each place that went into it

template <class T>
void spread(const Context& context, const char* name, const Tensor& x, const Tensor& dout,
            const std::vector<int64_t>& axes, bool all, bool mean, Tensor* dx) {
  using C = Compute<T>;
  auto at = walk(x.dims(), output_strides(x.dims(), axes, all));
  auto g = read<T>(dout);
  auto r = write<T>(context, dx);
  int64_t length = reduction(x.dims(), axes, all).length;
  C weight = mean && length ? C(1) / C(length) : C(1);
  launch(context, name, x.numel(), DEVICE(int64_t i) { r[i] = T(C(g[at(i).at[0]]) * weight); });
}

template <class T, class X>
void SumGrad(const X& context, const Tensor& x, const Tensor& dout, const phi::IntArray& axes, bool, bool all, Tensor* dx) {
  spread<T>(context, "sum_grad", x, dout, axes.GetData(), all, false, dx);
}
template <class T, class X>
void MeanGrad(const X& context, const Tensor& x, const Tensor& dout, const phi::IntArray& axes, bool, bool all, Tensor* dx) {
  spread<T>(context, "mean_grad", x, dout, axes.GetData(), all, true, dx);
}
template <class T, class X> void MeanAllGrad(const X& context, const Tensor& x, const Tensor& dout, Tensor* dx) {
  spread<T>(context, "mean_all_grad", x, dout, {}, true, true, dx);
}
REGISTER(sum_grad, SumGrad, kFloats + kHalves)
REGISTER(mean_grad, MeanGrad, kFloats + kHalves)
REGISTER(mean_all_grad, MeanAllGrad, kFloats + kHalves)

// ---- cumulated sums

template <class T> struct Elements {
  const T* x;
  HOST_DEVICE Sum<T> operator()(int64_t i) const { return Sum<T>(Compute<T>(x[i])); }
};
template <class T> struct KeepSums {
  T* out;
  bool exclusive;
  HOST_DEVICE void operator()(int64_t i, Sum<T> before, Sum<T> value) const { out[i] = T(exclusive ? before : before + value); }
};
template <class T>
void cumulate(const Context& context, const char* name, const Tensor& x, const phi::Scalar& axis, bool flatten, bool exclusive,
              bool reverse, Tensor* out) {
  auto s = flatten ? Split(phi::make_ddim({x.numel()}), 0) : Split(x.dims(), axis.to<int64_t>());
  auto r = write<T>(context, out);
  if (x.numel()) scan<Sum<T>>(context, name, s, reverse, Elements<T>{read<T>(x)}, KeepSums<T>{r, exclusive});
}
template <class T, class X>
void CumSum(const X& context, const Tensor& x, const phi::Scalar& axis, bool flatten, bool exclusive, bool reverse,
            Tensor* out) {
  cumulate<T>(context, "cumsum", x, axis, flatten, exclusive, reverse, out);
}
template <class T, class X>
void CumSumGrad(const X& context, const Tensor& x, const Tensor& dout, const phi::Scalar& axis, bool flatten, bool exclusive,
                bool reverse, Tensor* dx) {
  dx->Resize(x.dims());
  cumulate<T>(context, "cumsum_grad", dout, axis, flatten, exclusive, !reverse, dx);
}
REGISTER(cumsum, CumSum, kNumbers + kHalves)
REGISTER(cumsum_grad, CumSumGrad, kFloats + kHalves)

}  // namespace tablerec
