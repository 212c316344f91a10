// cuBLAS and cuDNN, opened when first needed: importing Paddle never fails because one is absent.
#pragma once
#include <cublas_v2.h>
#include <cudnn.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "convolution.h"
#include "graph.h"
#include "library.h"

namespace tablerec {

inline bool tf32_allowed() {
  static const bool allowed = [] {
    const char* value = getenv("TABLEREC_TF32");
    return value && *value == '1';
  }();
  return allowed;
}

// ---- cuBLAS

struct Cublas {
  void* library = open_library("TABLEREC_CUBLAS", "libcublas.so.13", "matmul", "nvidia-cublas");
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
// A library's handle and the stream that it was given last: giving it costs the host time. A handle belongs to a device
// and serves one thread at a time.
template <class Handle> struct OnStream {
  Handle handle = nullptr;
  cudaStream_t stream = nullptr;
};
inline cublasHandle_t cublas_handle(const Context& context) {
  static thread_local std::map<int, OnStream<cublasHandle_t>> handles;
  auto& [handle, stream] = handles[current_device()];
  if (!handle) {
    auto status = cublas().cublasCreate_v2(&handle);
    PADDLE_ENFORCE_EQ(int(status), 0, common::errors::External("cublasCreate failed with status %d", int(status)));
  }
  if (stream != stream_of(context)) {
    cublas().cublasSetStream_v2(handle, stream_of(context));
    stream = stream_of(context);
  }
  return handle;
}

// Float sums in all but double; alpha and beta are of the same type.
template <class T> struct LibraryType;
template <> struct LibraryType<float> {
  static constexpr auto cuda = CUDA_R_32F;
  static constexpr auto cudnn = CUDNN_DATA_FLOAT;
};
template <> struct LibraryType<double> {
  static constexpr auto cuda = CUDA_R_64F;
  static constexpr auto cudnn = CUDNN_DATA_DOUBLE;
};
template <> struct LibraryType<phi::dtype::float16> {
  static constexpr auto cuda = CUDA_R_16F;
  static constexpr auto cudnn = CUDNN_DATA_HALF;
};
template <> struct LibraryType<phi::dtype::bfloat16> {
  static constexpr auto cuda = CUDA_R_16BF;
  static constexpr auto cudnn = CUDNN_DATA_BFLOAT16;
};

// A matrix, or one for each item of a batch: the steps from row to row, column to column and item to item. One of the
// first two is 1.
template <class T> struct Matrix {
  const T* data;
  int64_t row, column, item;
  bool plain() const { return column == 1; }
  int64_t lead(int64_t rows, int64_t columns) const {
    return std::max<int64_t>(plain() ? row : column, plain() ? columns : rows);
  }
};

// out (items x rows x columns) = a (rows x inner) * b (inner x columns).
template <class T, class R>
void multiply_matrices(const Context& context, const char* name, int64_t items, int64_t rows, int64_t columns, int64_t inner,
                       const Matrix<T>& a, const Matrix<T>& b, R* out) {
  using C = Compute<T>;
  C one = 1, zero = 0;
  auto compute = std::is_same<T, double>::value ? CUBLAS_COMPUTE_64F
                 : std::is_same<T, float>::value && tf32_allowed() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  // cuBLAS counts columns first: out^T = b^T a^T, and a row-major matrix is the transpose of a column-major one.
  auto status = cublas().gemm(
      cublas_handle(context), b.plain() ? CUBLAS_OP_N : CUBLAS_OP_T, a.plain() ? CUBLAS_OP_N : CUBLAS_OP_T, int(columns),
      int(rows), int(inner), &one, b.data, LibraryType<T>::cuda, int(b.lead(inner, columns)), b.item, a.data,
      LibraryType<T>::cuda, int(a.lead(rows, inner)), a.item, &zero, out, LibraryType<R>::cuda, int(columns), rows * columns,
      int(items), compute, CUBLAS_GEMM_DEFAULT);
  PADDLE_ENFORCE_EQ(int(status), 0, common::errors::External("%s: cuBLAS failed with status %d", name, int(status)));
}

// False where the strides fit no single call; plain loops then do it.
template <class T, class P>
bool multiply_with_cublas(const Context& context, const char* name, const T* x, const T* y, T* out, const P& p) {
  if (!p.rows || !p.columns || !p.inner || !p.batch || p.batches.rank > 1) return false;
  bool several = p.batches.rank;
  Matrix<T> a{x, p.x_row, p.x_inner, several ? p.batches.stride[0][0] : 0};
  Matrix<T> b{y, p.y_inner, p.y_column, several ? p.batches.stride[1][0] : 0};
  KernelScope scope(name, context.stream());
  multiply_matrices(context, name, p.batch, p.rows, p.columns, p.inner, a, b, out);
  return true;
}

// ---- cuDNN

struct Cudnn {
  void* library = open_library("TABLEREC_CUDNN", "libcudnn.so.9", "conv2d", "nvidia-cudnn-cu13");
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
  static thread_local std::map<int, OnStream<cudnnHandle_t>> handles;
  auto& [handle, stream] = handles[current_device()];
  if (!handle) check(cudnn().cudnnCreate(&handle), "cudnnCreate");
  if (stream != stream_of(context)) {
    check(cudnn().cudnnSetStream(handle, stream_of(context)), "cudnnSetStream");
    stream = stream_of(context);
  }
  return handle;
}

enum class Pass { kForward, kInputGradient, kFilterGradient };

// A way to compute a convolution: an algorithm of cuDNN, or products of matrices by cuBLAS.
struct Way {
  bool by_products;
  int algorithm;
  cudnnMathType_t math;
  size_t workspace;
  bool deterministic;
};

// Descriptors and the way of one convolution; made once for each geometry.
struct Plan {
  cudnnTensorDescriptor_t x, y;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t convolution;
  Way way;
};

constexpr size_t kLargestWorkspace = size_t(1) << 31;

// TABLEREC_AUTOTUNE=0: the way is not measured; the first deterministic one in cuDNN's order is taken.
// TABLEREC_AUTOTUNE=report: what was measured is written to standard error.
inline const std::string& autotune() {
  static const auto* value = new std::string(getenv("TABLEREC_AUTOTUNE") ? getenv("TABLEREC_AUTOTUNE") : "");
  return *value;
}

template <class Results> void add_ways(const Results& results, int count, std::vector<Way>* ways) {
  for (int k = 0; k < count; ++k)
    if (results[k].status == CUDNN_STATUS_SUCCESS && results[k].memory <= kLargestWorkspace)
      ways->push_back({false, int(results[k].algo), results[k].mathType, results[k].memory,
                       results[k].determinism == CUDNN_DETERMINISTIC});
}

// The ways that fit, cuDNN's guess of the fastest first.
inline std::vector<Way> list_ways(cudnnHandle_t handle, const char* name, Pass pass, const Plan& p, const Convolution& c) {
  auto& d = cudnn();
  std::vector<Way> ways;
  // A kernel of one place is a product of matrices in NCHW as it lies: nothing is transposed.
  if (c.kernel_height == 1 && c.kernel_width == 1 && c.groups == 1 && c.stride_y == 1 && c.stride_x == 1 && !c.top && !c.left)
    ways.push_back({true, 0, CUDNN_DEFAULT_MATH, 0, true});
  int count = 0;
  constexpr int most = 16;
  if (pass == Pass::kForward) {
    cudnnConvolutionFwdAlgoPerf_t results[most];
    check(d.cudnnGetConvolutionForwardAlgorithm_v7(handle, p.x, p.w, p.convolution, p.y, most, &count, results), name);
    add_ways(results, count, &ways);
  } else if (pass == Pass::kInputGradient) {
    cudnnConvolutionBwdDataAlgoPerf_t results[most];
    check(d.cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, p.w, p.y, p.convolution, p.x, most, &count, results), name);
    add_ways(results, count, &ways);
  } else {
    cudnnConvolutionBwdFilterAlgoPerf_t results[most];
    check(d.cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, p.x, p.y, p.convolution, p.w, most, &count, results), name);
    add_ways(results, count, &ways);
  }
  if (ways.empty()) PADDLE_THROW(common::errors::External("%s: cuDNN knows no algorithm for this convolution", name));
  return ways;
}

// cuDNN's proposal, but where float32 must stay float32 no TF32, and no half precision in any case.
template <class T> cudnnMathType_t math_type(cudnnMathType_t proposed) {
  if (!std::is_same<T, float>::value) return proposed;
  if (!tf32_allowed()) return CUDNN_FMA_MATH;
  return proposed == CUDNN_FMA_MATH ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
}

template <class T> Plan describe(const char* name, const Convolution& c) {
  auto& d = cudnn();
  constexpr auto type = LibraryType<T>::cudnn;
  Plan p;
  check(d.cudnnCreateTensorDescriptor(&p.x), name);
  check(d.cudnnCreateTensorDescriptor(&p.y), name);
  check(d.cudnnCreateFilterDescriptor(&p.w), name);
  check(d.cudnnCreateConvolutionDescriptor(&p.convolution), name);
  check(d.cudnnSetTensor4dDescriptor(p.x, CUDNN_TENSOR_NCHW, type, c.images, c.channels, c.height, c.width), name);
  check(d.cudnnSetTensor4dDescriptor(p.y, CUDNN_TENSOR_NCHW, type, c.images, c.out_channels, c.out_height, c.out_width), name);
  check(d.cudnnSetFilter4dDescriptor(p.w, type, CUDNN_TENSOR_NCHW, c.out_channels, c.group_in(), c.kernel_height, c.kernel_width), name);
  check(d.cudnnSetConvolution2dDescriptor(p.convolution, c.top, c.left, c.stride_y, c.stride_x, c.dilation_y, c.dilation_x,
                                          CUDNN_CROSS_CORRELATION, LibraryType<Compute<T>>::cudnn), name);
  check(d.cudnnSetConvolutionGroupCount(p.convolution, c.groups), name);
  check(d.cudnnSetConvolutionMathType(p.convolution, math_type<T>(sizeof(T) == 2 ? CUDNN_TENSOR_OP_MATH : CUDNN_DEFAULT_MATH)), name);
  return p;
}

// A convolution with a kernel of one place. Sums of the filter's gradient over the images are in float.
template <class T>
void convolve_by_products(const Context& context, const char* name, Pass pass, T* x, T* w, T* y, const Convolution& c) {
  int64_t in = c.channels, out = c.out_channels, pixels = c.height * c.width, images = c.images;
  Matrix<T> planes_x{x, pixels, 1, in * pixels}, planes_y{y, pixels, 1, out * pixels};
  if (pass == Pass::kForward) {
    multiply_matrices(context, name, images, out, pixels, in, Matrix<T>{w, in, 1, 0}, planes_x, y);
  } else if (pass == Pass::kInputGradient) {
    multiply_matrices(context, name, images, in, pixels, out, Matrix<T>{w, 1, in, 0}, planes_y, x);
  } else {
    using C = Compute<T>;
    int64_t weights = out * in;
    Temporary<C> each(context, images * weights);
    auto from = each.data;
    multiply_matrices(context, name, images, out, in, pixels, planes_y, Matrix<T>{x, 1, pixels, in * pixels}, from);
    launch(context, "conv2d_sum_images", weights, DEVICE(int64_t i) {
      C sum = 0;
      for (int64_t image = 0; image < images; ++image) sum += from[image * weights + i];
      w[i] = T(sum);
    });
  }
}

template <class T>
void convolve_by(const Way& way, const Context& context, cudnnHandle_t handle, const char* name, Pass pass, const Plan& plan,
                 T* x, T* w, T* y, const Convolution& c) {
  if (way.by_products) return convolve_by_products(context, name, pass, x, w, y, c);
  auto& d = cudnn();
  Temporary<uint8_t> workspace(context, std::max<int64_t>(way.workspace, 1));
  Compute<T> one = 1, zero = 0;
  cudnnStatus_t status;
  if (pass == Pass::kForward)
    status = d.cudnnConvolutionForward(handle, &one, plan.x, x, plan.w, w, plan.convolution, cudnnConvolutionFwdAlgo_t(way.algorithm),
                                       workspace.data, way.workspace, &zero, plan.y, y);
  else if (pass == Pass::kInputGradient)
    status = d.cudnnConvolutionBackwardData(handle, &one, plan.w, w, plan.y, y, plan.convolution,
                                            cudnnConvolutionBwdDataAlgo_t(way.algorithm), workspace.data, way.workspace, &zero,
                                            plan.x, x);
  else
    status = d.cudnnConvolutionBackwardFilter(handle, &one, plan.x, x, plan.y, y, plan.convolution,
                                              cudnnConvolutionBwdFilterAlgo_t(way.algorithm), workspace.data, way.workspace,
                                              &zero, plan.w, w);
  check(status, name);
}

// Milliseconds that the stream needs for `run`; waits for it.
template <class F> float measure(const Context& context, F run) {
  cudaEvent_t from, to;
  cudaEventCreate(&from);
  cudaEventCreate(&to);
  cudaEventRecord(from, stream_of(context));
  float milliseconds = std::numeric_limits<float>::infinity();
  try {
    run();
    cudaEventRecord(to, stream_of(context));
    if (cudaEventSynchronize(to) == cudaSuccess) cudaEventElapsedTime(&milliseconds, from, to);
  } catch (const std::exception&) {  // too little memory, or listed by cuDNN and then refused
  }
  cudaGetLastError();
  cudaEventDestroy(from);
  cudaEventDestroy(to);
  return milliseconds;
}

// The fastest way by measurement; among those within five per cent of it, one that is deterministic.
template <class F> Way fastest(const Context& context, const char* name, const std::vector<Way>& ways, F run) {
  constexpr int repeats = 3;
  constexpr float never = std::numeric_limits<float>::infinity();
  float best[2] = {never, never};  // of those that are not deterministic, and of those that are
  Way found[2];
  for (auto& way : ways) {
    // Loads kernels and fills the pool, which takes its time.
    float first = measure(context, [&] { run(way); });
    if (!(first < 100 + 4 * std::min(best[0], best[1]))) continue;
    float each = measure(context, [&] {
      for (int k = 0; k < repeats; ++k) run(way);
    }) / repeats;
    if (autotune() == "report")
      fprintf(stderr, "  %s %d, math %d, %.0f MB%s: %.3f ms\n", way.by_products ? "products" : "cuDNN", way.algorithm, int(way.math),
              way.workspace / 1e6, way.deterministic ? "" : ", not deterministic", each);
    if (each < best[way.deterministic]) {
      best[way.deterministic] = each;
      found[way.deterministic] = way;
    }
  }
  if (std::min(best[0], best[1]) == never)
    PADDLE_THROW(common::errors::External("%s: none of cuDNN's algorithms ran for this convolution; with little memory left, "
                                          "try smaller batches", name));
  return found[best[1] <= 1.05f * best[0]];
}

// One of the three tensors is the result, as `pass` says. False where there is nothing to do.
template <class T, class A, class B, class D>
bool convolve_with_libraries(const Context& context, const char* name, Pass pass, A* given_x, B* given_w, D* given_y,
                             const Convolution& c) {
  T *x = const_cast<T*>(given_x), *w = const_cast<T*>(given_w), *y = const_cast<T*>(given_y);
  if (!x || !w || !y) return false;
  using Key = std::array<int64_t, 19>;
  static thread_local std::map<Key, Plan> plans;
  Key key = {current_device(), int64_t(pass), int64_t(LibraryType<T>::cudnn), c.images, c.channels, c.height, c.width,
             c.out_channels, c.kernel_height, c.kernel_width, c.groups, c.stride_y, c.stride_x, c.dilation_y, c.dilation_x,
             c.top, c.left, c.out_height, c.out_width};
  auto handle = cudnn_handle(context);
  KernelScope scope(name, context.stream());
  auto set_math = [](const Plan& plan, const Way& way) {
    if (!way.by_products) check(cudnn().cudnnSetConvolutionMathType(plan.convolution, math_type<T>(way.math)), "conv2d");
  };
  auto known = plans.find(key);
  if (known == plans.end()) {
    Plan plan = describe<T>(name, c);
    auto ways = list_ways(handle, name, pass, plan, c);
    auto run = [&](const Way& way) {
      set_math(plan, way);
      convolve_by(way, context, handle, name, pass, plan, x, w, y, c);
    };
    if (autotune() == "report")
      fprintf(stderr, "%s pass %d, %d bytes: [%d, %d, %d, %d] * [%d, %d, %d, %d] / %d, groups %d\n", name, int(pass), int(sizeof(T)),
              int(c.images), int(c.channels), int(c.height), int(c.width), int(c.out_channels), int(c.group_in()),
              int(c.kernel_height), int(c.kernel_width), c.stride_y, int(c.groups));
    if (autotune() != "0" && refused_by_capture("the measuring of a convolution that is seen for the first time"))
      PADDLE_THROW(common::errors::Unavailable("%s: a convolution cannot be measured while a graph is captured", name));
    if (autotune() != "0") {
      plan.way = fastest(context, name, ways, run);
    } else {
      auto sure = std::find_if(ways.begin(), ways.end(), [](const Way& way) { return way.deterministic; });
      plan.way = sure == ways.end() ? ways.front() : *sure;
    }
    set_math(plan, plan.way);
    known = plans.emplace(key, plan).first;
  }
  convolve_by(known->second.way, context, handle, name, pass, known->second, x, w, y, c);
  return true;
}

}  // namespace tablerec
