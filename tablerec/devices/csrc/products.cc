// Matrix products and convolutions: plain loops here, cuBLAS and cuDNN in the CUDA build.
#include "convolution.h"
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
    for (int64_t k = 0; k < p.inner; ++k) sum += Sum<T>(a[k * p.x_inner]) * Sum<T>(b[k * p.y_inner]);
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
void multiply_into(const Context& context, const phi::DDim& a_dims, const T* a, bool transpose_a, const phi::DDim& b_dims,
                   const T* b, bool transpose_b, const phi::DDim& to_dims, Tensor* to) {
  auto p = product(a_dims, b_dims, transpose_a, transpose_b);
  auto whole_dims = phi::make_ddim(p.out_dims);
  if (phi::product(whole_dims) == to->numel()) {
    multiply(context, "matmul_grad", a, b, write<T>(context, to), p);
    return;
  }
  Temporary<T> whole(context, whole_dims);
  multiply(context, "matmul_grad", a, b, whole.data, p);
  auto dims = to->dims();
  to->Resize(to_dims);
  sum_to_shape<T>(context, "matmul_grad", whole.data, whole_dims, to);
  to->Resize(dims);
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
  if (dx && !transpose_x) multiply_into(context, gd, g, false, yd, b, !transpose_y, xd, dx);
  if (dx && transpose_x) multiply_into(context, yd, b, transpose_y, gd, g, true, xd, dx);
  if (dy && !transpose_y) multiply_into(context, xd, a, !transpose_x, gd, g, false, yd, dy);
  if (dy && transpose_y) multiply_into(context, gd, g, true, xd, a, transpose_x, yd, dy);
}
REGISTER(matmul, Matmul, kFloats)
REGISTER(matmul_grad, MatmulGrad, kFloats)

// ---- convolutions

template <class T>
void convolve(const Context& context, const char* name, const T* x, const T* w, T* y, const Convolution& c) {
#ifdef TABLEREC_CUDA
  if (convolve_with_cudnn<T>(context, name, Pass::kForward, x, w, y, c)) return;
#endif
  launch(context, name, c.images * c.out_channels * c.out_height * c.out_width, DEVICE(int64_t i) {
    int64_t column = i % c.out_width, row = i / c.out_width % c.out_height;
    int64_t out = i / (c.out_width * c.out_height) % c.out_channels, image = i / (c.out_width * c.out_height * c.out_channels);
    int64_t first = out / c.group_out() * c.group_in();
    T sum = 0;
    for (int64_t k = 0; k < c.group_in(); ++k) {
      const T* plane = x + (image * c.channels + first + k) * c.height * c.width;
      const T* kernel = w + (out * c.group_in() + k) * c.kernel_height * c.kernel_width;
      for (int64_t u = 0; u < c.kernel_height; ++u) {
        int64_t h = row * c.stride_y - c.top + u * c.dilation_y;
        if (h < 0 || h >= c.height) continue;
        for (int64_t v = 0; v < c.kernel_width; ++v) {
          int64_t z = column * c.stride_x - c.left + v * c.dilation_x;
          if (z >= 0 && z < c.width) sum += plane[h * c.width + z] * kernel[u * c.kernel_width + v];
        }
      }
    }
    y[i] = sum;
  });
}

template <class T>
void convolution_input_gradient(const Context& context, const char* name, const T* dy, const T* w, T* dx, const Convolution& c) {
#ifdef TABLEREC_CUDA
  if (convolve_with_cudnn<T>(context, name, Pass::kInputGradient, dx, w, dy, c)) return;
#endif
  launch(context, name, c.images * c.channels * c.height * c.width, DEVICE(int64_t i) {
    int64_t column = i % c.width, row = i / c.width % c.height;
    int64_t channel = i / (c.width * c.height) % c.channels, image = i / (c.width * c.height * c.channels);
    int64_t group = channel / c.group_in(), k = channel % c.group_in();
    T sum = 0;
    for (int64_t u = 0; u < c.kernel_height; ++u) {
      int64_t h = row + c.top - u * c.dilation_y;
      if (h < 0 || h % c.stride_y || h / c.stride_y >= c.out_height) continue;
      for (int64_t v = 0; v < c.kernel_width; ++v) {
        int64_t z = column + c.left - v * c.dilation_x;
        if (z < 0 || z % c.stride_x || z / c.stride_x >= c.out_width) continue;
        for (int64_t out = group * c.group_out(); out < (group + 1) * c.group_out(); ++out)
          sum += dy[((image * c.out_channels + out) * c.out_height + h / c.stride_y) * c.out_width + z / c.stride_x] *
                 w[((out * c.group_in() + k) * c.kernel_height + u) * c.kernel_width + v];
      }
    }
    dx[i] = sum;
  });
}

template <class T>
void convolution_filter_gradient(const Context& context, const char* name, const T* x, const T* dy, T* dw, const Convolution& c) {
#ifdef TABLEREC_CUDA
  if (convolve_with_cudnn<T>(context, name, Pass::kFilterGradient, x, dw, dy, c)) return;
#endif
  int64_t places = c.images * c.out_height * c.out_width;
  launch_teams(context, name, c.out_channels * c.group_in() * c.kernel_height * c.kernel_width, places,
               DEVICE(int64_t i, Team team) {
    int64_t v = i % c.kernel_width, u = i / c.kernel_width % c.kernel_height;
    int64_t k = i / (c.kernel_width * c.kernel_height) % c.group_in(), out = i / (c.kernel_width * c.kernel_height * c.group_in());
    int64_t channel = out / c.group_out() * c.group_in() + k;
    double sum = 0;
    for (int64_t j = team.rank; j < places; j += team.size) {
      int64_t column = j % c.out_width, row = j / c.out_width % c.out_height, image = j / (c.out_width * c.out_height);
      int64_t h = row * c.stride_y - c.top + u * c.dilation_y, z = column * c.stride_x - c.left + v * c.dilation_x;
      if (h < 0 || h >= c.height || z < 0 || z >= c.width) continue;
      sum += double(x[((image * c.channels + channel) * c.height + h) * c.width + z]) *
             dy[((image * c.out_channels + out) * c.out_height + row) * c.out_width + column];
    }
    sum = team.sum(sum);
    if (team.rank == 0) dw[i] = T(sum);
  });
}

template <class T>
void convolution_gradients(const Context& context, const char* name, const Tensor& x, const Tensor& w, const Tensor& dout,
                           const Convolution& c, Tensor* dx, Tensor* dw) {
  if (dx) convolution_input_gradient<T>(context, name, read<T>(dout), read<T>(w), write<T>(context, dx), c);
  if (dw) convolution_filter_gradient<T>(context, name, read<T>(x), read<T>(dout), write<T>(context, dw), c);
}

template <class T, class X>
void Conv2d(const X& context, const Tensor& x, const Tensor& w, const std::vector<int>& strides,
            const std::vector<int>& paddings, const std::string& algorithm, const std::vector<int>& dilations, int groups,
            const std::string& layout, Tensor* out) {
  Convolution c("conv2d", x.dims(), w.dims(), strides, paddings, algorithm, dilations, groups, layout);
  convolve<T>(context, "conv2d", read<T>(x), read<T>(w), write<T>(context, out), c);
}
template <class T, class X>
void Conv2dGrad(const X& context, const Tensor& x, const Tensor& w, const Tensor& dout, const std::vector<int>& strides,
                const std::vector<int>& paddings, const std::string& algorithm, const std::vector<int>& dilations,
                int groups, const std::string& layout, Tensor* dx, Tensor* dw) {
  Convolution c("conv2d_grad", x.dims(), w.dims(), strides, paddings, algorithm, dilations, groups, layout);
  convolution_gradients<T>(context, "conv2d_grad", x, w, dout, c, dx, dw);
}
// Depth-wise: Paddle gives `groups` before `dilations`.
template <class T, class X>
void DepthwiseConv2d(const X& context, const Tensor& x, const Tensor& w, const std::vector<int>& strides,
                     const std::vector<int>& paddings, const std::string& algorithm, int groups,
                     const std::vector<int>& dilations, const std::string& layout, Tensor* out) {
  Convolution c("depthwise_conv2d", x.dims(), w.dims(), strides, paddings, algorithm, dilations, groups, layout);
  convolve<T>(context, "depthwise_conv2d", read<T>(x), read<T>(w), write<T>(context, out), c);
}
template <class T, class X>
void DepthwiseConv2dGrad(const X& context, const Tensor& x, const Tensor& w, const Tensor& dout,
                         const std::vector<int>& strides, const std::vector<int>& paddings, const std::string& algorithm,
                         int groups, const std::vector<int>& dilations, const std::string& layout, Tensor* dx, Tensor* dw) {
  Convolution c("depthwise_conv2d_grad", x.dims(), w.dims(), strides, paddings, algorithm, dilations, groups, layout);
  convolution_gradients<T>(context, "depthwise_conv2d_grad", x, w, dout, c, dx, dw);
}
REGISTER(conv2d, Conv2d, kFloats)
REGISTER(conv2d_grad, Conv2dGrad, kFloats)
REGISTER(depthwise_conv2d, DepthwiseConv2d, kFloats)
REGISTER(depthwise_conv2d_grad, DepthwiseConv2dGrad, kFloats)

}  // namespace tablerec
