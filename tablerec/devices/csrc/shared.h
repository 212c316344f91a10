// Teams whose members share memory and wait for each other.
#pragma once
#include "backend.h"

namespace tablerec {

constexpr int kTeam = 128;

// All members come here before any goes on, and see what the others wrote.
HOST_DEVICE inline void meet() {
#ifdef __CUDA_ARCH__
  __syncthreads();
#endif
}

#ifdef TABLEREC_CUDA
template <int kFloats, class F> __global__ void __launch_bounds__(kTeam) run_tiles(int64_t count, F body) {
  __shared__ alignas(16) float memory[kFloats];
  for (int64_t i = blockIdx.x; i < count; i += gridDim.x) body(i, Team{int(threadIdx.x), kTeam}, memory);
}
#endif

// Runs body(item, team, memory) for 0 <= item < count; the team shares kFloats of memory.
template <int kFloats, class F> void launch_tiles(const Context& context, const char* name, int64_t count, F body) {
  if (count <= 0) return;
  KernelScope scope(name, context.stream());
#ifdef TABLEREC_CUDA
  run_tiles<kFloats><<<unsigned(std::min<int64_t>(count, 1 << 30)), kTeam, 0, stream_of(context)>>>(count, body);
  check_launch(name);
#else
  alignas(16) float memory[kFloats];
  for (int64_t item = 0; item < count; ++item) body(item, Team{0, 1}, memory);
#endif
}

// Sums each of N values over the team, into out[0..N).
template <int N> HOST_DEVICE void sum_over_team(Team team, const float (&values)[N], float* memory, float* out) {
  int warp = 0, warps = 1;
  meet();  // the memory may still be read
#ifdef __CUDA_ARCH__
  warp = team.rank / 32, warps = team.size / 32;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    float value = values[i];
#pragma unroll
    for (int step = 16; step; step /= 2) value += __shfl_xor_sync(~0u, value, step);
    if (team.rank % 32 == 0) memory[warp * N + i] = value;
  }
#else
  for (int i = 0; i < N; ++i) memory[i] = values[i];
#endif
  meet();
  for (int i = team.rank; i < N; i += team.size) {
    float sum = 0;
    for (warp = 0; warp < warps; ++warp) sum += memory[warp * N + i];
    out[i] = sum;
  }
}

}  // namespace tablerec
