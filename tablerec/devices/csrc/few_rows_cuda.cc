// Few rows times a matrix, as when a token is decoded: bound by the reading of the matrix, so each byte of it is read once, and
// by the start of a kernel, so there is one.
#include <cooperative_groups.h>

#include "elements.h"
#include "products.h"

namespace tablerec {

constexpr int kSharers = 8, kWarpsOfBlock = 8, kLanes = 8, kEach = 8, kColumnsOfBlock = kLanes * kEach;
constexpr int kFewest[] = {__CUDA_ARCH_LIST__};
constexpr bool kHasClusters = kFewest[0] >= 900;

// out (rows x columns) = x (rows x inner) y (inner x columns). A cluster of 8 blocks takes 64 columns: their warps share the
// inputs, eight lanes of a warp read 64 columns of one input, its four groups of lanes read four inputs. What they have summed
// meets in the block's shared memory, then in that of the cluster's first block, always in the same order.
template <class T, int rows>
__global__ void __launch_bounds__(32 * kWarpsOfBlock) few_rows(const T* x, const T* y, T* out, int inner, int columns) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  namespace groups = cooperative_groups;
  __shared__ float of_warps[kWarpsOfBlock][rows][kColumnsOfBlock], of_block[rows][kColumnsOfBlock];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int64_t column = int64_t(blockIdx.x) * kColumnsOfBlock + lane % kLanes * kEach;
  constexpr int kStep = 32 / kLanes * kWarpsOfBlock, kDeep = 4;
  int each = (inner + kSharers - 1) / kSharers, begin = each * blockIdx.y, end = begin + each < inner ? begin + each : inner;
  float sum[rows][kEach] = {};
  for (int k = begin + warp * (32 / kLanes) + lane / kLanes; k < end; k += kStep * kDeep) {
    Pack<T, kEach> weights[kDeep] = {};  // all on their way before the first is needed
#pragma unroll
    for (int deep = 0; deep < kDeep; ++deep)
      if (k + deep * kStep < end) weights[deep] = *reinterpret_cast<const Pack<T, kEach>*>(y + (k + deep * kStep) * int64_t(columns) + column);
#pragma unroll
    for (int deep = 0; deep < kDeep; ++deep)
#pragma unroll
      for (int row = 0; row < rows; ++row) {
        int at = k + deep * kStep;
        float by = at < end ? float(x[row * int64_t(inner) + at]) : 0.0f;
#pragma unroll
        for (int j = 0; j < kEach; ++j) sum[row][j] += by * float(weights[deep].at[j]);
      }
  }
#pragma unroll
  for (int row = 0; row < rows; ++row)
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      for (int apart = kLanes; apart < 32; apart *= 2) sum[row][j] += __shfl_xor_sync(0xffffffff, sum[row][j], apart);
      if (lane < kLanes) of_warps[warp][row][lane * kEach + j] = sum[row][j];
    }
  __syncthreads();
  for (int i = threadIdx.x; i < rows * kColumnsOfBlock; i += blockDim.x) {
    float whole = 0;
    for (int k = 0; k < kWarpsOfBlock; ++k) whole += of_warps[k][i / kColumnsOfBlock][i % kColumnsOfBlock];
    of_block[i / kColumnsOfBlock][i % kColumnsOfBlock] = whole;
  }
  auto cluster = groups::this_cluster();
  cluster.sync();
  if (cluster.block_rank() == 0)
    for (int i = threadIdx.x; i < rows * kColumnsOfBlock; i += blockDim.x) {
      float whole = 0;
#pragma unroll
      for (int k = 0; k < kSharers; ++k) whole += cluster.map_shared_rank(&of_block[0][0], k)[i];
      out[i / kColumnsOfBlock * int64_t(columns) + int64_t(blockIdx.x) * kColumnsOfBlock + i % kColumnsOfBlock] = T(whole);
    }
  cluster.sync();  // nobody leaves whose memory is still read
#endif
}

template <class T> using FewRows = void (*)(const T*, const T*, T*, int, int);
template <class T, int... rows> FewRows<T> few_rows_of(int count, std::integer_sequence<int, rows...>) {
  constexpr FewRows<T> kernels[] = {few_rows<T, rows + 1>...};
  return kernels[count - 1];
}

inline bool device_has_clusters() {
  static thread_local std::map<int, bool> known;
  auto [found, fresh] = known.try_emplace(current_device());
  if (fresh) {
    int major = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, current_device());
    found->second = major >= 9;
  }
  return found->second;
}

template <class T> bool multiply_few_rows(const Context& context, const char* name, const T* x, const T* y, T* out, const Product& p) {
  // Rows of several batches are rows if the matrix is the same and they lie beside one another.
  bool several = p.batches.rank;
  if (p.batches.rank > 1 || (several && (p.batches.stride[1][0] || p.batches.stride[0][0] != p.rows * p.inner))) return false;
  int64_t rows = p.rows * p.batch;
  bool dense = p.x_inner == 1 && (p.rows == 1 || p.x_row == p.inner) && p.y_column == 1 && p.y_inner == p.columns;
  if (!kHasClusters || !dense || rows < 1 || rows > kMostFewRows || p.inner < 1 || p.columns % kColumnsOfBlock ||
      std::max(p.inner, p.columns) >> 31 || reinterpret_cast<uintptr_t>(y) % 16 || !device_has_clusters())
    return false;
  KernelScope scope(name, context.stream());
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = 1, cluster.val.clusterDim.y = kSharers, cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(unsigned(p.columns / kColumnsOfBlock), kSharers);
  config.blockDim = dim3(32 * kWarpsOfBlock);
  config.stream = stream_of(context);
  config.attrs = &cluster, config.numAttrs = 1;
  auto kernel = few_rows_of<T>(int(rows), std::make_integer_sequence<int, kMostFewRows>());
  cudaLaunchKernelEx(&config, kernel, x, y, out, int(p.inner), int(p.columns));
  check_launch(name);
  return true;
}
template bool multiply_few_rows(const Context&, const char*, const phi::dtype::bfloat16*, const phi::dtype::bfloat16*,
                                phi::dtype::bfloat16*, const Product&);
template bool multiply_few_rows(const Context&, const char*, const phi::dtype::float16*, const phi::dtype::float16*,
                                phi::dtype::float16*, const Product&);

}  // namespace tablerec
