// Depth-wise convolutions of square kernels of 3, 5, 7 or 9, strides 1 and 2, and of kernels of 1 x 9 on rows of whole
// strips, in float32 and half precision. Each function returns false, and does nothing, for any other convolution.
#pragma once
#include "convolution.h"

namespace tablerec {

template <class T>
bool depthwise_forward(const Context& context, const char* name, const T* x, const T* w, T* y, const Convolution& c);
template <class T>
bool depthwise_input_gradient(const Context& context, const char* name, const T* dy, const T* w, T* dx, const Convolution& c);
template <class T>
bool depthwise_filter_gradient(const Context& context, const char* name, const T* x, const T* dy, T* dw, const Convolution& c);

// The same where planes are low; with `turned` the input gradient.
template <class T>
bool depthwise_rows(const Context& context, const char* name, const T* in, const T* w, T* out, const Convolution& c, bool turned);
template <class T>
bool depthwise_rows_filter_gradient(const Context& context, const char* name, const T* x, const T* dy, T* dw, const Convolution& c);

// dw = the sums of the chunks, `count` in each, always in the same order.
template <class T> void add_chunks(const Context& context, const float* partial, int64_t chunks, int64_t count, T* dw) {
  launch(context, "depthwise_chunks", count, DEVICE(int64_t i) {
    double sum = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) sum += partial[chunk * count + i];
    dw[i] = T(sum);
  });
}

}  // namespace tablerec
