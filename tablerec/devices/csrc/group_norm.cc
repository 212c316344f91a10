// Group norm and instance norm, NCHW: a statistic for each group of an image.
#include "planes.h"

namespace tablerec {

template <class C> struct KeepVariance {
  C *mean, *variance;
  HOST_DEVICE void operator()(int64_t k, double center, double spread) const {
    mean[k] = C(center);
    variance[k] = C(spread);
  }
};

template <class T>
void normalize_groups(const Context& context, const char* name, const Tensor& x, const OptionalTensor& scale,
                      const OptionalTensor& bias, double epsilon, int64_t groups, Tensor* y, Tensor* mean, Tensor* variance) {
  using C = Compute<T>;
  Planes shape(x.dims());
  auto a = read<T>(x);
  auto r = write<T>(context, y);
  Temporary<C> own(context, 2 * shape.images * groups);  // where nothing is saved
  auto m = mean ? write<C>(context, mean) : own.data, v = variance ? write<C>(context, variance) : own.data + shape.images * groups;
  if (!a) return;
  shape.per_statistic = shape.channels / groups;
  Planes whole(1, shape.images * groups, shape.per_statistic * shape.pixels);  // a group lies as one plane
  moments<T>(context, name, a, whole, KeepVariance<C>{m, v});
  normalize<T>(context, name, shape, a, {m, v, true, C(epsilon)}, scale, bias, r);
}

struct KeepSums {
  TwoSums* sums;
  HOST_DEVICE void operator()(int64_t k, TwoSums of_plane) const { sums[k] = of_plane; }
};

template <class T>
void group_gradients(const Context& context, const char* name, const Tensor& x, const OptionalTensor& scale,
                     const OptionalTensor& bias, const Tensor& mean, const Tensor& variance, const Tensor& dout, double epsilon,
                     int64_t groups, Tensor* dx, Tensor* dscale, Tensor* dbias) {
  using C = Compute<T>;
  Planes shape(x.dims());
  int64_t images = shape.images, channels = shape.channels, planes = images * channels, each = channels / groups;
  int64_t statistics = images * groups;
  shape.per_statistic = each;
  auto a = read<T>(x), g = read<T>(dout);
  Statistics<C> given{read<C>(mean), read<C>(variance), true, C(epsilon)};
  Temporary<uint8_t> memory(context, planes * int64_t(sizeof(TwoSums)));
  auto sums = reinterpret_cast<TwoSums*>(memory.data);
  Planes by_plane(1, planes, shape.pixels);
  by_plane.per_statistic = each;
  gradient_sums<T>(context, name, by_plane, a, g, given, KeepSums{sums});
  ParameterGradient<T> ds(context, dscale, scale), db(context, dbias, bias);
  if (ds.wanted() || db.wanted())
    launch(context, name, channels, DEVICE(int64_t k) {
      TwoSums total = {0, 0};
      for (int64_t image = 0; image < images; ++image) total = TwoSums()(total, sums[image * channels + k]);
      ds.put(k, total.second);
      db.put(k, total.first);
    });
  auto r = write<T>(context, dx);
  if (!r) return;
  Temporary<C> memory_of_means(context, 2 * statistics);
  Means<C> means{memory_of_means.data, memory_of_means.data + statistics};
  Parameters<T> factor(scale);
  double share = 1.0 / (each * shape.pixels);
  launch(context, name, statistics, DEVICE(int64_t k) {
    double plain = 0, product = 0;
    for (int64_t j = 0; j < each; ++j) {
      double s = factor(k * each % channels + j, C(1));
      plain += s * sums[k * each + j].first;
      product += s * sums[k * each + j].second;
    }
    means.plain[k] = C(plain * share);
    means.product[k] = C(product * share);
  });
  input_gradient<T>(context, name, shape, a, g, given, scale, means, r);
}

template <class T, class X>
void GroupNorm(const X& context, const Tensor& x, const OptionalTensor& scale, const OptionalTensor& bias, double epsilon,
               int groups, const std::string& layout, Tensor* y, Tensor* mean, Tensor* variance) {
  require_channels_first("group_norm", layout);
  normalize_groups<T>(context, "group_norm", x, scale, bias, epsilon, groups, y, mean, variance);
}
template <class T, class X>
void GroupNormGrad(const X& context, const Tensor& x, const OptionalTensor& scale, const OptionalTensor& bias, const Tensor&,
                   const Tensor& mean, const Tensor& variance, const Tensor& dout, double epsilon, int groups,
                   const std::string& layout, Tensor* dx, Tensor* dscale, Tensor* dbias) {
  require_channels_first("group_norm_grad", layout);
  group_gradients<T>(context, "group_norm_grad", x, scale, bias, mean, variance, dout, epsilon, groups, dx, dscale, dbias);
}
REGISTER_AMENDED(group_norm, GroupNorm, kFloats + kHalves, (gives_types_of_its_own<1, 2>))
REGISTER_AMENDED(group_norm_grad, GroupNormGrad, kFloats + kHalves, (gives_types_of_its_own<1, 2>))

// What is saved as variance is read by the gradient below alone.
template <class T, class X>
void InstanceNorm(const X& context, const Tensor& x, const OptionalTensor& scale, const OptionalTensor& bias, float epsilon,
                  Tensor* y, Tensor* mean, Tensor* variance) {
  normalize_groups<T>(context, "instance_norm", x, scale, bias, epsilon, x.dims()[1], y, mean, variance);
}
template <class T, class X>
void InstanceNormGrad(const X& context, const Tensor& x, const OptionalTensor& scale, const OptionalTensor& bias,
                      const Tensor& mean, const Tensor& variance, const Tensor& dout, float epsilon, Tensor* dx, Tensor* dscale,
                      Tensor* dbias) {
  group_gradients<T>(context, "instance_norm_grad", x, scale, bias, mean, variance, dout, epsilon, x.dims()[1], dx, dscale, dbias);
}
REGISTER_AMENDED(instance_norm, InstanceNorm, kFloats + kHalves, (gives_types_of_its_own<1, 2>))
REGISTER_AMENDED(instance_norm_grad, InstanceNormGrad, kFloats + kHalves, (gives_types_of_its_own<1, 2>))

}  // namespace tablerec
