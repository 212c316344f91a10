// Matrix products: plain loops here, cuBLAS in the CUDA build.
#include "reduce.h"
#include "register.h"
#ifdef TABLEREC_CUDA
#include "libraries.h"
#endif

namespace tablerec {

// ---- matrix products

// out[b] (rows x columns) = x[b] (rows x inner) * y[b] (inner x columns), each with its strides.
struct Product {
  int64_t rows, columns, inner, batch = 1;
  int64_t x_row, x_inner, y_inner, y_column;
  Walk<2> batches;
  std::vector<int64_t> out_dims;
};

// What a kernel needs of it.
struct ProductSteps {
  int64_t rows, columns, inner, x_row, x_inner, y_inner, y_column;
};

inline Product product(const phi::DDim& x_dims, const phi::DDim& y_dims, bool transpose_x, bool transpose_y) {
  auto x = phi::vectorize(x_dims), y = phi::vectorize(y_dims);
  if (x.size() == 1) x.insert(transpose_x ? x.end() : x.begin(), 1);
  if (y.size() == 1) y.insert(transpose_y ? y.begin() : y.end(), 1);
  size_t a = x.size(), b = y.size();
  Product p;
  p.rows = x[a - (transpose_x ? 1 : 2)];
  p.inner = x[a - (transpose_x ? 2 : 1)];
  p.columns = y[b - (transpose_y ? 2 : 1)];
  p.x_row = transpose_x ? 1 : x[a - 1];
  p.x_inner = transpose_x ? x[a - 1] : 1;
  p.y_inner = transpose_y ? 1 : y[b - 1];
  p.y_column = transpose_y ? y[b - 1] : 1;
  int64_t x_matrix = x[a - 1] * x[a - 2], y_matrix = y[b - 1] * y[b - 2];
  std::vector<int64_t> x_batch(x.begin(), x.end() - 2), y_batch(y.begin(), y.end() - 2);
  while (x_batch.size() < y_batch.size()) x_batch.insert(x_batch.begin(), 1);
  while (y_batch.size() < x_batch.size()) y_batch.insert(y_batch.begin(), 1);
  for (size_t k = 0; k < x_batch.size(); ++k) p.out_dims.push_back(x_batch[k] == 1 ? y_batch[k] : x_batch[k]);
  auto batch_dims = phi::make_ddim(p.out_dims);
  auto x_strides = broadcast_strides(phi::make_ddim(x_batch), batch_dims);
  auto y_strides = broadcast_strides(phi::make_ddim(y_batch), batch_dims);
  for (auto& stride : x_strides) stride *= x_matrix;
  for (auto& stride : y_strides) stride *= y_matrix;
  p.batches = walk(batch_dims, x_strides, y_strides);
  for (auto size : p.out_dims) p.batch *= size;
  p.out_dims.push_back(p.rows);
  p.out_dims.push_back(p.columns);
  return p;
}

template <class T> void multiply(const Context& context, const char* name, const T* x, const T* y, T* out, const Product& product) {
#ifdef TABLEREC_CUDA
  if (multiply_with_cublas(context, name, x, y, out, product)) return;
#endif
  ProductSteps p{product.rows, product.columns, product.inner, product.x_row, product.x_inner, product.y_inner, product.y_column};
  auto batches = product.batches;
  launch(context, name, product.batch * p.rows * p.columns, DEVICE(int64_t i) {
    int64_t column = i % p.columns, row = i / p.columns % p.rows;
    auto at = batches(i / (p.columns * p.rows));
    const T *a = x + at.at[0] + row * p.x_row, *b = y + at.at[1] + column * p.y_column;
    Sum<T> sum = 0;
    for (int64_t k = 0; k < p.inner; ++k) sum += Sum<T>(Compute<T>(a[k * p.x_inner])) * Sum<T>(Compute<T>(b[k * p.y_inner]));
    out[i] = T(sum);
  });
}

template <class T, class X>
void Matmul(const X& context, const Tensor& x, const Tensor& y, bool transpose_x, bool transpose_y, Tensor* out) {
  auto p = product(x.dims(), y.dims(), transpose_x, transpose_y);
  multiply(context, "matmul", read<T>(x), read<T>(y), write<T>(context, out), p);
}

// to = a * b, summed over the batches in which `to` was repeated.
template <class T>
void multiply_into(const Context& context, const char* name, const phi::DDim& a_dims, const T* a, bool transpose_a, const phi::DDim& b_dims,
                   const T* b, bool transpose_b, const phi::DDim& to_dims, Tensor* to) {
  auto p = product(a_dims, b_dims, transpose_a, transpose_b);
  auto whole_dims = phi::make_ddim(p.out_dims);
  if (phi::product(whole_dims) == to->numel()) {
    multiply(context, name, a, b, write<T>(context, to), p);
    return;
  }
  Temporary<T> whole(context, whole_dims);
  multiply(context, name, a, b, whole.data, p);
  auto dims = to->dims();
  to->Resize(to_dims);
  sum_to_shape<T>(context, name, whole.data, whole_dims, to);
  to->Resize(dims);
}

template <class T> void scale_in_place(const Context& context, T* data, int64_t count, float by) {
  if (by == 1) return;
  launch(context, "scale", count, DEVICE(int64_t i) { data[i] = T(Compute<T>(data[i]) * Compute<T>(by)); });
}

template <class T, class X>
void MatmulGrad(const X& context, const Tensor& x, const Tensor& y, const Tensor& dout, bool transpose_x, bool transpose_y,
                Tensor* dx, Tensor* dy) {
  // Vectors are rows or columns here; the gradient's shape gets the same ones of size one.
  auto x_dims = phi::vectorize(x.dims()), y_dims = phi::vectorize(y.dims()), g_dims = phi::vectorize(dout.dims());
  bool x_vector = x_dims.size() == 1, y_vector = y_dims.size() == 1;
  if (x_vector) x_dims.insert(x_dims.begin(), 1), transpose_x = false;
  if (y_vector) y_dims.push_back(1), transpose_y = false;
  if (y_vector) g_dims.push_back(1);
  if (x_vector) g_dims.insert(g_dims.end() - 1, 1);
  auto xd = phi::make_ddim(x_dims), yd = phi::make_ddim(y_dims), gd = phi::make_ddim(g_dims);
  auto a = read<T>(x), b = read<T>(y), g = read<T>(dout);
  const char* name = "matmul_grad";
  if (dx && !transpose_x) multiply_into(context, name, gd, g, false, yd, b, !transpose_y, xd, dx);
  if (dx && transpose_x) multiply_into(context, name, yd, b, transpose_y, gd, g, true, xd, dx);
  if (dy && !transpose_y) multiply_into(context, name, xd, a, !transpose_x, gd, g, false, yd, dy);
  if (dy && transpose_y) multiply_into(context, name, gd, g, true, xd, a, transpose_x, yd, dy);
}
REGISTER(matmul, Matmul, kFloats + kHalves)
REGISTER(matmul_grad, MatmulGrad, kFloats + kHalves)

template <class T, class X> void Bmm(const X& context, const Tensor& x, const Tensor& y, Tensor* out) {
  multiply(context, "bmm", read<T>(x), read<T>(y), write<T>(context, out), product(x.dims(), y.dims(), false, false));
}
template <class T, class X>
void BmmGrad(const X& context, const Tensor& x, const Tensor& y, const Tensor& dout, Tensor* dx, Tensor* dy) {
  auto xd = x.dims(), yd = y.dims(), gd = dout.dims();
  auto g = read<T>(dout);
  if (dx) multiply_into(context, "bmm_grad", gd, g, false, yd, read<T>(y), true, xd, dx);
  if (dy) multiply_into(context, "bmm_grad", xd, read<T>(x), true, gd, g, false, yd, dy);
}
REGISTER(bmm, Bmm, kFloats + kHalves)
REGISTER(bmm_grad, BmmGrad, kFloats + kHalves)

// out = beta * input + alpha * x y, where the input broadcasts to the product's shape.
template <class T, class X>
void Addmm(const X& context, const Tensor& input, const Tensor& x, const Tensor& y, float beta, float alpha, Tensor* out) {
  auto added = walk(out->dims(), broadcast_strides(input.dims(), out->dims()));
  Temporary<T> whole(context, out->dims());  // `out` may be the memory of `input`
  auto m = whole.data;
  multiply(context, "addmm", read<T>(x), read<T>(y), m, product(x.dims(), y.dims(), false, false));
  auto a = read<T>(input);
  auto r = write<T>(context, out);
  launch(context, "addmm", out->numel(), DEVICE(int64_t i) {
    r[i] = T(Compute<T>(beta) * Compute<T>(a[added(i).at[0]]) + Compute<T>(alpha) * Compute<T>(m[i]));
  });
}
template <class T, class X>
void AddmmGrad(const X& context, const Tensor& input, const Tensor& x, const Tensor& y, const Tensor& dout, float alpha,
               float beta, Tensor* dinput, Tensor* dx, Tensor* dy) {
  auto g = read<T>(dout);
  auto scale = [&](Tensor* gradient, float by) {
    auto r = read<T>(*gradient);
    scale_in_place(context, const_cast<T*>(r), gradient->numel(), by);
  };
  auto xd = x.dims(), yd = y.dims(), gd = dout.dims();
  if (dx) multiply_into(context, "addmm_grad", gd, g, false, yd, read<T>(y), true, xd, dx), scale(dx, alpha);
  if (dy) multiply_into(context, "addmm_grad", xd, read<T>(x), true, gd, g, false, yd, dy), scale(dy, alpha);
  if (dinput) sum_to_shape<T>(context, "addmm_grad", g, gd, dinput), scale(dinput, beta);
}
REGISTER(addmm, Addmm, kFloats + kHalves)
REGISTER(addmm_grad, AddmmGrad, kFloats + kHalves)

}  // namespace tablerec
