// Attention forward on Hopper (sm_90a), to be read: bfloat16 or float16, heads of 64 or 128, grouped, causal or not.
//
// A block computes 128 rows of the output of one head. Five ideas make it fast; attention_hopper.h says where numbers lie.
//  1. Online softmax: keys and values come in tiles of 128, and what was summed is shrunk when a larger score appears.
//  2. The tensor cores (wgmma) take 64 rows from a warpgroup of 128 threads and work while the threads go on. Operands
//     come from shared memory; the weights come from registers, where the scores were.
//  3. The copy engine (TMA) loads a tile by one instruction of one thread, swizzled, zeros beyond the end.
//  4. Warps have roles: one warpgroup loads and needs few registers; two compute, and get its share (setmaxnreg). They
//     hand tiles to each other by barriers in shared memory: `full` when a tile has come, `empty` when it may be written.
//  5. While the tensor cores multiply a tile's weights with its values and the next queries with their keys, the threads
//     compute exponentials: the next scores are begun before the last values.
#include <cuda.h>

#include "attention.h"
#include "attention_hopper.h"

namespace tablerec {
using namespace hopper;

struct HopperJob {
  int heads, group, q_steps, k_steps, shift;
  bool causal;
  float scale, unseen;
  uint32_t* out;  // two elements each
  float* log_sums;
};

template <int size> struct Tiles {
  alignas(1024) uint8_t q[tile_bytes(kQueries, size)];
  alignas(1024) uint8_t k[kStages][tile_bytes(kKeys, size)];
  alignas(1024) uint8_t v[kStages][tile_bytes(kKeys, size)];
  uint64_t q_full, k_full[kStages], k_empty[kStages], v_full[kStages], v_empty[kStages];
};

#define DEVICE_INLINE __device__ __forceinline__

DEVICE_INLINE uint32_t shared(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

// ---- barriers: complete, and turn their parity, when all arrivals and all bytes have come

DEVICE_INLINE void make_barrier(uint64_t* b, int arrivals) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(b)), "r"(arrivals)); }
DEVICE_INLINE void arrive(uint64_t* b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared(b)) : "memory"); }
DEVICE_INLINE void arrive_for(uint64_t* b, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(b)), "r"(bytes) : "memory");
}
DEVICE_INLINE void wait(uint64_t* b, int parity) {
  uint32_t done = 0;
  while (!done)
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done) : "r"(shared(b)), "r"(parity) : "memory");
}

// ---- the copy engine

// Rows `row` and on of a head and a sequence: a panel of 64 columns at a time. The barrier counts the bytes.
template <int size> DEVICE_INLINE void load_tile(uint8_t* to, int rows, const CUtensorMap& map, int head, int row, int sequence, uint64_t* full) {
  arrive_for(full, tile_bytes(rows, size));
  for (int panel = 0; panel < size / kColumns; ++panel)
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];"
                 ::"r"(shared(to) + panel * panel_bytes(rows)), "l"(&map), "r"(panel * kColumns), "r"(head), "r"(row), "r"(sequence),
                 "r"(shared(full)) : "memory");
}

// ---- the tensor cores

#define SUMS_8(x, i) "+f"(x[i]), "+f"(x[i + 1]), "+f"(x[i + 2]), "+f"(x[i + 3]), "+f"(x[i + 4]), "+f"(x[i + 5]), "+f"(x[i + 6]), "+f"(x[i + 7])
#define SUMS_32(x, i) SUMS_8(x, i), SUMS_8(x, i + 8), SUMS_8(x, i + 16), SUMS_8(x, i + 24)
#define NAMES_32 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define NAMES_64 NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
// scores (64 x 128) = or += queries (64 x 16) * keys^T: both operands are described, neither is transposed.
#define MULTIPLY_SCORES(type)                                                                                              \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0;"                                                                     \
               "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" NAMES_64 "}, %64, %65, p, 1, 1, 0, 0;}"    \
               : SUMS_32(sums, 0), SUMS_32(sums, 32) : "l"(queries), "l"(keys), "r"(int(add)))
// output (64 x 64 or 128) += weights (64 x 16, four registers) * values, which lie transposed.
#define MULTIPLY_VALUES_64(type)                                                                                           \
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " {" NAMES_32 "}, {%32,%33,%34,%35}, %36, 1, 1, 1, 1;" \
               : SUMS_32(sums, 0) : "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "l"(values))
#define MULTIPLY_VALUES_128(type)                                                                                          \
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" NAMES_64 "}, {%64,%65,%66,%67}, %68, 1, 1, 1, 1;" \
               : SUMS_32(sums, 0), SUMS_32(sums, 32) : "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "l"(values))

template <bool brain> DEVICE_INLINE void multiply_scores(float (&sums)[64], uint64_t queries, uint64_t keys, bool add) {
  if constexpr (brain) MULTIPLY_SCORES("bf16");
  else MULTIPLY_SCORES("f16");
}
template <bool brain> DEVICE_INLINE void multiply_values(float (&sums)[32], const uint32_t (&w)[4], uint64_t values) {
  if constexpr (brain) MULTIPLY_VALUES_64("bf16");
  else MULTIPLY_VALUES_64("f16");
}
template <bool brain> DEVICE_INLINE void multiply_values(float (&sums)[64], const uint32_t (&w)[4], uint64_t values) {
  if constexpr (brain) MULTIPLY_VALUES_128("bf16");
  else MULTIPLY_VALUES_128("f16");
}
// Registers that the tensor cores are given next must be written before; what was given since the last call is one group.
DEVICE_INLINE void registers_are_ready() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE_INLINE void end_of_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int left> DEVICE_INLINE void wait_for_groups() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory"); }

template <bool brain> DEVICE_INLINE uint32_t two(float low, float high) {
  uint32_t both;
  if constexpr (brain) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  else asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
template <class F> DEVICE_INLINE float of_quad(float x, F combine) {
  x = combine(x, __shfl_xor_sync(~0u, x, 1));
  return combine(x, __shfl_xor_sync(~0u, x, 2));
}

// ---- the kernel

template <int size, bool brain>
__global__ void __launch_bounds__(128 * (kComputers + 1), 1)
    attend_on_hopper(const __grid_constant__ HopperJob job, const __grid_constant__ CUtensorMap q_map, const __grid_constant__ CUtensorMap k_map,
                     const __grid_constant__ CUtensorMap v_map) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ uint8_t memory[];
  auto& tiles = *reinterpret_cast<Tiles<size>*>(memory + (1024 - shared(memory) % 1024) % 1024);
  const int head = blockIdx.y, sequence = blockIdx.z;
  const int first = (gridDim.x - 1 - blockIdx.x) * kQueries;  // the last queries see the most keys: they begin first
  const int count = (end_of_keys(first, job.k_steps, job.causal, job.shift) + kKeys - 1) / kKeys;
  const int role = threadIdx.x / 128, thread = threadIdx.x % 128;
  if (threadIdx.x == 0) {
    make_barrier(&tiles.q_full, 1);
    for (int stage = 0; stage < kStages; ++stage) {
      make_barrier(&tiles.k_full[stage], 1), make_barrier(&tiles.v_full[stage], 1);
      make_barrier(&tiles.k_empty[stage], 4 * kComputers), make_barrier(&tiles.v_empty[stage], 4 * kComputers);  // one for each warp
    }
    asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();

  if (role == kComputers) {  // loads
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (thread == 0 && count > 0) {
      load_tile<size>(tiles.q, kQueries, q_map, head, first, sequence, &tiles.q_full);
      for (int n = 0; n < count; ++n) {
        int stage = n % kStages, parity = n / kStages % 2;
        wait(&tiles.k_empty[stage], parity ^ 1);  // a new barrier counts as if it had turned before
        load_tile<size>(tiles.k[stage], kKeys, k_map, head / job.group, n * kKeys, sequence, &tiles.k_full[stage]);
        wait(&tiles.v_empty[stage], parity ^ 1);
        load_tile<size>(tiles.v[stage], kKeys, v_map, head / job.group, n * kKeys, sequence, &tiles.v_full[stage]);
      }
    }
  } else {  // computes 64 rows
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    float scores[kKeys / 2], out[size / 2] = {};
    uint32_t weights[kKeys / 16][4];
    Softmax softmax;
    softmax.start();
    const uint32_t queries = shared(tiles.q) + role * 64 * kRowBytes;
    const int row = first + role * 64;
    const float factor = job.scale * 1.44269504f;

    auto begin_scores = [&](int n) {
      wait(&tiles.k_full[n % kStages], n / kStages % 2);
      registers_are_ready();
#pragma unroll
      for (int step = 0; step < size / 16; ++step)
        multiply_scores<brain>(scores, rows_operand(queries, kQueries, step), rows_operand(shared(tiles.k[n % kStages]), kKeys, step), step > 0);
      end_of_group();
    };
    auto begin_values = [&](int n) {
      wait(&tiles.v_full[n % kStages], n / kStages % 2);
      registers_are_ready();
#pragma unroll
      for (int step = 0; step < kKeys / 16; ++step) multiply_values<brain>(out, weights[step], values_operand(shared(tiles.v[n % kStages]), step));
      end_of_group();
    };
    auto release = [&](uint64_t* empty) {
      if (thread % 32 == 0) arrive(empty);
    };
    auto weigh_scores = [&](int n) {
      if (needs_mask(n * kKeys, row, job.k_steps, job.causal, job.shift)) {
#pragma unroll
        for (int i = 0; i < kKeys / 2; ++i)
          if (!sees(row + sum_row(thread, i), n * kKeys + sum_column(thread, i), job.k_steps, job.causal, job.shift)) scores[i] = -INFINITY;
      }
      float found[2];
      Softmax::find_largest(scores, found);
      for (int r = 0; r < 2; ++r) found[r] = of_quad(found[r], [](float a, float b) { return fmaxf(a, b); });
      softmax.weigh(scores, found, factor);
    };
    auto pass_weights_on = [&] {
#pragma unroll
      for (int step = 0; step < kKeys / 16; ++step)
#pragma unroll
        for (int r = 0; r < 4; ++r) weights[step][r] = two<brain>(scores[sum_of_operand(step, r, 0)], scores[sum_of_operand(step, r, 1)]);
    };

    if (count > 0) {
      wait(&tiles.q_full, 0);
      begin_scores(0);
      wait_for_groups<0>();
      release(&tiles.k_empty[0]);
      weigh_scores(0);
      pass_weights_on();
      for (int n = 1; n < count; ++n) {
        begin_scores(n);
        begin_values(n - 1);
        wait_for_groups<1>();  // the scores; the values are still being multiplied
        release(&tiles.k_empty[n % kStages]);
        weigh_scores(n);
        wait_for_groups<0>();
        release(&tiles.v_empty[(n - 1) % kStages]);
#pragma unroll
        for (int i = 0; i < size / 2; ++i) out[i] *= softmax.shrink[i / 2 % 2];
        pass_weights_on();
      }
      begin_values(count - 1);
      wait_for_groups<0>();
    }
    float share[2];
    for (int r = 0; r < 2; ++r) {
      float total = of_quad(softmax.total[r], [](float a, float b) { return a + b; });
      int query = row + sum_row(thread, 2 * r);
      share[r] = total > 0 ? 1 / total : 0;
      if (thread % 4 == 0 && query < job.q_steps)
        job.log_sums[(int64_t(sequence) * job.heads + head) * job.q_steps + query] = total > 0 ? softmax.largest[r] * job.scale + logf(total) : job.unseen;
    }
#pragma unroll
    for (int i = 0; i < size / 2; i += 2) {
      int query = row + sum_row(thread, i);
      if (query < job.q_steps)
        job.out[(((int64_t(sequence) * job.q_steps + query) * job.heads + head) * size + sum_column(thread, i)) / 2] =
            two<brain>(out[i] * share[i / 2 % 2], out[i + 1] * share[i / 2 % 2]);
    }
  }
#endif
}

// ---- the host's side

// How the copy engine walks over [sequences, steps, heads, size]: boxes of 64 columns and so many steps.
static CUtensorMap map_of(const void* data, bool brain, int64_t size, int64_t heads, int64_t steps, int64_t sequences, int rows) {
  using Encode = decltype(cuTensorMapEncodeTiled);
  static Encode* encode = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
    PADDLE_ENFORCE_EQ(found != nullptr, true, common::errors::Unavailable("the driver of %s is too old for Hopper's copy engine", device_name()));
    return reinterpret_cast<Encode*>(found);
  }();
  cuuint64_t dims[4] = {cuuint64_t(size), cuuint64_t(heads), cuuint64_t(steps), cuuint64_t(sequences)};
  cuuint64_t strides[3] = {2 * dims[0], 2 * dims[0] * dims[1], 2 * dims[0] * dims[1] * dims[2]};
  cuuint32_t box[4] = {kColumns, 1, cuuint32_t(rows), 1}, every[4] = {1, 1, 1, 1};
  CUtensorMap map;
  auto status = encode(&map, brain ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, const_cast<void*>(data), dims, strides,
                       box, every, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  PADDLE_ENFORCE_EQ(int(status), 0, common::errors::External("flash_attn: cuTensorMapEncodeTiled failed with status %d", int(status)));
  return map;
}

template <int size, bool brain> void launch_on_hopper(const Context& context, const char* name, const Attention& a, const AttentionMemory& m) {
  HopperJob job{int(a.heads), int(a.heads / a.kv_heads), int(a.q_steps), int(a.k_steps), a.ends_meet ? int(a.k_steps - a.q_steps) : 0, a.right == 0,
                a.scale, a.unseen, static_cast<uint32_t*>(m.out), m.log_sums};
  auto q = map_of(m.q, brain, size, a.heads, a.q_steps, a.sequences, kQueries);
  auto k = map_of(m.k, brain, size, a.kv_heads, a.k_steps, a.sequences, kKeys);
  auto v = map_of(m.v, brain, size, a.kv_heads, a.k_steps, a.sequences, kKeys);
  auto kernel = attend_on_hopper<size, brain>;
  constexpr int bytes = sizeof(Tiles<size>) + 1024;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  KernelScope scope(name, context.stream());
  dim3 grid(unsigned((a.q_steps + kQueries - 1) / kQueries), unsigned(a.heads), unsigned(a.sequences));
  kernel<<<grid, 128 * (kComputers + 1), bytes, stream_of(context)>>>(job, q, k, v);
  check_launch(name);
  count_kernel("flash_attn_by_own");
}

#ifdef TABLEREC_HOPPER  // compiled for sm_90a
bool attend_by_hopper(const Context& context, const char* name, const Attention& a, const AttentionMemory& m) {
  int device = 0, major = 0, minor = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  bool brain = m.type == phi::DataType::BFLOAT16;
  if (major != 9 || minor != 0 || !(brain || m.type == phi::DataType::FLOAT16) || a.mask || a.hidden || a.q_starts || a.left >= 0 || a.right > 0) return false;
  if (a.size != a.value_size || (a.size != 64 && a.size != 128) || !(a.scale > 0)) return false;
  if (!a.q_rows || !a.k_rows || !a.heads || a.heads > 65535 || a.sequences > 65535 || a.q_steps > (1 << 30) || a.k_steps > (1 << 30)) return false;
  for (auto* data : {m.q, m.k, m.v})
    if (reinterpret_cast<uintptr_t>(data) % 16) return false;
  if (a.size == 64) brain ? launch_on_hopper<64, true>(context, name, a, m) : launch_on_hopper<64, false>(context, name, a, m);
  else brain ? launch_on_hopper<128, true>(context, name, a, m) : launch_on_hopper<128, false>(context, name, a, m);
  return true;
}
#else
bool attend_by_hopper(const Context&, const char*, const Attention&, const AttentionMemory&) { return false; }
#endif

}  // namespace tablerec
