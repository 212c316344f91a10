// Attention: softmax(scale * q k^T + mask) v for each head. The scores are never in memory as a whole.
#pragma once
#include "backend.h"

namespace tablerec {

// What one call of attention asks for. The tensors are [sequences, steps, heads, size]; packed sequences lie one after
// another in [rows, heads, size]. Several heads of queries share a head of keys and values.
struct Attention {
  int64_t sequences = 0, heads = 0, kv_heads = 0, size = 0, value_size = 0;
  int64_t q_steps = 0, k_steps = 0;                      // of a sequence; the longest where they are packed
  int64_t q_rows = 0, k_rows = 0;                        // of all sequences together
  const int *q_starts = nullptr, *k_starts = nullptr;    // packed: the first row of each sequence, and the end
  float scale = 1;

  // Query i sees the keys from i + shift - left to i + shift + right; -1 is no bound. The shift is 0, or it lets the last
  // query and the last key of a sequence meet.
  int64_t left = -1, right = -1;
  bool ends_meet = false;
  // Added to the scores, elements of q's type: steps from sequence to sequence, head to head, query to query. The last
  // dimension is that of the keys.
  const void* mask = nullptr;
  int64_t mask_sequence = 0, mask_head = 0, mask_query = 0;
  // The queries that a key is hidden from, [sequences or 1, hidden_heads, k_steps, numbers]; as FlashMask has it.
  const int* hidden = nullptr;
  int64_t hidden_sequence = 0, hidden_heads = 1;
  int numbers = 0;
  bool hidden_below = false;  // two numbers are a range below the diagonal, not one end on either side of it

  // FP8: what the elements of q, k and v are multiplied by, [sequences, kv_heads], or one number for all.
  const float *q_descale = nullptr, *k_descale = nullptr, *v_descale = nullptr;
  bool one_descale = false;
  float unseen = std::numeric_limits<float>::infinity();  // the log-sum of a query that sees no key

  struct Span { int64_t q_first, queries, k_first, keys, shift; };
  HOST_DEVICE Span span(int64_t sequence) const {
    Span s{sequence * q_steps, q_steps, sequence * k_steps, k_steps, 0};
    if (q_starts) s.q_first = q_starts[sequence], s.queries = q_starts[sequence + 1] - s.q_first;
    if (k_starts) s.k_first = k_starts[sequence], s.keys = k_starts[sequence + 1] - s.k_first;
    if (ends_meet) s.shift = s.keys - s.queries;
    return s;
  }
  // The keys that query i may see, and the queries that may see key j: from the first to before the second.
  HOST_DEVICE int64_t first_key(const Span& s, int64_t i) const { return within(left < 0 ? 0 : i + s.shift - left, s.keys); }
  HOST_DEVICE int64_t end_of_keys(const Span& s, int64_t i) const { return within(right < 0 ? s.keys : i + s.shift + right + 1, s.keys); }
  HOST_DEVICE int64_t first_query(const Span& s, int64_t j) const { return within(right < 0 ? 0 : j - s.shift - right, s.queries); }
  HOST_DEVICE int64_t end_of_queries(const Span& s, int64_t j) const { return within(left < 0 ? s.queries : j - s.shift + left + 1, s.queries); }
  static HOST_DEVICE int64_t within(int64_t x, int64_t end) { return x < 0 ? 0 : x > end ? end : x; }

  // What is added to the score of a query and a key: minus infinity where the one does not see the other.
  template <class T> HOST_DEVICE float bias(int64_t sequence, int64_t head, int64_t i, int64_t j) const {
    float sum = 0;
    if (mask) sum = float(static_cast<const T*>(mask)[sequence * mask_sequence + head * mask_head + i * mask_query + j]);
    if (hidden) {
      const int* n = hidden + sequence * hidden_sequence + (head * hidden_heads / heads * k_steps + j) * numbers;
      bool hides = numbers == 1   ? i >= n[0]
                   : numbers == 4 ? (i >= n[0] && i < n[1]) || (i >= n[2] && i < n[3])
                   : hidden_below ? i >= n[0] && i < n[1]
                                  : i >= n[0] || i < n[1];
      if (hides) sum = -std::numeric_limits<float>::infinity();
    }
    return sum;
  }
  HOST_DEVICE float scale_of(int64_t sequence, int64_t kv_head) const {
    int64_t at = one_descale ? 0 : sequence * kv_heads + kv_head;
    return scale * (q_descale ? q_descale[at] : 1.0f) * (k_descale ? k_descale[at] : 1.0f);
  }
  HOST_DEVICE float value_scale_of(int64_t sequence, int64_t kv_head) const {
    return v_descale ? v_descale[one_descale ? 0 : sequence * kv_heads + kv_head] : 1.0f;
  }
  // Where the log-sum of a query is: [sequences, heads, q_steps]; packed [heads, q_rows].
  HOST_DEVICE int64_t log_sum_at(const Span& s, int64_t sequence, int64_t head, int64_t i) const {
    return q_starts ? head * q_rows + s.q_first + i : (sequence * heads + head) * q_steps + i;
  }
  bool square() const { return q_steps == k_steps && q_starts == k_starts; }
};

// The memory of a call. What is not wanted is null.
struct AttentionMemory {
  phi::DataType type;
  const void *q, *k, *v;
  void* out;
  float* log_sums;
  const void* dout = nullptr;
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
};

#ifdef TABLEREC_CUDA
// Each returns false where it cannot do what is asked; the next one is asked then, and plain loops can do all.
bool attend_by_hopper(const Context& context, const char* name, const Attention& a, const AttentionMemory& m);
bool attend_by_cudnn(const Context& context, const char* name, const Attention& a, const AttentionMemory& m);
bool attend_back_by_cudnn(const Context& context, const char* name, const Attention& a, const AttentionMemory& m);
#endif

}  // namespace tablerec
