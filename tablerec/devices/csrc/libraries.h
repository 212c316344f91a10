// cuBLAS and cuDNN, opened when first needed: importing Paddle never fails because one is absent.
#pragma once
#include <cublas_v2.h>
#include <cudnn.h>
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <map>

#include "convolution.h"

namespace tablerec {

inline void* open_library(const char* file, const char* wanted_by) {
  void* library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
  PADDLE_ENFORCE_EQ(library != nullptr, true,
                    common::errors::Unavailable("%s on %s needs %s, which cannot be opened (%s). Install NVIDIA's wheels "
                                                "nvidia-cudnn-cu13 and nvidia-cublas, or set LD_LIBRARY_PATH.",
                                                wanted_by, device_name(), file, dlerror()));
  return library;
}
template <class F> F* find_function(void* library, const char* name) {
  void* found = dlsym(library, name);
  PADDLE_ENFORCE_EQ(found != nullptr, true, common::errors::Unavailable("%s is missing: %s", name, dlerror()));
  return reinterpret_cast<F*>(found);
}
#define LIBRARY_FUNCTION(name) decltype(::name)* name = find_function<decltype(::name)>(library, #name)

inline bool tf32_allowed() {
  static const bool allowed = [] {
    const char* value = getenv("TABLEREC_TF32");
    return value && *value == '1';
  }();
  return allowed;
}

// ---- cuBLAS

struct Cublas {
  void* library = open_library("libcublas.so.13", "matmul");
  LIBRARY_FUNCTION(cublasCreate_v2);
  LIBRARY_FUNCTION(cublasSetStream_v2);
  // Spelled out: the header overloads this one.
  using Gemm = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*, const void*,
                              cudaDataType, int, long long, const void*, cudaDataType, int, long long, const void*, void*,
                              cudaDataType, int, long long, int, cublasComputeType_t, cublasGemmAlgo_t);
  Gemm* gemm = find_function<Gemm>(library, "cublasGemmStridedBatchedEx");
};
inline Cublas& cublas() {
  static Cublas* only = new Cublas;
  return *only;
}
inline int current_device() {
  int device = 0;
  cudaGetDevice(&device);
  return device;
}
// A handle belongs to a device and serves one thread at a time.
inline cublasHandle_t cublas_handle(const Context& context) {
  static thread_local std::map<int, cublasHandle_t> handles;
  auto& handle = handles[current_device()];
  if (!handle) {
    auto status = cublas().cublasCreate_v2(&handle);
    PADDLE_ENFORCE_EQ(int(status), 0, common::errors::External("cublasCreate failed with status %d", int(status)));
  }
  cublas().cublasSetStream_v2(handle, stream_of(context));
  return handle;
}

// False where the strides fit no single call; plain loops then do it.
template <class T, class P>
bool multiply_with_cublas(const Context& context, const char* name, const T* x, const T* y, T* out, const P& p) {
  if (!p.rows || !p.columns || !p.inner || !p.batch || p.batches.rank > 1) return false;
  constexpr bool is_double = std::is_same<T, double>::value;
  auto handle = cublas_handle(context);
  int64_t x_batch = p.batches.rank ? p.batches.stride[0][0] : 0, y_batch = p.batches.rank ? p.batches.stride[1][0] : 0;
  // cuBLAS counts columns first: out^T = y^T x^T, and a row-major matrix is the transpose of a column-major one.
  bool x_plain = p.x_inner == 1, y_plain = p.y_column == 1;
  int64_t x_lead = std::max<int64_t>(x_plain ? p.x_row : p.x_inner, x_plain ? p.inner : p.rows);
  int64_t y_lead = std::max<int64_t>(y_plain ? p.y_inner : p.y_column, y_plain ? p.columns : p.inner);
  float one = 1, zero = 0;
  double one_double = 1, zero_double = 0;
  auto type = is_double ? CUDA_R_64F : CUDA_R_32F;
  auto compute = is_double ? CUBLAS_COMPUTE_64F : (tf32_allowed() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F);
  const void *alpha = is_double ? static_cast<void*>(&one_double) : &one, *beta = is_double ? static_cast<void*>(&zero_double) : &zero;
  count_kernel(name);
  auto status = cublas().gemm(
      handle, y_plain ? CUBLAS_OP_N : CUBLAS_OP_T, x_plain ? CUBLAS_OP_N : CUBLAS_OP_T, int(p.columns), int(p.rows), int(p.inner),
      alpha, y, type, int(y_lead), y_batch, x, type, int(x_lead), x_batch, beta, out, type, int(p.columns),
      p.rows * p.columns, int(p.batch), compute, CUBLAS_GEMM_DEFAULT);
  PADDLE_ENFORCE_EQ(int(status), 0, common::errors::External("%s: cuBLAS failed with status %d", name, int(status)));
  return true;
}

// ---- cuDNN

struct Cudnn {
  void* library = open_library("libcudnn.so.9", "conv2d");
  LIBRARY_FUNCTION(cudnnCreate);
  LIBRARY_FUNCTION(cudnnSetStream);
  LIBRARY_FUNCTION(cudnnGetErrorString);
  LIBRARY_FUNCTION(cudnnCreateTensorDescriptor);
  LIBRARY_FUNCTION(cudnnSetTensor4dDescriptor);
  LIBRARY_FUNCTION(cudnnCreateFilterDescriptor);
  LIBRARY_FUNCTION(cudnnSetFilter4dDescriptor);
  LIBRARY_FUNCTION(cudnnCreateConvolutionDescriptor);
  LIBRARY_FUNCTION(cudnnSetConvolution2dDescriptor);
  LIBRARY_FUNCTION(cudnnSetConvolutionGroupCount);
  LIBRARY_FUNCTION(cudnnSetConvolutionMathType);
  LIBRARY_FUNCTION(cudnnGetConvolutionForwardAlgorithm_v7);
  LIBRARY_FUNCTION(cudnnGetConvolutionBackwardDataAlgorithm_v7);
  LIBRARY_FUNCTION(cudnnGetConvolutionBackwardFilterAlgorithm_v7);
  LIBRARY_FUNCTION(cudnnConvolutionForward);
  LIBRARY_FUNCTION(cudnnConvolutionBackwardData);
  LIBRARY_FUNCTION(cudnnConvolutionBackwardFilter);
};
inline Cudnn& cudnn() {
  static Cudnn* only = new Cudnn;
  return *only;
}
inline void check(cudnnStatus_t status, const char* name) {
  PADDLE_ENFORCE_EQ(int(status), 0, common::errors::External("%s: cuDNN: %s", name, cudnn().cudnnGetErrorString(status)));
}
inline cudnnHandle_t cudnn_handle(const Context& context) {
  static thread_local std::map<int, cudnnHandle_t> handles;
  auto& handle = handles[current_device()];
  if (!handle) check(cudnn().cudnnCreate(&handle), "cudnnCreate");
  check(cudnn().cudnnSetStream(handle, stream_of(context)), "cudnnSetStream");
  return handle;
}

enum class Pass { kForward, kInputGradient, kFilterGradient };

// Descriptors and the algorithm of one convolution; made once for each geometry.
struct Plan {
  cudnnTensorDescriptor_t x, y;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t convolution;
  int algorithm = 0;
  size_t workspace = 0;
};

constexpr size_t kLargestWorkspace = size_t(1) << 30;

template <class Results> void choose(Plan* plan, const Results& results, int count, const char* name) {
  for (int k = 0; k < count; ++k) {
    if (results[k].status != CUDNN_STATUS_SUCCESS || results[k].memory > kLargestWorkspace) continue;
    plan->algorithm = int(results[k].algo);
    plan->workspace = results[k].memory;
    return;
  }
  PADDLE_THROW(common::errors::External("%s: cuDNN knows no algorithm for this convolution", name));
}

inline Plan make_plan(cudnnHandle_t handle, const char* name, Pass pass, const Convolution& c, cudnnDataType_t type) {
  auto& d = cudnn();
  Plan p;
  check(d.cudnnCreateTensorDescriptor(&p.x), name);
  check(d.cudnnCreateTensorDescriptor(&p.y), name);
  check(d.cudnnCreateFilterDescriptor(&p.w), name);
  check(d.cudnnCreateConvolutionDescriptor(&p.convolution), name);
  check(d.cudnnSetTensor4dDescriptor(p.x, CUDNN_TENSOR_NCHW, type, c.images, c.channels, c.height, c.width), name);
  check(d.cudnnSetTensor4dDescriptor(p.y, CUDNN_TENSOR_NCHW, type, c.images, c.out_channels, c.out_height, c.out_width), name);
  check(d.cudnnSetFilter4dDescriptor(p.w, type, CUDNN_TENSOR_NCHW, c.out_channels, c.group_in(), c.kernel_height, c.kernel_width), name);
  check(d.cudnnSetConvolution2dDescriptor(p.convolution, c.top, c.left, c.stride_y, c.stride_x, c.dilation_y, c.dilation_x,
                                          CUDNN_CROSS_CORRELATION, type), name);
  check(d.cudnnSetConvolutionGroupCount(p.convolution, c.groups), name);
  check(d.cudnnSetConvolutionMathType(p.convolution, tf32_allowed() ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH), name);
  int count = 0;
  if (pass == Pass::kForward) {
    cudnnConvolutionFwdAlgoPerf_t results[8];
    check(d.cudnnGetConvolutionForwardAlgorithm_v7(handle, p.x, p.w, p.convolution, p.y, 8, &count, results), name);
    choose(&p, results, count, name);
  } else if (pass == Pass::kInputGradient) {
    cudnnConvolutionBwdDataAlgoPerf_t results[8];
    check(d.cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, p.w, p.y, p.convolution, p.x, 8, &count, results), name);
    choose(&p, results, count, name);
  } else {
    cudnnConvolutionBwdFilterAlgoPerf_t results[8];
    check(d.cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, p.x, p.y, p.convolution, p.w, 8, &count, results), name);
    choose(&p, results, count, name);
  }
  return p;
}

inline const Plan& plan_for(cudnnHandle_t handle, const char* name, Pass pass, const Convolution& c, cudnnDataType_t type) {
  using Key = std::array<int64_t, 19>;
  static thread_local std::map<Key, Plan> plans;
  Key key = {current_device(), int64_t(pass), int64_t(type), c.images, c.channels, c.height, c.width, c.out_channels,
             c.kernel_height, c.kernel_width, c.groups, c.stride_y, c.stride_x, c.dilation_y, c.dilation_x, c.top,
             c.left, c.out_height, c.out_width};
  auto found = plans.find(key);
  if (found == plans.end()) found = plans.emplace(key, make_plan(handle, name, pass, c, type)).first;
  return found->second;
}

// One of the three tensors is the result, as `pass` says. False where cuDNN cannot: uneven padding, nothing to do.
template <class T, class A, class B, class D>
bool convolve_with_cudnn(const Context& context, const char* name, Pass pass, A* x, B* w, D* y, const Convolution& c) {
  if (c.top != c.bottom || c.left != c.right || !x || !w || !y) return false;
  auto handle = cudnn_handle(context);
  auto& d = cudnn();
  auto& plan = plan_for(handle, name, pass, c, std::is_same<T, double>::value ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
  Temporary<uint8_t> workspace(context, std::max<int64_t>(plan.workspace, 1));
  Compute<T> one = 1, zero = 0;
  count_kernel(name);
  void *to_x = const_cast<T*>(x), *to_w = const_cast<T*>(w), *to_y = const_cast<T*>(y);
  cudnnStatus_t status;
  if (pass == Pass::kForward)
    status = d.cudnnConvolutionForward(handle, &one, plan.x, x, plan.w, w, plan.convolution, cudnnConvolutionFwdAlgo_t(plan.algorithm),
                                       workspace.data, plan.workspace, &zero, plan.y, to_y);
  else if (pass == Pass::kInputGradient)
    status = d.cudnnConvolutionBackwardData(handle, &one, plan.w, w, plan.y, y, plan.convolution,
                                            cudnnConvolutionBwdDataAlgo_t(plan.algorithm), workspace.data, plan.workspace, &zero,
                                            plan.x, to_x);
  else
    status = d.cudnnConvolutionBackwardFilter(handle, &one, plan.x, x, plan.y, y, plan.convolution,
                                              cudnnConvolutionBwdFilterAlgo_t(plan.algorithm), workspace.data, plan.workspace,
                                              &zero, plan.w, to_w);
  check(status, name);
  return true;
}

}  // namespace tablerec
