// Attention by cuDNN, forward and backward, and forward in FP8: what stands between Paddle's tensors and cuDNN's graphs.
#include <cuda_fp8.h>

#include "attention_cudnn.h"
#include "elements.h"
#include "paddle/phi/common/float8_e4m3fn.h"

namespace tablerec {

// A few queries (one, when tokens are generated) are bound by memory, and their number of keys changes with each: a plan for
// each would cost more than it saves.
constexpr int64_t kFewQueries = 16;
// FlashMask's ranges are written out as a mask, up to so many elements.
constexpr int64_t kLargestMask = int64_t(1) << 31;

static bool possible(const Attention& a, const AttentionMemory& m) {
  bool halves = m.type == phi::DataType::BFLOAT16 || m.type == phi::DataType::FLOAT16;
  bool sizes = a.size && a.value_size && a.size % 8 == 0 && a.value_size % 8 == 0;
  bool some = a.q_rows && a.k_rows && a.heads && a.sequences && a.q_steps >= kFewQueries;
  bool window = a.left >= 0 || a.right > 0 || (a.right == 0 && a.ends_meet && a.q_steps > a.k_steps);
  bool masks = (a.mask && a.hidden) || (a.mask && !a.mask_query);
  return halves && sizes && some && !window && !masks;
}

static AttentionShape shape_of(const Attention& a, const AttentionMemory& m, bool backward) {
  AttentionShape s{m.type, backward, a.sequences, a.heads, a.kv_heads, a.size, a.value_size, a.q_steps, a.k_steps, a.q_starts != nullptr,
                   a.right == 0, a.ends_meet && a.q_steps != a.k_steps, a.heads * a.size, a.kv_heads * a.size, a.kv_heads * a.value_size, 0, 0, 0};
  memcpy(&s.scale_bits, &a.scale, sizeof(a.scale));
  if (a.q_starts) {  // the longest sequence is a bound, and empty ones may follow: few different numbers make few plans
    for (auto* steps : {&s.q_steps, &s.k_steps}) *steps = (*steps + 255) / 256 * 256;
    s.sequences = (s.sequences + 15) / 16 * 16;
  }
  if (a.mask) s.bias_sequences = a.mask_sequence ? a.sequences : 1, s.bias_heads = a.mask_head ? a.heads : 1;
  if (a.hidden) s.bias_sequences = a.hidden_sequence ? a.sequences : 1, s.bias_heads = a.hidden_heads == 1 ? 1 : a.heads;
  return s;
}

// What a run needs beside the call's own tensors, for as long as it lasts.
struct Beside { Tensor mask, numbers, sums; };

// Where sequences are packed: the first element of each of `n` in q, k, v and the output, and how many steps it has; those
// beyond the given ones are empty.
static bool add_starts(const Context& context, const Attention& a, int64_t n, Beside* beside, GraphMemory* memory) {
  int64_t given = a.sequences, widest = std::max(a.heads, a.kv_heads) * std::max(a.size, a.value_size);
  if (std::max(a.q_rows, a.k_rows) * widest > std::numeric_limits<int>::max()) return false;
  beside->numbers.Resize({4 * (n + 1) + 2 * n});
  auto numbers = write<int>(context, &beside->numbers);
  auto q = a.q_starts, k = a.k_starts;
  int q_row = int(a.heads * a.size), k_row = int(a.kv_heads * a.size), v_row = int(a.kv_heads * a.value_size), o_row = int(a.heads * a.value_size);
  launch(context, "flash_attn_starts", n + 1, DEVICE(int64_t i) {
    int64_t at = i < given ? i : given;
    numbers[i] = q[at] * q_row;
    numbers[n + 1 + i] = k[at] * k_row;
    numbers[2 * (n + 1) + i] = k[at] * v_row;
    numbers[3 * (n + 1) + i] = q[at] * o_row;
    if (i == n) return;
    numbers[4 * (n + 1) + i] = i < given ? q[i + 1] - q[i] : 0;
    numbers[4 * (n + 1) + n + i] = i < given ? k[i + 1] - k[i] : 0;
  });
  Name names[] = {kQStarts, kKStarts, kVStarts, kOStarts};
  for (int part = 0; part < 4; ++part) (*memory)[names[part]] = numbers + part * (n + 1);
  (*memory)[kQSteps] = numbers + 4 * (n + 1);
  (*memory)[kKSteps] = numbers + 4 * (n + 1) + n;
  return true;
}

// The lowest score is finite, as a row of nothing else must not give NaN; forward zeroes such rows afterwards.
template <class T> HOST_DEVICE float lowest() { return std::is_same<T, phi::dtype::float16>::value ? -60000.0f : -1e30f; }

template <class T> void add_mask_of_ranges(const Context& context, const Attention& a, const AttentionShape& s, Beside* beside, GraphMemory* memory) {
  beside->mask.Resize({s.bias_sequences, s.bias_heads, a.q_steps, a.k_steps});
  auto mask = write<T>(context, &beside->mask);
  int64_t masks = s.bias_heads, heads_a_mask = a.heads / masks;
  launch(context, "flash_attn_mask", beside->mask.numel(), DEVICE(int64_t at) {
    int64_t j = at % a.k_steps, i = at / a.k_steps % a.q_steps, which = at / a.k_steps / a.q_steps;
    float bias = a.bias<T>(which / masks, which % masks * heads_a_mask, i, j);
    mask[at] = T(bias < 0 ? lowest<T>() : 0.0f);
  });
  (*memory)[kBias] = mask;
}

// Log-sums of packed sequences lie [heads, rows]; cuDNN has them [sequences, heads, steps].
static void move_sums(const Context& context, const Attention& a, int64_t steps, float* packed, float* apart, bool pack) {
  launch(context, "flash_attn_sums", a.sequences * a.heads * steps, DEVICE(int64_t at) {
    int64_t i = at % steps, head = at / steps % a.heads, sequence = at / steps / a.heads;
    auto span = a.span(sequence);
    if (i >= span.queries) {
      if (!pack) apart[at] = 0;
    } else if (pack) {
      packed[a.log_sum_at(span, sequence, head, i)] = apart[at];
    } else {
      apart[at] = packed[a.log_sum_at(span, sequence, head, i)];
    }
  });
}

// Rows whose keys are all hidden: zeros, and a log-sum that gives the gradient's weights none.
template <class T> void zero_rows(const Context& context, const Attention& a, T* out, float* log_sums) {
  launch(context, "flash_attn_unseen", a.sequences * a.heads * a.q_steps, DEVICE(int64_t at) {
    if (log_sums[at] > lowest<T>() / 2) return;
    int64_t i = at % a.q_steps, head = at / a.q_steps % a.heads, sequence = at / a.q_steps / a.heads;
    log_sums[at] = a.unseen;
    for (int64_t c = 0; c < a.value_size; ++c) out[((sequence * a.q_steps + i) * a.heads + head) * a.value_size + c] = T(0.0f);
  });
}

template <class T> bool attend_in_halves(const Context& context, const char* name, const Attention& a, const AttentionMemory& m, bool backward) {
  AttentionShape shape = shape_of(a, m, backward);
  if (a.hidden && shape.bias_sequences * shape.bias_heads * a.q_steps * a.k_steps > kLargestMask) return false;
  auto plan = plan_of(context, name, shape);
  if (!plan) return false;
  KernelScope scope(name, context.stream());
  Beside beside;
  GraphMemory memory{{kQ, const_cast<void*>(m.q)}, {kK, const_cast<void*>(m.k)}, {kV, const_cast<void*>(m.v)}, {kO, m.out}, {kSums, m.log_sums}};
  if (a.q_starts) {
    if (!add_starts(context, a, shape.sequences, &beside, &memory)) return false;
    beside.sums.Resize({shape.sequences, a.heads, shape.q_steps});
    memory[kSums] = write<float>(context, &beside.sums);
  }
  if (a.hidden) add_mask_of_ranges<T>(context, a, shape, &beside, &memory);
  if (a.mask) memory[kBias] = const_cast<void*>(a.mask);
  if (!backward) {
    run_plan(context, name, *plan, memory);
    if (a.q_starts) move_sums(context, a, shape.q_steps, m.log_sums, static_cast<float*>(memory[kSums]), true);
    if (a.hidden) zero_rows(context, a, static_cast<T*>(m.out), m.log_sums);
  } else {
    if (a.q_starts) move_sums(context, a, shape.q_steps, m.log_sums, static_cast<float*>(memory[kSums]), false);
    // cuDNN writes all three; those that nobody asked for go where nobody reads.
    Tensor unasked[3];
    void* asked[] = {m.dq, m.dk, m.dv};
    int64_t counts[] = {a.q_rows * a.heads * a.size, a.k_rows * a.kv_heads * a.size, a.k_rows * a.kv_heads * a.value_size};
    for (int part = 0; part < 3; ++part) {
      unasked[part].Resize({asked[part] ? 1 : counts[part]});
      memory[kQGradient + part] = asked[part] ? asked[part] : write<T>(context, &unasked[part]);
    }
    memory[kGradient] = const_cast<void*>(m.dout);
    run_plan(context, name, *plan, memory);
  }
  count_kernel(backward ? "flash_attn_grad_by_cudnn" : "flash_attn_by_cudnn");
  return true;
}

// FP8: cuDNN knows one descale a tensor, so that heads with descales of their own run one group after another. Its output is
// FP8 on Hopper: scaled as the values are, no row can be too large, as it is an average of values; bfloat16 is made of it.
// The weights, at most 1, are multiplied by 256 before they are rounded: those below 2^-17 are lost, not below 2^-9.
static bool attend_in_fp8(const Context& context, const char* name, const Attention& a, const AttentionMemory& m) {
  using Eight = phi::dtype::float8_e4m3fn;
  if (!a.q_rows || !a.k_rows || !a.heads || a.size % 16 || a.value_size % 16 || a.left >= 0 || a.right > 0) return false;
  if (a.right == 0 && a.q_steps != a.k_steps) return false;
  bool apart = a.q_descale && !a.one_descale;
  AttentionShape shape = shape_of(a, m, false);
  if (apart) shape.sequences = 1, shape.heads = a.heads / a.kv_heads, shape.kv_heads = 1;
  int64_t runs = apart ? a.sequences * a.kv_heads : 1, numbers = 8;
  auto plan = plan_of(context, name, shape);
  if (!plan) return false;
  KernelScope scope(name, context.stream());
  Temporary<float> scales(context, runs * numbers);
  Temporary<Eight> eight(context, a.q_rows * a.heads * a.value_size);
  auto to = scales.data;
  launch(context, "flash_attn_scales", runs, DEVICE(int64_t run) {
    float v = a.v_descale ? a.v_descale[run] : 1.0f;
    float all[] = {a.q_descale ? a.q_descale[run] : 1.0f, a.k_descale ? a.k_descale[run] : 1.0f, v, 1.0f / 256, 256.0f, 1 / v, 0, 0};
    for (int n = 0; n < 8; ++n) to[run * 8 + n] = all[n];
  });
  auto bytes = [](const void* data) { return static_cast<uint8_t*>(const_cast<void*>(data)); };
  int64_t group = a.heads / a.kv_heads, each = a.q_steps * group * a.value_size;  // elements of a run's output
  for (int64_t run = 0; run < runs; ++run) {
    int64_t sequence = run / a.kv_heads, kv_head = run % a.kv_heads;
    GraphMemory memory{{kQ, bytes(m.q) + sequence * a.q_steps * a.heads * a.size + kv_head * group * a.size},
                  {kK, bytes(m.k) + sequence * a.k_steps * a.kv_heads * a.size + kv_head * a.size},
                  {kV, bytes(m.v) + sequence * a.k_steps * a.kv_heads * a.value_size + kv_head * a.value_size},
                  {kO, eight.data + run * each},
                  {kSums, m.log_sums + (sequence * a.heads + kv_head * group) * a.q_steps}};
    for (int64_t n = 0; n < numbers; ++n) memory[kQDescale + n] = to + run * numbers + n;
    run_plan(context, name, *plan, memory);
  }
  auto from = eight.data;
  auto out = static_cast<phi::dtype::bfloat16*>(m.out);
  constexpr int N = 16;  // a head has whole sixteens
  launch(context, "flash_attn_from_fp8", a.q_rows * a.heads * a.value_size / N, DEVICE(int64_t i) {
    int64_t at = i * N, c = at % a.value_size, head = at / a.value_size % a.heads, row = at / a.value_size / a.heads;
    int64_t sequence = row / a.q_steps, kv_head = head / group;
    int64_t where = apart ? (sequence * a.kv_heads + kv_head) * each + (row % a.q_steps * group + head % group) * a.value_size + c : at;
    float by = a.value_scale_of(sequence, kv_head);
    auto numbers = *reinterpret_cast<const Pack<uint16_t, N / 2>*>(from + where);
    Pack<phi::dtype::bfloat16, N / 2> whole[2];
#pragma unroll
    for (int k = 0; k < N / 2; ++k) {
      __half2_raw pair = {};
#ifdef __CUDA_ARCH__
      pair = __nv_cvt_fp8x2_to_halfraw2(numbers.at[k], __NV_E4M3);
#endif
      whole[k / 4].at[k % 4 * 2] = phi::dtype::bfloat16(float(phi::dtype::raw_uint16_to_float16(pair.x)) * by);
      whole[k / 4].at[k % 4 * 2 + 1] = phi::dtype::bfloat16(float(phi::dtype::raw_uint16_to_float16(pair.y)) * by);
    }
    for (int k = 0; k < 2; ++k) reinterpret_cast<Pack<phi::dtype::bfloat16, N / 2>*>(out + at)[k] = whole[k];
  });
  count_kernel("flash_attn_by_cudnn_fp8");
  return true;
}

bool attend_by_cudnn(const Context& context, const char* name, const Attention& a, const AttentionMemory& m) {
  if (m.type == phi::DataType::FLOAT8_E4M3FN) return attend_in_fp8(context, name, a, m);
  if (!possible(a, m)) return false;
  return m.type == phi::DataType::BFLOAT16 ? attend_in_halves<phi::dtype::bfloat16>(context, name, a, m, false)
                                           : attend_in_halves<phi::dtype::float16>(context, name, a, m, false);
}
bool attend_back_by_cudnn(const Context& context, const char* name, const Attention& a, const AttentionMemory& m) {
  if (!possible(a, m)) return false;
  return m.type == phi::DataType::BFLOAT16 ? attend_in_halves<phi::dtype::bfloat16>(context, name, a, m, true)
                                           : attend_in_halves<phi::dtype::float16>(context, name, a, m, true);
}

}  // namespace tablerec
