// Batch norm, group norm, instance norm, layer norm, softmax.
//
// All are bound by memory. Elements are read 16 bytes at a time where the shape allows; short runs are summed in the
// type to compute in, about a number near the mean, and runs are added in double.
#include "reduce.h"
#include "register.h"
#include "softmax.h"

namespace tablerec {

template <class T, int V> struct alignas(sizeof(T) * V) Pack { T at[V]; };

template <class T, int V> HOST_DEVICE Pack<T, V> read_pack(const T* from, int64_t index) {
  return reinterpret_cast<const Pack<T, V>*>(from)[index];
}

// How many elements are moved at a time: as many as 16 bytes hold, or four, where `length` and the addresses allow it.
template <class T> int pack_width(int64_t length, std::initializer_list<const void*> addresses) {
  for (int width : {int(16 / sizeof(T)), 4}) {
    bool fits = length % width == 0 && width * sizeof(T) <= 16;
    for (auto address : addresses) fits = fits && reinterpret_cast<uintptr_t>(address) % (width * sizeof(T)) == 0;
    if (fits) return width;
  }
  return 1;
}
// Calls f with the width as a constant.
template <class T, class F> void with_width(int width, F f) {
  constexpr int widest = 16 / sizeof(T);
  if (width == widest) f(std::integral_constant<int, widest>());
  else if (width == 4 && widest > 4) f(std::integral_constant<int, 4>());
  else f(std::integral_constant<int, 1>());
}

// Scale and bias, or their gradients: of the tensor's type, or of the one to compute in. Either may be absent.
template <class T> struct Parameters {
  using C = Compute<T>;
  const T* narrow = nullptr;
  const C* wide = nullptr;
  Parameters(const OptionalTensor& from) {
    if (!from) return;
    if (from->dtype() == phi::CppTypeToDataType<C>::Type()) wide = read<C>(*from);
    else narrow = read<T>(*from);
  }
  HOST_DEVICE C operator()(int64_t i, C otherwise) const { return wide ? wide[i] : narrow ? C(narrow[i]) : otherwise; }
};
template <class T> struct ParameterGradient {
  using C = Compute<T>;
  T* narrow = nullptr;
  C* wide = nullptr;
  ParameterGradient(const Context& context, Tensor* to, const OptionalTensor& parameter) {
    if (!to) return;
    if (!parameter || parameter->dtype() == phi::CppTypeToDataType<C>::Type()) wide = write<C>(context, to);
    else narrow = write<T>(context, to);
  }
  HOST_DEVICE bool wanted() const { return wide || narrow; }
  HOST_DEVICE void put(int64_t i, double value) const {
    if (wide) wide[i] = C(value);
    else if (narrow) narrow[i] = T(C(value));
  }
};

// ---- norms over planes: batch norm, group norm, instance norm

// [images, channels, pixels]. A statistic is of a channel over all images, or, where `per_statistic` is not zero, of so
// many planes in a row.
struct Planes {
  int64_t images, channels, pixels, per_statistic = 0;
  explicit Planes(const phi::DDim& d) : images(d[0]), channels(d[1]), pixels(1) {
    for (int k = 2; k < d.size(); ++k) pixels *= d[k];
  }
  Planes(int64_t images, int64_t channels, int64_t pixels) : images(images), channels(channels), pixels(pixels) {}
  int64_t count() const { return images * pixels; }
};

// Which channel and statistic a pack belongs to.
struct PlaneOf {
  int64_t packs, channels, per_statistic;  // packs in a plane
  bool small;
  PlaneOf(const Planes& shape, int width)
      : packs(shape.pixels / width), channels(shape.channels), per_statistic(shape.per_statistic),
        small(shape.images * shape.channels * packs < (int64_t(1) << 31)) {}
  struct At { int64_t channel, statistic; };
  HOST_DEVICE At operator()(int64_t i) const {
    if (small) {
      uint32_t plane = uint32_t(i) / uint32_t(packs), channel = plane % uint32_t(channels);
      return {channel, per_statistic ? plane / uint32_t(per_statistic) : channel};
    }
    int64_t plane = i / packs, channel = plane % channels;
    return {channel, per_statistic ? plane / per_statistic : channel};
  }
};

struct TwoSums {
  double first, second;
  HOST_DEVICE TwoSums operator()(TwoSums a, TwoSums b) const { return {a.first + b.first, a.second + b.second}; }
};

// Two sums over each channel: `rule.of(channel)` gives what adds a pack to them, `finish(channel, sums)` takes them.
template <class T, int V, class Rule, class Finish>
void sum_channels(const Context& context, const char* name, const Planes& shape, Rule rule, Finish finish) {
  using C = Compute<T>;
  int64_t packs = shape.pixels / V, length = shape.images * packs, channels = shape.channels;
  bool small = length < (int64_t(1) << 31);
  const int64_t teams = 132 * 16, piece = 1024;
  int64_t pieces = std::min((length + piece - 1) / piece, (teams + channels - 1) / std::max<int64_t>(channels, 1));
  pieces = channels < teams ? std::max<int64_t>(pieces, 1) : 1;
  int64_t step = (length + pieces - 1) / pieces;
  bool whole = pieces == 1;
  Temporary<uint8_t> memory(context, whole ? 1 : channels * pieces * int64_t(sizeof(TwoSums)));
  auto partial = reinterpret_cast<TwoSums*>(memory.data);
  launch_teams(context, name, channels * pieces, step, DEVICE(int64_t item, Team team) {
    int64_t k = item / pieces, from = (item - k * pieces) * step, to = from + step < length ? from + step : length;
    auto channel = rule.of(k);
    TwoSums sums = {0, 0};
    for (int64_t j = from + team.rank; j < to;) {
      C first = 0, second = 0;
      for (int run = 0; run < 32 && j < to; ++run, j += team.size) {
        int64_t image = small ? uint32_t(j) / uint32_t(packs) : j / packs;
        channel.add((image * channels + k) * packs + (j - image * packs), first, second);
      }
      sums = TwoSums()(sums, TwoSums{double(first), double(second)});
    }
    sums = team.all(sums, TwoSums());
    if (team.rank) return;
    if (whole) finish(k, sums);
    else partial[item] = sums;
  });
  if (whole) return;
  launch_teams(context, name, channels, pieces, DEVICE(int64_t k, Team team) {
    TwoSums sums = {0, 0};
    for (int64_t j = team.rank; j < pieces; j += team.size) sums = TwoSums()(sums, partial[k * pieces + j]);
    sums = team.all(sums, TwoSums());
    if (team.rank == 0) finish(k, sums);
  });
}

// Sum and sum of squares about the channel's first element, which keeps large means exact.
template <class T, int V> struct MomentsRule {
  using C = Compute<T>;
  const T* x;
  int64_t pixels;
  struct Channel {
    const T* x;
    C shift;
    HOST_DEVICE void add(int64_t at, C& first, C& second) const {
      auto pack = read_pack<T, V>(x, at);
      for (int v = 0; v < V; ++v) {
        C d = C(pack.at[v]) - shift;
        first += d;
        second += d * d;
      }
    }
  };
  HOST_DEVICE Channel of(int64_t k) const { return {x, C(x[k * pixels])}; }
};

// Calls finish(channel, mean, variance); the variance is that of the sample, not of n - 1.
template <class T, class Finish> struct FromMoments {
  const T* x;
  int64_t pixels, count;
  Finish finish;
  HOST_DEVICE void operator()(int64_t k, TwoSums sums) const {
    double shift = sums.first / count, spread = sums.second / count - shift * shift;
    finish(k, shift + double(Compute<T>(x[k * pixels])), spread < 0 ? 0 : spread);
  }
};
template <class T, class Finish>
void moments(const Context& context, const char* name, const T* x, const Planes& shape, Finish finish) {
  FromMoments<T, Finish> from{x, shape.pixels, shape.count(), finish};
  with_width<T>(pack_width<T>(shape.pixels, {x}), [&](auto width) {
    constexpr int V = decltype(width)::value;
    sum_channels<T, V>(context, name, shape, MomentsRule<T, V>{x, shape.pixels}, from);
  });
}

// Mean (where there is none, zero) and 1 / deviation of each statistic; the latter may be given as a variance.
template <class C> struct Statistics {
  const C *mean, *spread;
  bool is_variance;
  C epsilon;
  HOST_DEVICE C center(int64_t k) const { return mean ? mean[k] : C(0); }
  HOST_DEVICE C inverse(int64_t k) const { return is_variance ? C(1) / C(sqrt(spread[k] + epsilon)) : spread[k]; }
};

template <class T, int V>
void normalize_packs(const Context& context, const char* name, const Planes& shape, const T* x, Statistics<Compute<T>> given,
                     Parameters<T> scale, Parameters<T> bias, T* y) {
  using C = Compute<T>;
  PlaneOf plane(shape, V);
  launch(context, name, shape.images * shape.channels * plane.packs, DEVICE(int64_t i) {
    auto at = plane(i);
    C center = given.mean[at.statistic], factor = given.inverse(at.statistic) * scale(at.channel, C(1)), shift = bias(at.channel, C(0));
    auto pack = read_pack<T, V>(x, i);
    for (int v = 0; v < V; ++v) pack.at[v] = T((C(pack.at[v]) - center) * factor + shift);
    reinterpret_cast<Pack<T, V>*>(y)[i] = pack;
  });
}
template <class T>
void normalize(const Context& context, const char* name, const Planes& shape, const T* x, Statistics<Compute<T>> given,
               Parameters<T> scale, Parameters<T> bias, T* y) {
  with_width<T>(pack_width<T>(shape.pixels, {x, y}), [&](auto width) {
    normalize_packs<T, decltype(width)::value>(context, name, shape, x, given, scale, bias, y);
  });
}

// Sum of dy, and of dy times the normalized x.
template <class T, int V> struct GradientRule {
  using C = Compute<T>;
  const T *x, *dy;
  Statistics<C> given;
  int64_t per_statistic;
  struct Channel {
    const T *x, *dy;
    C mean, inverse;
    HOST_DEVICE void add(int64_t at, C& first, C& second) const {
      auto pack = read_pack<T, V>(x, at), gradient = read_pack<T, V>(dy, at);
      for (int v = 0; v < V; ++v) {
        C g = C(gradient.at[v]);
        first += g;
        second += g * ((C(pack.at[v]) - mean) * inverse);
      }
    }
  };
  HOST_DEVICE Channel of(int64_t k) const {
    int64_t statistic = per_statistic ? k / per_statistic : k;
    return {x, dy, given.mean[statistic], given.inverse(statistic)};
  }
};
template <class T, class Finish>
void gradient_sums(const Context& context, const char* name, const Planes& shape, const T* x, const T* dy,
                   Statistics<Compute<T>> given, Finish finish) {
  with_width<T>(pack_width<T>(shape.pixels, {x, dy}), [&](auto width) {
    constexpr int V = decltype(width)::value;
    sum_channels<T, V>(context, name, shape, GradientRule<T, V>{x, dy, given, shape.per_statistic}, finish);
  });
}

// The means, over what shares a statistic, of dy * scale and of dy * scale times the normalized x.
template <class C> struct Means {
  C *plain, *product;
};

template <class T, int V>
void input_gradient_packs(const Context& context, const char* name, const Planes& shape, const T* x, const T* dy,
                          Statistics<Compute<T>> given, Parameters<T> scale, Means<Compute<T>> means, T* dx) {
  using C = Compute<T>;
  PlaneOf plane(shape, V);
  launch(context, name, shape.images * shape.channels * plane.packs, DEVICE(int64_t i) {
    auto at = plane(i);
    C center = given.mean[at.statistic], inverse = given.inverse(at.statistic), factor = scale(at.channel, C(1));
    C plain = means.plain[at.statistic], product = means.product[at.statistic];
    auto pack = read_pack<T, V>(x, i), gradient = read_pack<T, V>(dy, i);
    for (int v = 0; v < V; ++v)
      pack.at[v] = T(inverse * (factor * C(gradient.at[v]) - plain - (C(pack.at[v]) - center) * inverse * product));
    reinterpret_cast<Pack<T, V>*>(dx)[i] = pack;
  });
}
template <class T>
void input_gradient(const Context& context, const char* name, const Planes& shape, const T* x, const T* dy,
                    Statistics<Compute<T>> given, Parameters<T> scale, Means<Compute<T>> means, T* dx) {
  with_width<T>(pack_width<T>(shape.pixels, {x, dy, dx}), [&](auto width) {
    input_gradient_packs<T, decltype(width)::value>(context, name, shape, x, dy, given, scale, means, dx);
  });
}

inline void require_channels_first(const char* name, const std::string& layout) {
  REQUIRE(layout == "NCHW" || layout == "AnyLayout", "%s: layout %s is not supported on %s; NCHW is", name, layout, device_name());
}

// Statistics and parameters are float where the elements are in half precision.
template <int first, int last> void gives_types_of_its_own(phi::Kernel* kernel) {
  for (int k = first; k <= last; ++k) kernel->OutputAt(k).SetDataType(phi::DataType::UNDEFINED);
}

// ---- batch norm, NCHW or NC

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

// ---- group norm and instance norm, NCHW: a statistic for each group of an image

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

// ---- layer norm

struct Rows {
  int64_t rows = 1, length = 1;
  Rows(const phi::DDim& d, int axis) {
    for (int k = 0; k < d.size(); ++k) (k < axis ? rows : length) *= d[k];
  }
};

template <class T, class X>
void LayerNorm(const X& context, const Tensor& x, const OptionalTensor& scale, const OptionalTensor& bias, float epsilon,
               int axis, Tensor* y, Tensor* mean, Tensor* variance) {
  using C = Compute<T>;
  Rows shape(x.dims(), axis);
  int64_t n = shape.length;
  auto a = read<T>(x);
  Parameters<T> s(scale), b(bias);
  auto r = write<T>(context, y);
  auto m = write<C>(context, mean), v = write<C>(context, variance);
  launch_teams(context, "layer_norm", shape.rows, n, DEVICE(int64_t row, Team team) {
    const T* at = a + row * n;
    C sum = 0, squares = 0;
    for (int64_t j = team.rank; j < n; j += team.size) sum += C(at[j]);
    C center = C(team.sum(double(sum)) / n);
    for (int64_t j = team.rank; j < n; j += team.size) squares += (C(at[j]) - center) * (C(at[j]) - center);
    double spread = team.sum(double(squares)) / n;
    C inverse = C(1 / sqrt(spread + epsilon));
    for (int64_t j = team.rank; j < n; j += team.size)
      r[row * n + j] = T((C(at[j]) - center) * inverse * s(j, C(1)) + b(j, C(0)));
    if (team.rank == 0) {
      if (m) m[row] = center;
      if (v) v[row] = C(spread);
    }
  });
}

// Gradients of scale and bias: threads side by side take columns side by side, each for a part of the rows.
template <class T>
void row_parameters(const Context& context, const char* name, const Rows& shape, const T* x, const T* dy, Statistics<Compute<T>> given,
                           ParameterGradient<T> dscale, ParameterGradient<T> dbias) {
  using C = Compute<T>;
  int64_t n = shape.length, rows = shape.rows;
  const int64_t threads = 132 * 1024;
  int64_t parts = std::max<int64_t>(1, std::min(rows / 16, threads / std::max<int64_t>(n, 1))), step = (rows + parts - 1) / parts;
  Temporary<uint8_t> memory(context, parts * n * int64_t(sizeof(TwoSums)));
  auto partial = reinterpret_cast<TwoSums*>(memory.data);
  launch(context, name, parts * n, DEVICE(int64_t i) {
    int64_t part = i / n, j = i - part * n, to = (part + 1) * step < rows ? (part + 1) * step : rows;
    C by_bias = 0, by_scale = 0;
    for (int64_t row = part * step; row < to; ++row) {
      C g = C(dy[row * n + j]);
      by_bias += g;
      by_scale += g * (C(x[row * n + j]) - given.center(row)) * given.inverse(row);
    }
    partial[i] = {double(by_bias), double(by_scale)};
  });
  launch(context, name, n, DEVICE(int64_t j) {
    TwoSums total = {0, 0};
    for (int64_t part = 0; part < parts; ++part) total = TwoSums()(total, partial[part * n + j]);
    dbias.put(j, total.first);
    dscale.put(j, total.second);
  });
}

template <class T, class X>
void LayerNormGrad(const X& context, const Tensor& x, const OptionalTensor& scale, const OptionalTensor& bias, const Tensor& mean,
                   const Tensor& variance, const Tensor& dout, float epsilon, int axis, Tensor* dx, Tensor* dscale,
                   Tensor* dbias) {
  using C = Compute<T>;
  Rows shape(x.dims(), axis);
  int64_t n = shape.length;
  auto a = read<T>(x), g = read<T>(dout);
  Statistics<C> given{read<C>(mean), read<C>(variance), true, C(epsilon)};
  Parameters<T> s(scale);
  ParameterGradient<T> ds(context, dscale, scale), db(context, dbias, bias);
  if (ds.wanted() || db.wanted()) row_parameters<T>(context, "layer_norm_grad_parameters", shape, a, g, given, ds, db);
  auto r = write<T>(context, dx);
  if (!r) return;
  launch_teams(context, "layer_norm_grad", shape.rows, n, DEVICE(int64_t row, Team team) {
    const T *at = a + row * n, *d = g + row * n;
    C inverse = given.inverse(row), center = given.mean[row], sum = 0, product = 0;
    for (int64_t j = team.rank; j < n; j += team.size) {
      C t = C(d[j]) * s(j, C(1));
      sum += t;
      product += t * ((C(at[j]) - center) * inverse);
    }
    TwoSums means = team.all(TwoSums{double(sum), double(product)}, TwoSums());
    sum = C(means.first / n);
    product = C(means.second / n);
    for (int64_t j = team.rank; j < n; j += team.size) {
      C t = C(d[j]) * s(j, C(1));
      r[row * n + j] = T(inverse * (t - sum - (C(at[j]) - center) * inverse * product));
    }
  });
}
REGISTER_AMENDED(layer_norm, LayerNorm, kFloats + kHalves, (gives_types_of_its_own<1, 2>))
REGISTER_AMENDED(layer_norm_grad, LayerNormGrad, kFloats + kHalves, (gives_types_of_its_own<1, 2>))

// ---- root mean square norm

template <class T>
void normalize_by_squares(const Context& context, const char* name, const Tensor& x, const OptionalTensor& scale, const Rows& shape,
                          double epsilon, Tensor* y, Tensor* inverses) {
  using C = Compute<T>;
  int64_t n = shape.length;
  auto a = read<T>(x);
  Parameters<T> s(scale);
  auto r = write<T>(context, y);
  if (inverses && inverses->numel() != shape.rows) inverses->Resize(phi::make_ddim({shape.rows}));  // Paddle may leave it at -1
  auto kept = write<C>(context, inverses);
  launch_teams(context, name, a ? shape.rows : 0, n, DEVICE(int64_t row, Team team) {
    const T* at = a + row * n;
    C squares = 0;
    for (int64_t j = team.rank; j < n; j += team.size) squares += C(at[j]) * C(at[j]);
    C inverse = C(1 / sqrt(team.sum(double(squares)) / n + epsilon));
    for (int64_t j = team.rank; j < n; j += team.size) r[row * n + j] = T(C(at[j]) * inverse * s(j, C(1)));
    if (team.rank == 0 && kept) kept[row] = inverse;
  });
}
template <class T>
void gradient_by_squares(const Context& context, const char* name, const Tensor& x, const OptionalTensor& scale,
                         const Tensor& inverses, const Tensor& dout, const Rows& shape, Tensor* dx, Tensor* dscale) {
  using C = Compute<T>;
  int64_t n = shape.length;
  auto a = read<T>(x), g = read<T>(dout);
  Statistics<C> given{nullptr, read<C>(inverses), false, C(0)};
  Parameters<T> s(scale);
  ParameterGradient<T> ds(context, dscale, scale), none(context, nullptr, scale);
  if (ds.wanted()) row_parameters<T>(context, name, shape, a, g, given, ds, none);
  auto r = write<T>(context, dx);
  launch_teams(context, name, r ? shape.rows : 0, n, DEVICE(int64_t row, Team team) {
    const T *at = a + row * n, *d = g + row * n;
    C inverse = given.inverse(row), product = 0;
    for (int64_t j = team.rank; j < n; j += team.size) product += C(d[j]) * s(j, C(1)) * C(at[j]) * inverse;
    C mean = C(team.sum(double(product)) / n);
    for (int64_t j = team.rank; j < n; j += team.size)
      r[row * n + j] = T(inverse * (C(d[j]) * s(j, C(1)) - C(at[j]) * inverse * mean));
  });
}

inline Rows last_rows(const Tensor& x, size_t dimensions) { return Rows(x.dims(), x.dims().size() - int(dimensions)); }

template <class T, class X>
void RmsNorm(const X& context, const Tensor& x, const OptionalTensor& scale, const std::vector<int64_t>& over, double epsilon,
             Tensor* y, Tensor* inverses) {
  normalize_by_squares<T>(context, "rms_norm", x, scale, last_rows(x, over.size()), epsilon, y, inverses);
}
template <class T, class X>
void RmsNormGrad(const X& context, const Tensor& x, const OptionalTensor& scale, const Tensor& inverses, const Tensor& dout,
                 const std::vector<int64_t>& over, double, Tensor* dx, Tensor* dscale) {
  gradient_by_squares<T>(context, "rms_norm_grad", x, scale, inverses, dout, last_rows(x, over.size()), dx, dscale);
}
template <class T, class X>
void FusedRmsNorm(const X& context, const Tensor& x, const Tensor& scale, float epsilon, Tensor* y, Tensor* inverses) {
  normalize_by_squares<T>(context, "fused_rms_norm_ext", x, scale, last_rows(x, 1), epsilon, y, inverses);
}
template <class T, class X>
void FusedRmsNormGrad(const X& context, const Tensor& x, const Tensor& scale, const Tensor& inverses, const Tensor& dout, float,
                      Tensor* dx, Tensor* dscale) {
  gradient_by_squares<T>(context, "fused_rms_norm_ext_grad", x, scale, inverses, dout, last_rows(x, 1), dx, dscale);
}
REGISTER_AMENDED(rms_norm, RmsNorm, kFloats + kHalves, (gives_types_of_its_own<1, 1>))
REGISTER_AMENDED(rms_norm_grad, RmsNormGrad, kFloats + kHalves, (gives_types_of_its_own<1, 1>))
// Paddle refuses float64 before it asks for the kernel.
REGISTER_AMENDED(fused_rms_norm_ext, FusedRmsNorm, Types<float>() + kHalves, (gives_types_of_its_own<1, 1>))
REGISTER_AMENDED(fused_rms_norm_ext_grad, FusedRmsNormGrad, Types<float>() + kHalves, (gives_types_of_its_own<1, 1>))

// ---- softmax

template <class T, class X> void Softmax(const X& context, const Tensor& x, int axis, Tensor* out) {
  using C = Compute<T>;
  Split s(x.dims(), axis);
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch_teams(context, "softmax", s.rows(), softmax_work(s), DEVICE(int64_t row, Team team) {
    int64_t at = s.start(row);
    C most = -std::numeric_limits<C>::infinity(), sum = 0;
    for (int64_t j = team.rank; j < s.length; j += team.size) most = C(a[at + j * s.inner]) > most ? C(a[at + j * s.inner]) : most;
    most = team.max(most);
    for (int64_t j = team.rank; j < s.length; j += team.size) sum += exp(C(a[at + j * s.inner]) - most);
    C scale = C(1 / team.sum(double(sum)));
    for (int64_t j = team.rank; j < s.length; j += team.size) r[at + j * s.inner] = T(exp(C(a[at + j * s.inner]) - most) * scale);
  });
}
template <class T, class X> void SoftmaxGrad(const X& context, const Tensor& out, const Tensor& dout, int axis, Tensor* dx) {
  using C = Compute<T>;
  Split s(out.dims(), axis);
  auto y = read<T>(out), g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch_teams(context, "softmax_grad", s.rows(), softmax_work(s), DEVICE(int64_t row, Team team) {
    int64_t at = s.start(row);
    C sum = 0;
    for (int64_t j = team.rank; j < s.length; j += team.size) sum += C(y[at + j * s.inner]) * C(g[at + j * s.inner]);
    C mean = C(team.sum(double(sum)));
    for (int64_t j = team.rank; j < s.length; j += team.size)
      r[at + j * s.inner] = T(C(y[at + j * s.inner]) * (C(g[at + j * s.inner]) - mean));
  });
}
template <class T, class X> void LogSoftmax(const X& context, const Tensor& x, int axis, Tensor* out) {
  using C = Compute<T>;
  Split s(x.dims(), axis);
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch_teams(context, "log_softmax", s.rows(), softmax_work(s), DEVICE(int64_t row, Team team) {
    int64_t at = s.start(row);
    LogSum<C> total = log_sum(a + at, s.length, s.inner, team);
    for (int64_t j = team.rank; j < s.length; j += team.size)
      r[at + j * s.inner] = T(C(a[at + j * s.inner]) - total.most - total.log_of_sum);
  });
}
template <class T, class X> void LogSoftmaxGrad(const X& context, const Tensor& out, const Tensor& dout, int axis, Tensor* dx) {
  using C = Compute<T>;
  Split s(out.dims(), axis);
  auto y = read<T>(out), g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch_teams(context, "log_softmax_grad", s.rows(), softmax_work(s), DEVICE(int64_t row, Team team) {
    int64_t at = s.start(row);
    C sum = 0;
    for (int64_t j = team.rank; j < s.length; j += team.size) sum += C(g[at + j * s.inner]);
    sum = C(team.sum(double(sum)));
    for (int64_t j = team.rank; j < s.length; j += team.size)
      r[at + j * s.inner] = T(C(g[at + j * s.inner]) - exp(C(y[at + j * s.inner])) * sum);
  });
}
REGISTER(softmax, Softmax, kFloats + kHalves)
REGISTER(softmax_grad, SoftmaxGrad, kFloats + kHalves)
REGISTER(log_softmax, LogSoftmax, kFloats + kHalves)
REGISTER(log_softmax_grad, LogSoftmaxGrad, kFloats + kHalves)

// ---- softmax of what a causal mask leaves: in each row, the places up to the row's own

inline int64_t causal_length(const Tensor& x) {
  int rank = x.dims().size();
  REQUIRE(rank >= 2 && x.dims()[rank - 1] == x.dims()[rank - 2], "fused_softmax_mask_upper_triangle of rows that are not as many as places");
  return std::max<int64_t>(x.dims()[rank - 1], 1);
}
template <class T, class X> void CausalSoftmax(const X& context, const Tensor& x, Tensor* out) {
  using C = Compute<T>;
  int64_t n = causal_length(x);
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch_teams(context, "fused_softmax_mask_upper_triangle", x.numel() / n, n, DEVICE(int64_t row, Team team) {
    int64_t seen = row % n + 1;
    LogSum<C> total = log_sum(a + row * n, seen, int64_t(1), team);
    for (int64_t j = team.rank; j < n; j += team.size)
      r[row * n + j] = j < seen ? T(exp(C(a[row * n + j]) - total.most - total.log_of_sum)) : T(0);
  });
}
template <class T, class X> void CausalSoftmaxGrad(const X& context, const Tensor& out, const Tensor& dout, Tensor* dx) {
  using C = Compute<T>;
  int64_t n = causal_length(out);
  auto y = read<T>(out), g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch_teams(context, "fused_softmax_mask_upper_triangle_grad", out.numel() / n, n, DEVICE(int64_t row, Team team) {
    int64_t at = row * n, seen = row % n + 1;
    C sum = 0;
    for (int64_t j = team.rank; j < seen; j += team.size) sum += C(y[at + j]) * C(g[at + j]);
    C mean = C(team.sum(double(sum)));
    for (int64_t j = team.rank; j < n; j += team.size) r[at + j] = j < seen ? T(C(y[at + j]) * (C(g[at + j]) - mean)) : T(0);
  });
}
REGISTER(fused_softmax_mask_upper_triangle, CausalSoftmax, kFloats + kHalves)
REGISTER(fused_softmax_mask_upper_triangle_grad, CausalSoftmaxGrad, kFloats + kHalves)

}  // namespace tablerec
