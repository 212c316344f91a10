// What decoding asks for: the attention of one new token in each row over a cache of fixed length.
#include "backend.h"
#include "elements.h"
#include "register.h"
#ifdef TABLEREC_CUDA
#include <cooperative_groups.h>
#endif

namespace tablerec {

constexpr int kLargestHead = 256;

// A row's new token brings queries, a key and a value for each head of the cache: [heads + 2 * kept, size] in x. Key and
// value are kept at the row's length, which lies on the device; the queries see places 0 to the length. A row whose cache
// is full overwrites its last place.
template <class T> struct Decoding {
  const T *x, *mask;  // the mask is added to the scores of a row's first `masked` places
  const int* lengths;
  T *keys, *values, *out;  // keys and values: [batch, kept, places, size]
  int64_t batch, heads, kept, places, size, masked;
  Compute<T> scale;

  HOST_DEVICE int64_t group() const { return heads / kept; }  // heads that share a key
  HOST_DEVICE int64_t length(int64_t row) const {
    int64_t length = lengths[row];
    return length < 0 ? 0 : length < places ? length : places - 1;
  }
  HOST_DEVICE const T* query(int64_t row, int64_t head) const { return x + (row * (heads + 2 * kept) + head) * size; }
  HOST_DEVICE const T* new_key(int64_t row, int64_t head) const { return query(row, heads + head); }
  HOST_DEVICE const T* new_value(int64_t row, int64_t head) const { return query(row, heads + kept + head); }
  HOST_DEVICE int64_t cached(int64_t row, int64_t head) const { return (row * kept + head) * places * size; }
  template <class C> HOST_DEVICE C bias(int64_t row, int64_t place) const {
    return mask && place < masked ? C(mask[row * masked + place]) : C(0);
  }
};

// Any size, a thread for each head of each row. Nobody reads the place that is written.
template <class T> void decode_plainly(const Context& context, const char* name, const Decoding<T>& by) {
  using C = Compute<T>;
  launch(context, name, by.batch * by.heads, DEVICE(int64_t i) {
    int64_t row = i / by.heads, head = i % by.heads, shared = head / by.group(), size = by.size, length = by.length(row);
    const T *q = by.query(row, head), *new_key = by.new_key(row, shared), *new_value = by.new_value(row, shared);
    T *keys = by.keys + by.cached(row, shared), *values = by.values + by.cached(row, shared);
    C most = -std::numeric_limits<C>::max(), total = 0, sums[kLargestHead];
    for (int64_t d = 0; d < size; ++d) sums[d] = 0;
    for (int64_t place = 0; place <= length; ++place) {
      const T *key = place < length ? keys + place * size : new_key, *value = place < length ? values + place * size : new_value;
      C score = 0;
      for (int64_t d = 0; d < size; ++d) score += C(q[d]) * C(key[d]);
      score = score * by.scale + by.template bias<C>(row, place);
      C now = score > most ? score : most, fade = exp(most - now), weight = exp(score - now);
      for (int64_t d = 0; d < size; ++d) sums[d] = sums[d] * fade + weight * C(value[d]);
      total = total * fade + weight;
      most = now;
    }
    for (int64_t d = 0; d < size; ++d) by.out[i * size + d] = T(sums[d] / total);
    if (head % by.group() == 0)
      for (int64_t d = 0; d < size; ++d) keys[length * size + d] = new_key[d], values[length * size + d] = new_value[d];
  });
}

#ifdef TABLEREC_CUDA
// The places of a row are shared among the blocks of a cluster, which read each other's results in the end: one launch,
// no memory in between, whatever the length.
constexpr int kClusterBlocks = 8, kDecodingThreads = 256, kPlacesAtOnce = 4;

// What some places gave for one query: the largest score, and relative to it the weights' sum and the weighted values.
template <int N> struct Seen {
  float most, total, sums[N];
  __device__ void clear() {
    most = -1e30f, total = 0;
#pragma unroll
    for (int e = 0; e < N; ++e) sums[e] = 0;
  }
  // `fade` for what was seen under another largest score.
  __device__ static float fade(float from, float to) { return __expf(from - to); }
  __device__ void join(float other_most, float other_total, const float (&other)[N]) {
    float now = fmaxf(most, other_most), mine = fade(most, now), its = fade(other_most, now);
    total = total * mine + other_total * its;
#pragma unroll
    for (int e = 0; e < N; ++e) sums[e] = sums[e] * mine + other[e] * its;
    most = now;
  }
};

// All blocks of the cluster come here before any goes on; and what another of its blocks keeps in the same shared memory.
__device__ inline void meet_cluster(int parts) {
#if __CUDA_ARCH__ >= 900
  if (parts > 1) return cooperative_groups::this_cluster().sync();
#endif
  __syncthreads();
}
template <class A> __device__ const A* of_cluster_block(const A* own, int block, int parts) {
#if __CUDA_ARCH__ >= 900
  if (parts > 1) return cooperative_groups::this_cluster().map_shared_rank(own, block);
#endif
  return own;
}

template <class T, int kSize, int kQueries>
__global__ void __launch_bounds__(kDecodingThreads) run_decoding(const __grid_constant__ Decoding<T> by, int parts) {
  constexpr int kWide = 16 / sizeof(T), kLanes = kSize / kWide < 32 ? kSize / kWide : 32;  // lanes that share a place
  constexpr int N = kSize / kLanes, kPacks = N / kWide, kRows = kDecodingThreads / kLanes, kWarps = kDecodingThreads / 32;
  // An element of a lane: pack p, place k in it -> column (p * kLanes + lane) * kWide + k.
  using Result = Seen<kSize>;
  __shared__ Result by_warp[kWarps][kQueries], of_block[kQueries];
  int lane = threadIdx.x % kLanes, my_row = threadIdx.x / kLanes, part = blockIdx.x % parts;
  int64_t item = blockIdx.x / parts, chunks = (by.group() + kQueries - 1) / kQueries, chunk = item % chunks;
  int64_t shared = item / chunks % by.kept, row = item / chunks / by.kept, length = by.length(row);
  int64_t first_head = shared * by.group() + chunk * kQueries;
  int queries = int(by.group() - chunk * kQueries < kQueries ? by.group() - chunk * kQueries : kQueries);
  T *keys = by.keys + by.cached(row, shared), *values = by.values + by.cached(row, shared);
  const T *new_key = by.new_key(row, shared), *new_value = by.new_value(row, shared);

  float q[kQueries][N];
#pragma unroll
  for (int k = 0; k < kQueries; ++k)
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      auto pack = *reinterpret_cast<const Pack<T, kWide>*>(by.query(row, first_head + (k < queries ? k : 0)) + (p * kLanes + lane) * kWide);
#pragma unroll
      for (int e = 0; e < kWide; ++e) q[k][p * kWide + e] = float(pack.at[e]) * by.scale;
    }

  Seen<N> seen[kQueries];
#pragma unroll
  for (int k = 0; k < kQueries; ++k) seen[k].clear();
  // The bounds are the same for all threads: those beyond the end go along, as they take part in the sums over lanes.
  for (int64_t from = int64_t(part) * kRows; from <= length; from += int64_t(parts) * kRows * kPlacesAtOnce) {
    Pack<T, kWide> key[kPlacesAtOnce][kPacks], value[kPlacesAtOnce][kPacks];
#pragma unroll
    for (int u = 0; u < kPlacesAtOnce; ++u) {
      int64_t place = from + int64_t(u) * parts * kRows + my_row;
      const T *k = place < length ? keys + place * kSize : new_key, *v = place < length ? values + place * kSize : new_value;
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        key[u][p] = *reinterpret_cast<const Pack<T, kWide>*>(k + (p * kLanes + lane) * kWide);
        value[u][p] = *reinterpret_cast<const Pack<T, kWide>*>(v + (p * kLanes + lane) * kWide);
      }
    }
#pragma unroll
    for (int k = 0; k < kQueries; ++k) {
      float score[kPlacesAtOnce], now = seen[k].most;
#pragma unroll
      for (int u = 0; u < kPlacesAtOnce; ++u) {
        int64_t place = from + int64_t(u) * parts * kRows + my_row;
        float sum = 0;
#pragma unroll
        for (int e = 0; e < N; ++e) sum += q[k][e] * float(key[u][e / kWide].at[e % kWide]);
#pragma unroll
        for (int step = kLanes / 2; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
        score[u] = place <= length ? sum + by.template bias<float>(row, place) : -std::numeric_limits<float>::infinity();
        now = fmaxf(now, score[u]);
      }
      float fade = Seen<N>::fade(seen[k].most, now), weight[kPlacesAtOnce];
      seen[k].most = now;
      seen[k].total *= fade;
#pragma unroll
      for (int u = 0; u < kPlacesAtOnce; ++u) {
        weight[u] = __expf(score[u] - now);
        seen[k].total += weight[u];
      }
#pragma unroll
      for (int e = 0; e < N; ++e) {
        float sum = seen[k].sums[e] * fade;
#pragma unroll
        for (int u = 0; u < kPlacesAtOnce; ++u) sum += weight[u] * float(value[u][e / kWide].at[e % kWide]);
        seen[k].sums[e] = sum;
      }
    }
  }

  // Over the rows of a warp, the warps of the block, and the blocks of the cluster.
  int warp = threadIdx.x / 32;
#pragma unroll
  for (int k = 0; k < kQueries; ++k) {
#pragma unroll
    for (int step = kLanes; step < 32; step *= 2) {
      float most = __shfl_xor_sync(~0u, seen[k].most, step), total = __shfl_xor_sync(~0u, seen[k].total, step), sums[N];
#pragma unroll
      for (int e = 0; e < N; ++e) sums[e] = __shfl_xor_sync(~0u, seen[k].sums[e], step);
      seen[k].join(most, total, sums);
    }
    if (threadIdx.x % 32 < kLanes) {
      by_warp[warp][k].most = seen[k].most;
      by_warp[warp][k].total = seen[k].total;
#pragma unroll
      for (int e = 0; e < N; ++e) by_warp[warp][k].sums[((e / kWide) * kLanes + lane) * kWide + e % kWide] = seen[k].sums[e];
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kQueries * kSize; i += kDecodingThreads) {
    int k = i / kSize, d = i % kSize;
    Seen<1> all;
    all.clear();
    for (int w = 0; w < kWarps; ++w) all.join(by_warp[w][k].most, by_warp[w][k].total, {by_warp[w][k].sums[d]});
    of_block[k].sums[d] = all.sums[0];
    if (d == 0) of_block[k].most = all.most, of_block[k].total = all.total;
  }
  meet_cluster(parts);
  for (int i = part * kDecodingThreads + threadIdx.x; i < queries * kSize; i += parts * kDecodingThreads) {
    int k = i / kSize, d = i % kSize;
    Seen<1> all;
    all.clear();
    for (int block = 0; block < parts; ++block) {
      const Result& its = of_cluster_block(of_block, block, parts)[k];
      all.join(its.most, its.total, {its.sums[d]});
    }
    by.out[(row * by.heads + first_head + k) * kSize + d] = T(all.sums[0] / all.total);
  }
  meet_cluster(parts);  // a block's memory lives as long as others read it
  if (chunk == 0 && part == 0)
    for (int d = threadIdx.x; d < kSize; d += kDecodingThreads) {
      keys[length * kSize + d] = new_key[d];
      values[length * kSize + d] = new_value[d];
    }
}

template <class T, int kSize, int kQueries> void launch_decoding(const Context& context, const char* name, const Decoding<T>& by) {
  static const int parts = [] {  // clusters came with Hopper
    int device = 0, has_clusters = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, device);
    return has_clusters ? kClusterBlocks : 1;
  }();
  KernelScope scope(name, context.stream());
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = parts;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(unsigned(by.batch * by.kept * ((by.group() + kQueries - 1) / kQueries) * parts));
  config.blockDim = dim3(kDecodingThreads);
  config.stream = stream_of(context);
  config.attrs = &cluster;
  config.numAttrs = parts > 1;
  auto error = cudaLaunchKernelEx(&config, run_decoding<T, kSize, kQueries>, by, parts);
  PADDLE_ENFORCE_EQ(error, cudaSuccess, common::errors::External("%s: %s", name, cudaGetErrorString(error)));
}
template <class T, int kSize> bool decode_fast(const Context& context, const char* name, const Decoding<T>& by) {
  if (by.size != kSize || !by.batch) return false;
  if (by.group() <= 2) launch_decoding<T, kSize, 2>(context, name, by);
  else launch_decoding<T, kSize, 4>(context, name, by);
  return true;
}
#endif

template <class T, class X>
void MaskedMultiheadAttention(const X& context, const Tensor& x, const Tensor& cache, const OptionalTensor& bias,
                              const OptionalTensor& mask, const OptionalTensor& offsets, const OptionalTensor& lengths,
                              const OptionalTensor& rotary, const OptionalTensor& beams, const OptionalTensor& scales,
                              const OptionalTensor& shifts, const OptionalTensor& smooth, int, int, bool, const std::string&,
                              float, int, float, float, Tensor* out, Tensor* cache_out, Tensor*) {
  const char* name = "masked_multihead_attention";
  REQUIRE(lengths && !bias && !offsets && !rotary && !beams && !scales && !shifts && !smooth,
          "%s on %s takes lengths, and a mask or none: bias, rotation, beams and quantization are not supported", name, device_name());
  REQUIRE(x.dtype() == cache.dtype() && lengths->dtype() == phi::DataType::INT32, "%s: the lengths must be int32", name);
  auto dims = cache.dims();  // [2, batch, kept, places, size]
  Decoding<T> by;
  by.batch = dims[1], by.kept = dims[2], by.places = dims[3], by.size = dims[4];
  by.heads = x.dims()[1] / std::max<int64_t>(by.size, 1) - 2 * by.kept;
  REQUIRE(by.kept > 0 && by.places > 0 && by.size > 0 && by.heads > 0 && by.heads % by.kept == 0,
          "%s: %d heads over a cache of %d heads and %d places", name, int(by.heads), int(by.kept), int(by.places));
  REQUIRE(by.size <= kLargestHead, "%s: heads of %d numbers are not supported on %s", name, int(by.size), device_name());
  REQUIRE(x.dims()[0] == by.batch && lengths->numel() == by.batch, "%s: rows of the cache, the input and the lengths differ", name);
  REQUIRE(!mask || (mask->dtype() == x.dtype() && mask->dims()[0] == by.batch && mask->numel() == by.batch * mask->dims()[mask->dims().size() - 1]),
          "%s: the mask must be [batch, 1, 1, places] of the input's type", name);
  by.masked = mask ? mask->dims()[mask->dims().size() - 1] : 0;
  by.mask = read<T>(mask);
  by.x = read<T>(x);
  by.lengths = read<int>(*lengths);
  by.keys = write<T>(context, cache_out);
  by.values = by.keys + by.batch * by.kept * by.places * by.size;
  by.out = write<T>(context, out);
  by.scale = 1 / std::sqrt(Compute<T>(by.size));
#ifdef TABLEREC_CUDA
  if constexpr (!std::is_same<T, double>::value)
    if (decode_fast<T, 64>(context, name, by) || decode_fast<T, 128>(context, name, by) || decode_fast<T, 256>(context, name, by)) return;
#endif
  decode_plainly(context, name, by);
}
REGISTER(masked_multihead_attention, MaskedMultiheadAttention, kFloats + kHalves)

}  // namespace tablerec
