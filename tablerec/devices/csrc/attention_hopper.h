// Where the numbers of the Hopper attention kernel lie: in the registers of a warpgroup, and in swizzled shared memory.
// The functions also run on the host, so that a test can emulate the kernel's units with them.
#pragma once
#include <cmath>
#include <cstdint>

#ifndef HOST_DEVICE
#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif
#endif

namespace tablerec::hopper {

constexpr int kQueries = 128;       // of a block: 64 for each of two warpgroups that compute
constexpr int kKeys = 128;          // of a tile
constexpr int kStages = 2;          // tiles of keys, and of values, that are in shared memory at a time
constexpr int kComputers = 2;       // warpgroups; one more loads
constexpr int kColumns = 64;        // of a panel: 128 bytes, which is what a swizzle spans
constexpr int kRowBytes = 128;

// ---- shared memory

// A tile of r rows and 64 or 128 columns lies as panels of 64 columns, each r rows of 128 bytes. Rows that follow one another
// would begin in the same bank, so TMA permutes the eight pieces of 16 bytes in a row by the row's number: bits 4 to 6 of
// an address are turned over where bits 7 to 9 are set. The tensor cores undo it. Tiles begin at multiples of 1,024 bytes.
HOST_DEVICE constexpr uint32_t swizzled(uint32_t address) { return address ^ ((address >> 7 & 7) << 4); }
HOST_DEVICE constexpr uint32_t panel_bytes(int rows) { return uint32_t(rows) * kRowBytes; }
HOST_DEVICE constexpr uint32_t tile_bytes(int rows, int size) { return panel_bytes(rows) * uint32_t(size / kColumns); }

// What the tensor cores are told about an operand in shared memory: where it begins, two strides, and the kind of swizzle
// (1: 128 bytes), all in units of 16 bytes.
//  - A row of the operand is contiguous in k (queries, keys): `stride` leads from 8 rows to the next 8; `lead` is not used.
//  - A row of memory is contiguous in n (values): `stride` leads from 8 steps of k to the next 8, `lead` from 64 columns
//    to the next 64.
HOST_DEVICE constexpr uint64_t descriptor(uint32_t address, uint32_t lead, uint32_t stride) {
  return uint64_t(address >> 4 & 0x3fff) | uint64_t(lead >> 4 & 0x3fff) << 16 | uint64_t(stride >> 4 & 0x3fff) << 32 | uint64_t(1) << 62;
}
constexpr uint32_t kEightRows = 8 * kRowBytes;

// The part of a tile of `rows` whose k is 16 * step ... 16 * step + 15. Within a panel that is 32 bytes further right.
HOST_DEVICE constexpr uint64_t rows_operand(uint32_t tile, int rows, int step) {
  return descriptor(tile + uint32_t(step / 4) * panel_bytes(rows) + uint32_t(step % 4) * 32, 16, kEightRows);
}
// Of the values, k is the key: 16 rows further down.
HOST_DEVICE constexpr uint64_t values_operand(uint32_t tile, int step) {
  return descriptor(tile + uint32_t(step) * 2 * kEightRows, panel_bytes(kKeys), kEightRows);
}

// ---- registers

// Sums of a product of 64 rows: thread t of the warpgroup has in register i the sum of this row and column. Each thread has
// pieces of two rows, 8 apart; the four threads of a quad share their rows.
HOST_DEVICE constexpr int sum_row(int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8; }
HOST_DEVICE constexpr int sum_column(int thread, int i) { return i / 4 * 8 + thread % 4 * 2 + i % 2; }

// A left operand in registers, 64 rows and 16 steps of k: four registers of two numbers.
HOST_DEVICE constexpr int operand_row(int thread, int r) { return thread / 32 * 16 + thread % 32 / 4 + r % 2 * 8; }
HOST_DEVICE constexpr int operand_k(int thread, int r, int half) { return r / 2 * 8 + thread % 4 * 2 + half; }
// The weights are the sums of one product and the left operand of the next. They need not change hands: register r of step
// k of the operand holds what sums 8k + 2r and 8k + 2r + 1 held.
HOST_DEVICE constexpr int sum_of_operand(int step, int r, int half) { return step * 8 + r * 2 + half; }

// ---- softmax

// Scores s become 2^(factor * (s - largest)) with factor = scale * log2(e): the same as e^(scale * ...), by one instruction.
struct Softmax {
  float largest[2], total[2], shrink[2];  // of the thread's two rows; `total` is of this thread's columns alone

  HOST_DEVICE void start() {
    for (int r = 0; r < 2; ++r) largest[r] = -INFINITY, total[r] = 0, shrink[r] = 1;
  }
  // The largest scores of this thread, for the quad to combine.
  template <int N> static HOST_DEVICE void find_largest(const float (&scores)[N], float (&found)[2]) {
    found[0] = found[1] = -INFINITY;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int i = 0; i < N; ++i) found[i / 2 % 2] = found[i / 2 % 2] < scores[i] ? scores[i] : found[i / 2 % 2];
  }
  template <int N> HOST_DEVICE void weigh(float (&scores)[N], const float (&found)[2], float factor) {
    float offset[2];
    for (int r = 0; r < 2; ++r) {
      float next = largest[r] < found[r] ? found[r] : largest[r];
      offset[r] = next == -INFINITY ? 0 : next * factor;  // a row that sees nothing yet
      shrink[r] = exp2f(largest[r] * factor - offset[r]);
      largest[r] = next;
      total[r] *= shrink[r];
    }
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int i = 0; i < N; ++i) {
      scores[i] = exp2f(scores[i] * factor - offset[i / 2 % 2]);
      total[i / 2 % 2] += scores[i];
    }
  }
};

// ---- tiles

// The keys that the queries from `first` on may see end here: all keys, or those up to the last query's diagonal.
HOST_DEVICE constexpr int end_of_keys(int first, int keys, bool causal, int shift) {
  int end = first + kQueries + shift;
  return !causal || end > keys ? keys : end < 0 ? 0 : end;
}
// Whether a tile of keys has some that a query of these does not see.
HOST_DEVICE constexpr bool needs_mask(int first_key, int first_query, int keys, bool causal, int shift) {
  return first_key + kKeys > keys || (causal && first_key + kKeys - 1 > first_query + shift);
}
HOST_DEVICE constexpr bool sees(int query, int key, int keys, bool causal, int shift) {
  return key < keys && (!causal || key <= query + shift);
}

}  // namespace tablerec::hopper
