// Products of matrices, with strides: plain loops here, cuBLAS in the CUDA build.
#pragma once
#include "reduce.h"
#ifdef TABLEREC_CUDA
#include "libraries.h"
#endif

namespace tablerec {

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

#ifdef TABLEREC_CUDA
constexpr int kMostFewRows = 8;
// In few_rows_cuda.cc, for types of 16 bits; false where it cannot.
template <class T> bool multiply_few_rows(const Context&, const char* name, const T* x, const T* y, T* out, const Product&);
#endif

template <class T> void multiply(const Context& context, const char* name, const T* x, const T* y, T* out, const Product& product) {
#ifdef TABLEREC_CUDA
  if constexpr (sizeof(T) == 2)
    if (multiply_few_rows(context, name, x, y, out, product)) return;
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

// The gradients of a product, each where it is wanted.
template <class T>
void product_gradients(const Context& context, const char* name, const phi::DDim& xd, const T* x, bool transpose_x, const phi::DDim& yd,
                       const T* y, bool transpose_y, const phi::DDim& gd, const T* g, Tensor* dx, Tensor* dy) {
  if (dx && !transpose_x) multiply_into(context, name, gd, g, false, yd, y, !transpose_y, xd, dx);
  if (dx && transpose_x) multiply_into(context, name, yd, y, transpose_y, gd, g, true, xd, dx);
  if (dy && !transpose_y) multiply_into(context, name, xd, x, !transpose_x, gd, g, false, yd, dy);
  if (dy && transpose_y) multiply_into(context, name, gd, g, true, xd, x, transpose_x, yd, dy);
}

}  // namespace tablerec
