// Attention as the Hopper kernel computes it, with its units played by the host: the copy engine writes tiles swizzled, the
// tensor cores read operands by what a descriptor says, and each thread holds the registers that it would hold.
// The places come from attention_hopper.h; what a descriptor and a swizzle mean is written here again, as PTX documents it.
#include "attention_hopper.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

using namespace tablerec::hopper;

static std::vector<float> memory;  // shared memory: an element for every two bytes

static float& element(uint32_t address) { return memory[(address ^ ((address & 0x380) >> 3)) / 2]; }  // as the hardware swizzles

// Rows of [steps, heads, size] come as panels of 64 columns; zeros beyond the end.
static void load_tile(uint32_t to, int rows, const std::vector<float>& from, int size, int heads, int head, int first, int steps) {
  for (int panel = 0; panel < size / kColumns; ++panel)
    for (int row = 0; row < rows; ++row)
      for (int c = 0; c < kColumns; ++c) {
        int step = first + row;
        element(to + panel * rows * 128 + row * 128 + c * 2) =
            step < steps ? from[(size_t(step) * heads + head) * size + panel * kColumns + c] : 0;
      }
}

struct Described {
  uint32_t start, lead, stride;
  explicit Described(uint64_t d) : start(uint32_t(d & 0x3fff) << 4), lead(uint32_t(d >> 16 & 0x3fff) << 4), stride(uint32_t(d >> 32 & 0x3fff) << 4) {
    if (d >> 62 != 1) std::printf("not a swizzle of 128 bytes: %llx\n", (unsigned long long)d), std::exit(1);
  }
  float with_contiguous_k(int row, int k) const { return element(start + row / 8 * stride + row % 8 * 128 + k * 2); }
  float with_contiguous_n(int n, int k) const { return element(start + n / 64 * lead + n % 64 * 2 + k / 8 * stride + k % 8 * 128); }
};

// The largest difference from attention in double, over all rows and their log-sums.
static double difference(int size, int queries, int keys, bool causal, int shift) {
  const int heads = 2, kv_heads = 1, head = 1;
  const float scale = 0.3f;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  auto draw = [&](int steps, int n) {
    std::vector<float> x(size_t(steps) * n * size);
    for (float& value : x) value = normal(random);
    return x;
  };
  auto q = draw(queries, heads), k = draw(keys, kv_heads), v = draw(keys, kv_heads);
  const uint32_t q_tile = 0, k_tile = tile_bytes(kQueries, size), v_tile = k_tile + tile_bytes(kKeys, size);
  memory.assign((v_tile + tile_bytes(kKeys, size)) / 2, NAN);
  double worst = 0;
  for (int first = 0; first < queries; first += kQueries) {
    load_tile(q_tile, kQueries, q, size, heads, head, first, queries);
    const int count = (end_of_keys(first, keys, causal, shift) + kKeys - 1) / kKeys;
    for (int group = 0; group < kComputers; ++group) {
      const int row = first + group * 64;
      std::vector<Softmax> softmax(128);
      std::vector<std::vector<float>> out(128, std::vector<float>(size / 2, 0));
      for (auto& s : softmax) s.start();
      for (int n = 0; n < count; ++n) {
        load_tile(k_tile, kKeys, k, size, kv_heads, 0, n * kKeys, keys);
        load_tile(v_tile, kKeys, v, size, kv_heads, 0, n * kKeys, keys);
        static float scores[128][kKeys / 2];
        static float found[128][2];
        for (int t = 0; t < 128; ++t) {
          for (int i = 0; i < kKeys / 2; ++i) {
            float sum = 0;
            for (int step = 0; step < size / 16; ++step) {
              Described a(rows_operand(q_tile + group * 64 * kRowBytes, kQueries, step)), b(rows_operand(k_tile, kKeys, step));
              for (int c = 0; c < 16; ++c) sum += a.with_contiguous_k(sum_row(t, i), c) * b.with_contiguous_k(sum_column(t, i), c);
            }
            scores[t][i] = sum;
          }
          if (needs_mask(n * kKeys, row, keys, causal, shift))
            for (int i = 0; i < kKeys / 2; ++i)
              if (!sees(row + sum_row(t, i), n * kKeys + sum_column(t, i), keys, causal, shift)) scores[t][i] = -INFINITY;
          Softmax::find_largest(scores[t], found[t]);
        }
        for (int t = 0; t < 128; ++t) {
          float together[2];
          for (int r = 0; r < 2; ++r) {
            together[r] = -INFINITY;
            for (int other = t / 4 * 4; other < t / 4 * 4 + 4; ++other) together[r] = std::max(together[r], found[other][r]);
          }
          softmax[t].weigh(scores[t], together, scale * 1.44269504f);
          for (int i = 0; i < size / 2; ++i) out[t][i] *= softmax[t].shrink[i / 2 % 2];
        }
        // The weights as the tensor cores see the registers that hold them.
        static float weights[64][kKeys];
        for (int t = 0; t < 128; ++t)
          for (int step = 0; step < kKeys / 16; ++step)
            for (int r = 0; r < 4; ++r)
              for (int half = 0; half < 2; ++half)
                weights[operand_row(t, r)][step * 16 + operand_k(t, r, half)] = scores[t][sum_of_operand(step, r, half)];
        for (int step = 0; step < kKeys / 16; ++step) {
          Described b(values_operand(v_tile, step));
          for (int t = 0; t < 128; ++t)
            for (int i = 0; i < size / 2; ++i)
              for (int c = 0; c < 16; ++c) out[t][i] += weights[sum_row(t, i)][step * 16 + c] * b.with_contiguous_n(sum_column(t, i), c);
        }
      }
      for (int t = 0; t < 128; ++t)
        for (int i = 0; i < size / 2; ++i) {
          const int query = row + sum_row(t, i);
          if (query >= queries) continue;
          float total = 0;
          for (int other = t / 4 * 4; other < t / 4 * 4 + 4; ++other) total += softmax[other].total[i / 2 % 2];
          std::vector<double> exact(keys);
          double sum = 0, value = 0, largest = -INFINITY;
          for (int j = 0; j < keys; ++j) {
            double score = 0;
            for (int c = 0; c < size; ++c) score += double(q[(size_t(query) * heads + head) * size + c]) * k[size_t(j) * size + c];
            exact[j] = causal && j > query + shift ? -INFINITY : score * scale;
            largest = std::max(largest, exact[j]);
          }
          for (int j = 0; j < keys && largest > -INFINITY; ++j) {
            sum += std::exp(exact[j] - largest);
            value += std::exp(exact[j] - largest) * v[size_t(j) * size + sum_column(t, i)];
          }
          worst = std::max(worst, std::fabs((total > 0 ? out[t][i] / total : 0) - (sum > 0 ? value / sum : 0)));
          if (sum > 0) worst = std::max(worst, std::fabs(softmax[t].largest[i / 2 % 2] * scale + std::log(total) - (largest + std::log(sum))));
          if ((sum > 0) != (total > 0)) return INFINITY;
        }
    }
  }
  return worst;
}

int main() {
  for (int size : {64, 128}) {
    std::printf("%d, odd lengths: %g\n", size, difference(size, 70, 150, false, 0));
    std::printf("%d, causal: %g\n", size, difference(size, 150, 150, true, 0));
    std::printf("%d, the ends meet: %g\n", size, difference(size, 40, 170, true, 130));
    std::printf("%d, queries that see nothing: %g\n", size, difference(size, 140, 60, true, -80));
  }
}
