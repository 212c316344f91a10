// Batch norm, layer norm, softmax. Sums are in double: these operators are bound by memory.
#include "reduce.h"
#include "register.h"

namespace tablerec {

// ---- batch norm, NCHW or NC

struct Channels {
  int64_t images, channels, pixels;
  explicit Channels(const phi::DDim& d) : images(d[0]), channels(d[1]), pixels(1) {
    for (int k = 2; k < d.size(); ++k) pixels *= d[k];
  }
  int64_t count() const { return images * pixels; }
  HOST_DEVICE int64_t of(int64_t i) const { return (i / pixels) % channels; }
  // Reduces each channel over images and pixels.
  Reduction reduction() const {
    Reduction r;
    r.outputs = channels;
    r.length = count();
    r.kept.rank = 1, r.kept.size[0] = channels, r.kept.stride[0][0] = pixels;
    r.reduced.rank = 2;
    r.reduced.size[0] = images, r.reduced.stride[0][0] = channels * pixels;
    r.reduced.size[1] = pixels, r.reduced.stride[0][1] = 1;
    r.reduced = r.reduced.simplified();
    return r;
  }
};

struct TwoSums {
  double first, second;
};

// Sum and sum of squares about the channel's first element, which keeps large means exact.
template <class T> struct MomentsRule {
  const T* x;
  Channels shape;
  HOST_DEVICE TwoSums start() const { return {0, 0}; }
  HOST_DEVICE TwoSums enter(int64_t i) const {
    double v = double(x[i]) - double(x[shape.of(i) * shape.pixels]);
    return {v, v * v};
  }
  HOST_DEVICE TwoSums combine(TwoSums a, TwoSums b) const { return {a.first + b.first, a.second + b.second}; }
  HOST_DEVICE TwoSums operator()(TwoSums a, TwoSums b) const { return combine(a, b); }
  HOST_DEVICE TwoSums leave(TwoSums a, int64_t n) const { return {a.first / n, a.second / n}; }
};

inline void require_channels_first(const char* name, const std::string& layout) {
  REQUIRE(layout == "NCHW", "%s: layout %s is not supported on %s; NCHW is", name, layout, device_name());
}

template <class T, class X>
void BatchNorm(const X& context, const Tensor& x, const Tensor& mean, const Tensor& variance, const OptionalTensor& scale,
               const OptionalTensor& bias, bool is_test, float momentum, float epsilon, const std::string& layout,
               bool use_global_stats, bool trainable_statistics, Tensor* y, Tensor* mean_out, Tensor* variance_out,
               Tensor* saved_mean, Tensor* saved_inverse, Tensor*) {
  require_channels_first("batch_norm", layout);
  Channels shape(x.dims());
  bool given = (is_test && !trainable_statistics) || use_global_stats;
  auto a = read<T>(x);
  auto m = read<T>(mean), v = read<T>(variance), s = read<T>(scale), b = read<T>(bias);
  auto r = write<T>(context, y);
  auto new_mean = write<T>(context, mean_out), new_variance = write<T>(context, variance_out);
  auto batch_mean = write<T>(context, saved_mean), batch_inverse = write<T>(context, saved_inverse);
  Temporary<T> inverse(context, shape.channels), center(context, shape.channels);
  auto inv = inverse.data, mid = center.data;
  if (given) {
    launch(context, "batch_norm_given", shape.channels, DEVICE(int64_t k) {
      mid[k] = m[k];
      inv[k] = T(1) / sqrt(v[k] + T(epsilon));
      if (new_mean != m) new_mean[k] = m[k];
      if (new_variance != v) new_variance[k] = v[k];
    });
  } else {
    Temporary<uint8_t> memory(context, shape.channels * int64_t(sizeof(TwoSums)));
    auto moments = reinterpret_cast<TwoSums*>(memory.data);
    reduce<TwoSums>(context, "batch_norm_moments", shape.reduction(), MomentsRule<T>{a, shape}, moments);
    launch(context, "batch_norm_statistics", shape.channels, DEVICE(int64_t k) {
      double shift = moments[k].first, center = shift + double(a[k * shape.pixels]);
      double spread = moments[k].second - shift * shift;
      if (spread < 0) spread = 0;
      mid[k] = T(center);
      inv[k] = T(1 / sqrt(spread + epsilon));
      if (batch_mean) batch_mean[k] = mid[k];
      if (batch_inverse) batch_inverse[k] = inv[k];
      new_mean[k] = T(m[k] * momentum + center * (1 - momentum));
      new_variance[k] = T(v[k] * momentum + spread * (1 - momentum));  // the CPU's: not n / (n - 1) times it
    });
  }
  launch(context, "batch_norm", x.numel(), DEVICE(int64_t i) {
    int64_t k = shape.of(i);
    r[i] = (a[i] - mid[k]) * inv[k] * (s ? s[k] : T(1)) + (b ? b[k] : T(0));
  });
}
REGISTER(batch_norm, BatchNorm, kFloats)

// Sum of dy, and of dy times the normalized x.
template <class T> struct BatchNormGradRule {
  const T *x, *dy, *mean, *inverse;
  Channels shape;
  HOST_DEVICE TwoSums start() const { return {0, 0}; }
  HOST_DEVICE TwoSums enter(int64_t i) const {
    int64_t k = shape.of(i);
    return {double(dy[i]), double(dy[i]) * (double(x[i]) - mean[k]) * inverse[k]};
  }
  HOST_DEVICE TwoSums combine(TwoSums a, TwoSums b) const { return {a.first + b.first, a.second + b.second}; }
  HOST_DEVICE TwoSums operator()(TwoSums a, TwoSums b) const { return combine(a, b); }
  HOST_DEVICE TwoSums leave(TwoSums a, int64_t) const { return a; }
};

template <class T, class X>
void BatchNormGrad(const X& context, const Tensor& x, const OptionalTensor& scale, const OptionalTensor& bias,
                   const OptionalTensor& mean, const OptionalTensor& variance, const Tensor& saved_mean,
                   const Tensor& saved_inverse, const OptionalTensor&, const Tensor& dout, float, float epsilon,
                   const std::string& layout, bool is_test, bool use_global_stats, bool, Tensor* dx, Tensor* dscale,
                   Tensor* dbias) {
  require_channels_first("batch_norm_grad", layout);
  Channels shape(x.dims());
  bool given = is_test || use_global_stats;
  auto a = read<T>(x), g = read<T>(dout), s = read<T>(scale);
  Temporary<T> given_inverse(context, shape.channels);
  auto computed = given_inverse.data;
  const T* mid = given ? read<T>(mean) : read<T>(saved_mean);
  if (given) {
    auto v = read<T>(variance);
    launch(context, "batch_norm_given", shape.channels, DEVICE(int64_t k) { computed[k] = T(1) / sqrt(v[k] + T(epsilon)); });
  }
  const T* inv = given ? computed : read<T>(saved_inverse);
  Temporary<uint8_t> memory(context, shape.channels * int64_t(sizeof(TwoSums)));
  auto sums = reinterpret_cast<TwoSums*>(memory.data);
  reduce<TwoSums>(context, "batch_norm_grad_sums", shape.reduction(), BatchNormGradRule<T>{a, g, mid, inv, shape}, sums);
  auto ds = write<T>(context, dscale), db = write<T>(context, dbias);
  launch(context, "batch_norm_grad_scale", shape.channels, DEVICE(int64_t k) {
    if (db) db[k] = T(sums[k].first);
    if (ds) ds[k] = T(sums[k].second);
  });
  auto r = write<T>(context, dx);
  if (!r) return;
  double share = given ? 0 : 1.0 / shape.count();
  launch(context, "batch_norm_grad", x.numel(), DEVICE(int64_t i) {
    int64_t k = shape.of(i);
    T by_mean = T(sums[k].first * share), by_spread = T(sums[k].second * share);
    r[i] = (s ? s[k] : T(1)) * inv[k] * (g[i] - by_mean - (a[i] - mid[k]) * inv[k] * by_spread);
  });
}
REGISTER(batch_norm_grad, BatchNormGrad, kFloats)

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
  Rows shape(x.dims(), axis);
  int64_t n = shape.length;
  auto a = read<T>(x), s = read<T>(scale), b = read<T>(bias);
  auto r = write<T>(context, y), m = write<T>(context, mean), v = write<T>(context, variance);
  launch_teams(context, "layer_norm", shape.rows, n, DEVICE(int64_t row, Team team) {
    const T* at = a + row * n;
    double sum = 0, squares = 0;
    for (int64_t j = team.rank; j < n; j += team.size) sum += at[j];
    double center = team.sum(sum) / n;
    for (int64_t j = team.rank; j < n; j += team.size) squares += (at[j] - center) * (at[j] - center);
    double spread = team.sum(squares) / n, inv = 1 / sqrt(spread + epsilon);
    for (int64_t j = team.rank; j < n; j += team.size)
      r[row * n + j] = T((at[j] - center) * inv * (s ? s[j] : T(1)) + (b ? b[j] : T(0)));
    if (team.rank == 0) {
      m[row] = T(center);
      v[row] = T(spread);
    }
  });
}
template <class T, class X>
void LayerNormGrad(const X& context, const Tensor& x, const OptionalTensor& scale, const OptionalTensor&, const Tensor& mean,
                   const Tensor& variance, const Tensor& dout, float epsilon, int axis, Tensor* dx, Tensor* dscale,
                   Tensor* dbias) {
  Rows shape(x.dims(), axis);
  int64_t n = shape.length, rows = shape.rows;
  auto a = read<T>(x), g = read<T>(dout), m = read<T>(mean), v = read<T>(variance), s = read<T>(scale);
  auto ds = write<T>(context, dscale), db = write<T>(context, dbias);
  if (ds || db)
    launch_teams(context, "layer_norm_grad_scale", n, rows, DEVICE(int64_t j, Team team) {
      double by_scale = 0, by_bias = 0;
      for (int64_t row = team.rank; row < rows; row += team.size) {
        double d = g[row * n + j];
        by_bias += d;
        by_scale += d * (a[row * n + j] - m[row]) / sqrt(double(v[row]) + epsilon);
      }
      by_scale = team.sum(by_scale);
      by_bias = team.sum(by_bias);
      if (team.rank == 0 && ds) ds[j] = T(by_scale);
      if (team.rank == 0 && db) db[j] = T(by_bias);
    });
  auto r = write<T>(context, dx);
  if (!r) return;
  launch_teams(context, "layer_norm_grad", rows, n, DEVICE(int64_t row, Team team) {
    const T *at = a + row * n, *d = g + row * n;
    double inv = 1 / sqrt(double(v[row]) + epsilon), center = m[row], sum = 0, product = 0;
    for (int64_t j = team.rank; j < n; j += team.size) {
      double t = d[j] * (s ? s[j] : T(1));
      sum += t;
      product += t * (at[j] - center) * inv;
    }
    sum = team.sum(sum) / n;
    product = team.sum(product) / n;
    for (int64_t j = team.rank; j < n; j += team.size) {
      double t = d[j] * (s ? s[j] : T(1));
      r[row * n + j] = T(inv * (t - sum - (at[j] - center) * inv * product));
    }
  });
}
REGISTER(layer_norm, LayerNorm, kFloats)
REGISTER(layer_norm_grad, LayerNormGrad, kFloats)

// ---- softmax

template <class T, class X> void Softmax(const X& context, const Tensor& x, int axis, Tensor* out) {
  Split s(x.dims(), axis);
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch_teams(context, "softmax", s.rows(), s.length, DEVICE(int64_t row, Team team) {
    int64_t at = s.start(row);
    T most = -std::numeric_limits<T>::infinity();
    for (int64_t j = team.rank; j < s.length; j += team.size) most = a[at + j * s.inner] > most ? a[at + j * s.inner] : most;
    most = team.max(most);
    double sum = 0;
    for (int64_t j = team.rank; j < s.length; j += team.size) sum += exp(a[at + j * s.inner] - most);
    T scale = T(1 / team.sum(sum));
    for (int64_t j = team.rank; j < s.length; j += team.size) r[at + j * s.inner] = exp(a[at + j * s.inner] - most) * scale;
  });
}
template <class T, class X> void SoftmaxGrad(const X& context, const Tensor& out, const Tensor& dout, int axis, Tensor* dx) {
  Split s(out.dims(), axis);
  auto y = read<T>(out), g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch_teams(context, "softmax_grad", s.rows(), s.length, DEVICE(int64_t row, Team team) {
    int64_t at = s.start(row);
    double sum = 0;
    for (int64_t j = team.rank; j < s.length; j += team.size) sum += double(y[at + j * s.inner]) * g[at + j * s.inner];
    T mean = T(team.sum(sum));
    for (int64_t j = team.rank; j < s.length; j += team.size)
      r[at + j * s.inner] = y[at + j * s.inner] * (g[at + j * s.inner] - mean);
  });
}
REGISTER(softmax, Softmax, kFloats)
REGISTER(softmax_grad, SoftmaxGrad, kFloats)

// Cross entropy of a softmax with labels given as numbers.
template <class T, class I>
void entropy(const Context& context, const Tensor& softmax, const Tensor& label, const Split& s, int ignored, Tensor* loss) {
  auto p = read<T>(softmax);
  auto t = read<I>(label);
  auto r = write<T>(context, loss);
  launch(context, "cross_entropy_with_softmax", s.rows(), DEVICE(int64_t row) {
    int64_t k = t[row];
    bool counts = k != ignored && k >= 0 && k < s.length;
    r[row] = counts ? T(-log(p[s.start(row) + k * s.inner])) : T(0);
  });
}
template <class T, class I>
void entropy_gradient(const Context& context, const Tensor& softmax, const Tensor& label, const Tensor& dout, const Split& s,
                      int ignored, Tensor* dx) {
  auto p = read<T>(softmax), g = read<T>(dout);
  auto t = read<I>(label);
  auto r = write<T>(context, dx);
  launch(context, "cross_entropy_with_softmax_grad", softmax.numel(), DEVICE(int64_t i) {
    int64_t row = i / (s.length * s.inner) * s.inner + i % s.inner, j = i / s.inner % s.length, k = t[row];
    r[i] = k == ignored ? T(0) : g[row] * (p[i] - T(j == k));
  });
}
template <class T, class X>
void CrossEntropy(const X& context, const Tensor& x, const Tensor& label, bool soft, bool use_softmax, bool, int ignored,
                  int axis, Tensor* softmax, Tensor* loss) {
  REQUIRE(!soft && use_softmax, "cross_entropy with soft labels, or without softmax, is not supported on %s", device_name());
  Softmax<T, X>(context, x, axis, softmax);
  Split s(x.dims(), axis);
  if (label.dtype() == phi::DataType::INT32) entropy<T, int>(context, *softmax, label, s, ignored, loss);
  else entropy<T, int64_t>(context, *softmax, label, s, ignored, loss);
}
template <class T, class X>
void CrossEntropyGrad(const X& context, const Tensor& label, const Tensor& softmax, const Tensor& dout, bool soft, bool, bool,
                      int ignored, int axis, Tensor* dx) {
  REQUIRE(!soft, "cross_entropy_grad with soft labels is not supported on %s", device_name());
  Split s(softmax.dims(), axis);
  if (label.dtype() == phi::DataType::INT32) entropy_gradient<T, int>(context, softmax, label, dout, s, ignored, dx);
  else entropy_gradient<T, int64_t>(context, softmax, label, dout, s, ignored, dx);
}
REGISTER(cross_entropy_with_softmax, CrossEntropy, kFloats)
REGISTER(cross_entropy_with_softmax_grad, CrossEntropyGrad, kFloats)

}  // namespace tablerec
