// Layer norm, and root mean square norm.
#include "normalization.h"

namespace tablerec {

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

}  // namespace tablerec
