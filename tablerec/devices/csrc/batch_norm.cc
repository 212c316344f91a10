// Batch norm, NCHW or NC.
#include "planes.h"

namespace tablerec {

template <class C> struct BatchStatistics {
  const C *mean, *variance;
  C *new_mean, *new_variance, *batch_mean, *batch_inverse;
  double momentum, epsilon;
  HOST_DEVICE void operator()(int64_t k, double center, double spread) const {
    batch_mean[k] = C(center);
    batch_inverse[k] = C(1 / sqrt(spread + epsilon));
    new_mean[k] = C(mean[k] * momentum + center * (1 - momentum));
    new_variance[k] = C(variance[k] * momentum + spread * (1 - momentum));  // the CPU's: not n / (n - 1) times it
  }
};

template <class T, class X>
void BatchNorm(const X& context, const Tensor& x, const Tensor& mean, const Tensor& variance, const OptionalTensor& scale,
               const OptionalTensor& bias, bool is_test, float momentum, float epsilon, const std::string& layout,
               bool use_global_stats, bool trainable_statistics, Tensor* y, Tensor* mean_out, Tensor* variance_out,
               Tensor* saved_mean, Tensor* saved_inverse, Tensor*) {
  using C = Compute<T>;
  require_channels_first("batch_norm", layout);
  Planes shape(x.dims());
  bool given = (is_test && !trainable_statistics) || use_global_stats;
  auto a = read<T>(x);
  auto m = read<C>(mean), v = read<C>(variance);
  auto r = write<T>(context, y);
  auto new_mean = write<C>(context, mean_out), new_variance = write<C>(context, variance_out);
  auto batch_mean = write<C>(context, saved_mean), batch_inverse = write<C>(context, saved_inverse);
  if (!a) return;
  if (given) {
    if (new_mean != m || new_variance != v)
      launch(context, "batch_norm_given", shape.channels, DEVICE(int64_t k) {
        new_mean[k] = m[k];
        new_variance[k] = v[k];
      });
    normalize<T>(context, "batch_norm", shape, a, {m, v, true, C(epsilon)}, scale, bias, r);
    return;
  }
  Temporary<C> own(context, 2 * shape.channels);  // where nothing is saved
  if (!batch_mean) batch_mean = own.data;
  if (!batch_inverse) batch_inverse = own.data + shape.channels;
  moments<T>(context, "batch_norm_moments", a, shape,
             BatchStatistics<C>{m, v, new_mean, new_variance, batch_mean, batch_inverse, momentum, epsilon});
  normalize<T>(context, "batch_norm", shape, a, {batch_mean, batch_inverse, false, C(0)}, scale, bias, r);
}
REGISTER_AMENDED(batch_norm, BatchNorm, kFloats + kHalves, (gives_types_of_its_own<1, 4>))

// Gradients of scale and bias, and the means for the input's. `share` is one over the count, or zero where the
// statistics were given and so do not depend on x.
template <class T> struct BatchGradients {
  using C = Compute<T>;
  ParameterGradient<T> dscale, dbias;
  Parameters<T> scale;
  Means<C> means;
  double share;
  HOST_DEVICE void operator()(int64_t k, TwoSums sums) const {
    dbias.put(k, sums.first);
    dscale.put(k, sums.second);
    double factor = scale(k, C(1)) * share;
    means.plain[k] = C(sums.first * factor);
    means.product[k] = C(sums.second * factor);
  }
};

template <class T, class X>
void BatchNormGrad(const X& context, const Tensor& x, const OptionalTensor& scale, const OptionalTensor& bias,
                   const OptionalTensor& mean, const OptionalTensor& variance, const Tensor& saved_mean,
                   const Tensor& saved_inverse, const OptionalTensor&, const Tensor& dout, float, float epsilon,
                   const std::string& layout, bool is_test, bool use_global_stats, bool, Tensor* dx, Tensor* dscale,
                   Tensor* dbias) {
  using C = Compute<T>;
  require_channels_first("batch_norm_grad", layout);
  Planes shape(x.dims());
  bool given = is_test || use_global_stats;
  auto a = read<T>(x), g = read<T>(dout);
  Statistics<C> statistics = given ? Statistics<C>{read<C>(mean), read<C>(variance), true, C(epsilon)}
                                   : Statistics<C>{read<C>(saved_mean), read<C>(saved_inverse), false, C(0)};
  ParameterGradient<T> ds(context, dscale, scale), db(context, dbias, bias);
  Temporary<C> memory(context, 2 * shape.channels);
  Means<C> means{memory.data, memory.data + shape.channels};
  double share = given ? 0 : 1.0 / std::max<int64_t>(shape.count(), 1);
  if (a || ds.wanted() || db.wanted())
    gradient_sums<T>(context, "batch_norm_grad_sums", shape, a, g, statistics, BatchGradients<T>{ds, db, scale, means, share});
  auto r = write<T>(context, dx);
  if (r) input_gradient<T>(context, "batch_norm_grad", shape, a, g, statistics, scale, means, r);
}
REGISTER_AMENDED(batch_norm_grad, BatchNormGrad, kFloats + kHalves, (gives_types_of_its_own<1, 2>))

}  // namespace tablerec
