// One kernel source for two builds: plain loops on the simulated device, CUDA kernels under nvcc.
//
// A kernel is a lambda marked DEVICE, over an index (launch) or over an item that a team of threads
// shares (launch_teams). On the simulated device a team has one member.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

// Not paddle/phi/extension.h: its config.h asks for oneDNN headers, which the wheel does not hold.
#define PADDLE_WITH_CUSTOM_DEVICE
#define PADDLE_WITH_CUSTOM_KERNEL
#include "counters.h"
#include "paddle/phi/backends/custom/custom_context.h"
#include "paddle/phi/common/int_array.h"
#include "paddle/phi/common/scalar.h"
#include "paddle/phi/core/dense_tensor.h"
#include "paddle/phi/core/kernel_registry.h"

#ifdef TABLEREC_CUDA
#include <cuda_runtime.h>
#define HOST_DEVICE __host__ __device__
#define DEVICE [=] __device__
#else
#define HOST_DEVICE
#define DEVICE [=]
#endif

// Says which operator was asked for what; a kernel refuses rather than guesses.
#define REQUIRE(condition, ...) PADDLE_ENFORCE_EQ(bool(condition), true, common::errors::Unimplemented(__VA_ARGS__))

namespace tablerec {

using Context = phi::CustomContext;
using Tensor = phi::DenseTensor;
using OptionalTensor = paddle::optional<Tensor>;
using Tensors = std::vector<const Tensor*>;

ptrdiff_t kernel_view_offset();

// The type to compute in, and the type to sum in.
template <class T> struct ComputeType { using type = T; };
template <> struct ComputeType<phi::dtype::float16> { using type = float; };
template <> struct ComputeType<phi::dtype::bfloat16> { using type = float; };
template <class T> using Compute = typename ComputeType<T>::type;
template <class T> using Sum = std::conditional_t<std::is_integral<T>::value, int64_t, double>;

// Threads that work on one item together.
struct Team {
  int rank, size;

  // Combines one value of each member; all members get the result. `combine` is associative and commutative.
  template <class A, class F> HOST_DEVICE A all(A value, F combine) const {
#ifdef __CUDA_ARCH__
    if (size == 1) return value;
    __shared__ alignas(16) unsigned char memory[32 * sizeof(A)];
    A* partial = reinterpret_cast<A*>(memory);
    for (int step = 16; step; step /= 2) value = combine(value, from_lane(value, step));
    if (size == 32) return value;  // several such teams share a block
    __syncthreads();  // the memory may still be read for the result before this one
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = partial[0];
    for (int warp = 1; warp < size / 32; ++warp) value = combine(value, partial[warp]);
#endif
    return value;
  }

#ifdef __CUDACC__
  template <class A> static __device__ A from_lane(A value, int step) {
    static_assert(sizeof(A) % 4 == 0, "shuffled in words of four bytes");
    int words[sizeof(A) / 4];
    memcpy(words, &value, sizeof(A));
    for (size_t k = 0; k < sizeof(A) / 4; ++k) words[k] = __shfl_xor_sync(~0u, words[k], step);
    memcpy(&value, words, sizeof(A));
    return value;
  }
#endif

  template <class A> HOST_DEVICE A sum(A value) const {
    return all(value, Add<A>());
  }
  template <class A> HOST_DEVICE A max(A value) const {
    return all(value, Larger<A>());
  }

  template <class A> struct Add {
    HOST_DEVICE A operator()(A a, A b) const { return a + b; }
  };
  template <class A> struct Larger {
    HOST_DEVICE A operator()(A a, A b) const { return a > b ? a : b; }
  };
};

#ifdef TABLEREC_CUDA
template <class F> __global__ void run_threads(int64_t count, F body) {
  int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < count; i += step) body(i);
}
template <class F> __global__ void run_lone_members(int64_t count, F body) {
  int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < count; i += step) body(i, Team{0, 1});
}
template <class F> __global__ void run_warps(int64_t count, F body) {
  int64_t step = int64_t(gridDim.x) * (blockDim.x / 32);
  for (int64_t i = (blockIdx.x * int64_t(blockDim.x) + threadIdx.x) / 32; i < count; i += step) body(i, Team{int(threadIdx.x % 32), 32});
}
template <class F> __global__ void run_teams(int64_t count, F body) {
  for (int64_t i = blockIdx.x; i < count; i += gridDim.x) body(i, Team{int(threadIdx.x), int(blockDim.x)});
}
inline cudaStream_t stream_of(const Context& context) { return reinterpret_cast<cudaStream_t>(context.stream()); }
inline unsigned blocks_for(int64_t count, int64_t most = 132 * 32) {
  return unsigned(std::min<int64_t>((count + 255) / 256, most));
}
inline void check_launch(const char* name) {
  cudaError_t error = cudaGetLastError();
  PADDLE_ENFORCE_EQ(error, cudaSuccess, common::errors::External("%s: %s", name, cudaGetErrorString(error)));
}
#endif

// Runs body(i) for 0 <= i < count.
template <class F> void launch(const Context& context, const char* name, int64_t count, F body) {
  if (count <= 0) return;
  KernelScope scope(name, context.stream());
#ifdef TABLEREC_CUDA
  run_threads<<<blocks_for(count), 256, 0, stream_of(context)>>>(count, body);
  check_launch(name);
#else
  for (int64_t i = 0; i < count; ++i) body(i);
#endif
}

// Runs body(item, team) for 0 <= item < count; `work` is the length of an item's loop.
template <class F> void launch_teams(const Context& context, const char* name, int64_t count, int64_t work, F body) {
  if (count <= 0) return;
  KernelScope scope(name, context.stream());
#ifdef TABLEREC_CUDA
  if (work <= 16) {
    run_lone_members<<<blocks_for(count), 256, 0, stream_of(context)>>>(count, body);
  } else {
    int threads = 32;
    while (threads < 512 && threads * 4 < work) threads *= 2;
    if (threads == 32) run_warps<<<blocks_for(count * 32), 256, 0, stream_of(context)>>>(count, body);
    else run_teams<<<unsigned(std::min<int64_t>(count, 1 << 20)), threads, 0, stream_of(context)>>>(count, body);
  }
  check_launch(name);
#else
  for (int64_t item = 0; item < count; ++item) body(item, Team{0, 1});
#endif
}

template <class P> P* in_kernel_view(P* address) {
  return reinterpret_cast<P*>(reinterpret_cast<ptrdiff_t>(address) + kernel_view_offset());
}

// The elements of an input, for use inside kernels only; null where there are none.
template <class T> const T* read(const Tensor& tensor) {
  return tensor.numel() ? in_kernel_view(tensor.data<T>()) : nullptr;
}
template <class T> const T* read(const OptionalTensor& tensor) { return tensor ? read<T>(*tensor) : nullptr; }

// Allocates an output and gives its elements; null where it is not wanted or empty.
template <class T> T* write(const Context& context, Tensor* tensor) {
  if (!tensor) return nullptr;
  T* address = context.template Alloc<T>(tensor);
  return tensor->numel() ? in_kernel_view(address) : nullptr;
}

// Device memory for the time of a kernel. The stream orders its reuse.
template <class T> struct Temporary {
  Tensor tensor;
  T* data;
  Temporary(const Context& context, const phi::DDim& dims) {
    tensor.Resize(dims);
    data = write<T>(context, &tensor);
  }
  Temporary(const Context& context, int64_t count) : Temporary(context, phi::make_ddim({count})) {}
};

}  // namespace tablerec
