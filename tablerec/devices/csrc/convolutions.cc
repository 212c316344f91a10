// Convolutions: plain loops here, cuDNN and cuBLAS in the CUDA build.
#include "convolution.h"
#include "depthwise.h"
#include "register.h"
#ifdef TABLEREC_CUDA
#include "libraries.h"
#endif

namespace tablerec {

// With zeros around it, or, where `back`, without them again.
template <class T> void copy_padded(const Context& context, const T* from, T* to, const Convolution& c, bool back) {
  int64_t height = c.height, width = c.width, whole_height = c.height + c.top + c.bottom, whole_width = c.width + c.left + c.right;
  int64_t top = c.top, left = c.left, planes = c.images * c.channels;
  if (back)
    launch(context, "unpad", planes * height * width, DEVICE(int64_t i) {
      int64_t column = i % width, row = i / width % height, plane = i / (width * height);
      to[i] = from[(plane * whole_height + row + top) * whole_width + column + left];
    });
  else
    launch(context, "pad", planes * whole_height * whole_width, DEVICE(int64_t i) {
      int64_t column = i % whole_width - left, row = i / whole_width % whole_height - top, plane = i / (whole_width * whole_height);
      bool inside = row >= 0 && row < height && column >= 0 && column < width;
      to[i] = inside ? from[(plane * height + row) * width + column] : T(0);
    });
}
template <class T> Temporary<T> padded(const Context& context, const T* x, const Convolution& c) {
  auto whole = c.of_padded();
  Temporary<T> copy(context, c.images * c.channels * whole.height * whole.width);
  if (x) copy_padded(context, x, copy.data, c, false);
  return copy;
}

template <class T>
void convolve(const Context& context, const char* name, const T* x, const T* w, T* y, const Convolution& c) {
  if constexpr (!std::is_same<T, double>::value)
    if (depthwise_forward(context, name, x, w, y, c)) return;
  if (!c.padded_evenly()) return convolve<T>(context, name, padded(context, x, c).data, w, y, c.of_padded());
#ifdef TABLEREC_CUDA
  if (convolve_with_libraries<T>(context, name, Pass::kForward, x, w, y, c)) return;
#endif
  launch(context, name, c.images * c.out_channels * c.out_height * c.out_width, DEVICE(int64_t i) {
    int64_t column = i % c.out_width, row = i / c.out_width % c.out_height;
    int64_t out = i / (c.out_width * c.out_height) % c.out_channels, image = i / (c.out_width * c.out_height * c.out_channels);
    int64_t first = out / c.group_out() * c.group_in();
    Compute<T> sum = 0;
    for (int64_t k = 0; k < c.group_in(); ++k) {
      const T* plane = x + (image * c.channels + first + k) * c.height * c.width;
      const T* kernel = w + (out * c.group_in() + k) * c.kernel_height * c.kernel_width;
      for (int64_t u = 0; u < c.kernel_height; ++u) {
        int64_t h = row * c.stride_y - c.top + u * c.dilation_y;
        if (h < 0 || h >= c.height) continue;
        for (int64_t v = 0; v < c.kernel_width; ++v) {
          int64_t z = column * c.stride_x - c.left + v * c.dilation_x;
          if (z >= 0 && z < c.width) sum += Compute<T>(plane[h * c.width + z]) * Compute<T>(kernel[u * c.kernel_width + v]);
        }
      }
    }
    y[i] = T(sum);
  });
}

template <class T>
void convolution_input_gradient(const Context& context, const char* name, const T* dy, const T* w, T* dx, const Convolution& c) {
  if constexpr (!std::is_same<T, double>::value)
    if (depthwise_input_gradient(context, name, dy, w, dx, c)) return;
  if (!c.padded_evenly()) {
    Temporary<T> whole = padded<T>(context, nullptr, c);
    convolution_input_gradient<T>(context, name, dy, w, whole.data, c.of_padded());
    copy_padded<T>(context, whole.data, dx, c, true);
    return;
  }
#ifdef TABLEREC_CUDA
  if (convolve_with_libraries<T>(context, name, Pass::kInputGradient, dx, w, dy, c)) return;
#endif
  launch(context, name, c.images * c.channels * c.height * c.width, DEVICE(int64_t i) {
    int64_t column = i % c.width, row = i / c.width % c.height;
    int64_t channel = i / (c.width * c.height) % c.channels, image = i / (c.width * c.height * c.channels);
    int64_t group = channel / c.group_in(), k = channel % c.group_in();
    Compute<T> sum = 0;
    for (int64_t u = 0; u < c.kernel_height; ++u) {
      int64_t h = row + c.top - u * c.dilation_y;
      if (h < 0 || h % c.stride_y || h / c.stride_y >= c.out_height) continue;
      for (int64_t v = 0; v < c.kernel_width; ++v) {
        int64_t z = column + c.left - v * c.dilation_x;
        if (z < 0 || z % c.stride_x || z / c.stride_x >= c.out_width) continue;
        for (int64_t out = group * c.group_out(); out < (group + 1) * c.group_out(); ++out)
          sum += Compute<T>(dy[((image * c.out_channels + out) * c.out_height + h / c.stride_y) * c.out_width + z / c.stride_x]) *
                 Compute<T>(w[((out * c.group_in() + k) * c.kernel_height + u) * c.kernel_width + v]);
      }
    }
    dx[i] = T(sum);
  });
}

template <class T>
void convolution_filter_gradient(const Context& context, const char* name, const T* x, const T* dy, T* dw, const Convolution& c) {
  if constexpr (!std::is_same<T, double>::value)
    if (depthwise_filter_gradient(context, name, x, dy, dw, c)) return;
  if (!c.padded_evenly()) return convolution_filter_gradient<T>(context, name, padded(context, x, c).data, dy, dw, c.of_padded());
#ifdef TABLEREC_CUDA
  if (convolve_with_libraries<T>(context, name, Pass::kFilterGradient, x, dw, dy, c)) return;
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
             double(dy[((image * c.out_channels + out) * c.out_height + row) * c.out_width + column]);
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
REGISTER(conv2d, Conv2d, kFloats + kHalves)
REGISTER(conv2d_grad, Conv2dGrad, kFloats + kHalves)
REGISTER(depthwise_conv2d, DepthwiseConv2d, kFloats + kHalves)
REGISTER(depthwise_conv2d_grad, DepthwiseConv2dGrad, kFloats + kHalves)

// ---- transposed convolutions: the input gradient of the convolution that goes from their output to their input

template <class T>
void transposed_gradients(const Context& context, const char* name, const Tensor& x, const Tensor& w, const Tensor& dout,
                          const Convolution& c, Tensor* dx, Tensor* dw) {
  if (dw) convolution_filter_gradient<T>(context, name, read<T>(dout), read<T>(x), write<T>(context, dw), c);
  if (dx) convolve<T>(context, name, read<T>(dout), read<T>(w), write<T>(context, dx), c);
}
// Paddle has another name where each channel has a filter of its own; the arguments are the same.
#define TRANSPOSED(name, Function)                                                                                         \
  template <class T, class X>                                                                                              \
  void Function(const X& context, const Tensor& x, const Tensor& w, const std::vector<int>& strides,                       \
                const std::vector<int>& paddings, const std::vector<int>&, const phi::IntArray&,                           \
                const std::string& algorithm, int groups, const std::vector<int>& dilations, const std::string& layout,    \
                Tensor* out) {                                                                                             \
    auto c = Convolution::transposed(#name, x.dims(), w.dims(), out->dims(), strides, paddings, algorithm, dilations,      \
                                     groups, layout);                                                                      \
    convolution_input_gradient<T>(context, #name, read<T>(x), read<T>(w), write<T>(context, out), c);                      \
  }                                                                                                                        \
  template <class T, class X>                                                                                              \
  void Function##Grad(const X& context, const Tensor& x, const Tensor& w, const Tensor& dout,                              \
                      const std::vector<int>& strides, const std::vector<int>& paddings, const std::vector<int>&,          \
                      const phi::IntArray&, const std::string& algorithm, int groups, const std::vector<int>& dilations,   \
                      const std::string& layout, Tensor* dx, Tensor* dw) {                                                 \
    auto c = Convolution::transposed(#name "_grad", x.dims(), w.dims(), dout.dims(), strides, paddings, algorithm,         \
                                     dilations, groups, layout);                                                           \
    transposed_gradients<T>(context, #name "_grad", x, w, dout, c, dx, dw);                                                \
  }                                                                                                                        \
  REGISTER(name, Function, kFloats + kHalves)                                                                              \
  REGISTER(name##_grad, Function##Grad, kFloats + kHalves)
TRANSPOSED(conv2d_transpose, Conv2dTranspose)
TRANSPOSED(depthwise_conv2d_transpose, DepthwiseConv2dTranspose)

}  // namespace tablerec
