// Depth-wise convolutions of square kernels of 3, 5, 7 or 9, strides 1 and 2, in float32 and half precision.
// Each function returns false, and does nothing, for any other convolution.
#pragma once
#include "convolution.h"

namespace tablerec {

template <class T>
bool depthwise_forward(const Context& context, const char* name, const T* x, const T* w, T* y, const Convolution& c);
template <class T>
bool depthwise_input_gradient(const Context& context, const char* name, const T* dy, const T* w, T* dx, const Convolution& c);
template <class T>
bool depthwise_filter_gradient(const Context& context, const char* name, const T* x, const T* dy, T* dw, const Convolution& c);

}  // namespace tablerec
