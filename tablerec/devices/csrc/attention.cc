// Attention by Paddle's names: dense, of packed sequences, with FlashMask's ranges, and version 3 with FP8.
#include "attention.h"

#include <cstdlib>

#include "elements.h"
#include "paddle/phi/common/float8_e4m3fn.h"
#include "register.h"
#include "shared.h"

namespace tablerec {

constexpr int kTile = kTeam;       // keys (or queries) that a team looks at together: one for each member
constexpr int kLargestSize = 512;  // of a head

// Of two rows; 16 bytes at a time where they fit.
template <class T> HOST_DEVICE float product(const T* x, const T* y, int64_t size) {
  constexpr int N = 16 / sizeof(T);
  float sum = 0;
  int64_t c = 0;
  if (size % N == 0) {
    for (; c < size; c += N) {
      auto a = load<N>(x + c, 1, N), b = load<N>(y + c, 1, N);
      for (int k = 0; k < N; ++k) sum += float(a.at[k]) * float(b.at[k]);
    }
  }
  for (; c < size; ++c) sum += float(x[c]) * float(y[c]);
  return sum;
}

// ---- plain loops

// A team computes a row of the output. It reads the keys in tiles and keeps three things: the largest score so far, the sum
// of exp(score - largest), and the values weighted by the same numbers. When a tile has a larger score, the last two are
// shrunk by exp(old largest - new largest): the softmax is exact though no row of scores is ever whole.
template <class T, class R>
void attend_plainly(const Context& context, const char* name, const Attention& a, const T* q, const T* k, const T* v, R* out,
                    float* log_sums) {
  launch_tiles<kTile + kLargestSize>(context, name, a.sequences * a.heads * a.q_steps, DEVICE(int64_t item, Team team, float* memory) {
    constexpr float never = -std::numeric_limits<float>::infinity();
    float *weights = memory, *sums = memory + kTile;
    int64_t i = item % a.q_steps, head = item / a.q_steps % a.heads, sequence = item / a.q_steps / a.heads;
    int64_t kv_head = head / (a.heads / a.kv_heads);
    auto s = a.span(sequence);
    if (i >= s.queries) return;
    const T* query = q + ((s.q_first + i) * a.heads + head) * a.size;
    const T* keys = k + (s.k_first * a.kv_heads + kv_head) * a.size;
    const T* values = v + (s.k_first * a.kv_heads + kv_head) * a.value_size;
    float scale = a.scale_of(sequence, kv_head), largest = never, total = 0;
    meet();  // the memory may still be read for the row before
    for (int64_t c = team.rank; c < a.value_size; c += team.size) sums[c] = 0;
    int64_t end = a.end_of_keys(s, i);
    for (int64_t first = a.first_key(s, i); first < end; first += kTile) {
      int64_t count = end - first < kTile ? end - first : kTile;
      float here = never;
      for (int64_t j = team.rank; j < count; j += team.size) {
        weights[j] = a.bias<T>(sequence, head, i, first + j);
        if (weights[j] != never) weights[j] += scale * product(query, keys + (first + j) * a.kv_heads * a.size, a.size);
        here = here < weights[j] ? weights[j] : here;
      }
      here = team.max(here);
      float next = here > largest ? here : largest;
      if (next == never) continue;  // no key of this tile is seen
      float shrink = exp(largest - next), part = 0;
      for (int64_t j = team.rank; j < count; j += team.size) part += weights[j] = exp(weights[j] - next);
      total = total * shrink + team.sum(part);
      largest = next;
      meet();
      for (int64_t c = team.rank; c < a.value_size; c += team.size) sums[c] *= shrink;
      for (int64_t j = 0; j < count; ++j) {
        const T* value = values + (first + j) * a.kv_heads * a.value_size;
        for (int64_t c = team.rank; c < a.value_size; c += team.size) sums[c] += weights[j] * float(value[c]);
      }
      meet();
    }
    float share = total > 0 ? a.value_scale_of(sequence, kv_head) / total : 0;
    R* row = out + ((s.q_first + i) * a.heads + head) * a.value_size;
    for (int64_t c = team.rank; c < a.value_size; c += team.size) row[c] = R(sums[c] * share);
    if (team.rank == 0) log_sums[a.log_sum_at(s, sequence, head, i)] = total > 0 ? largest + log(total) : a.unseen;
  });
}

// With p = exp(score - log-sum) and dp = dout v^T, the gradient of a score is p * (dp - out dout): softmax's own, as the
// row's sum of p * dp is the product of the row's output with its gradient.
template <class T> HOST_DEVICE float weight_of(float score, float log_sum) {
  return log_sum - log_sum == 0 ? exp(score - log_sum) : 0;  // none where the query sees no key
}

template <class T>
void attend_back_plainly(const Context& context, const char* name, const Attention& a, const T* q, const T* k, const T* v,
                         const T* out, const float* log_sums, const T* dout, T* dq, T* dk, T* dv) {
  Temporary<float> products(context, a.sequences * a.heads * a.q_steps + a.heads * a.q_rows);
  auto dots = products.data;
  launch(context, "flash_attn_grad_dots", a.sequences * a.heads * a.q_steps, DEVICE(int64_t item) {
    int64_t i = item % a.q_steps, head = item / a.q_steps % a.heads, sequence = item / a.q_steps / a.heads;
    auto s = a.span(sequence);
    if (i >= s.queries) return;
    int64_t row = ((s.q_first + i) * a.heads + head) * a.value_size;
    dots[a.log_sum_at(s, sequence, head, i)] = product(out + row, dout + row, a.value_size);
  });
  if (dq) launch_tiles<kTile + kLargestSize>(context, name, a.sequences * a.heads * a.q_steps, DEVICE(int64_t item, Team team, float* memory) {
    float *slopes = memory, *sums = memory + kTile;
    int64_t i = item % a.q_steps, head = item / a.q_steps % a.heads, sequence = item / a.q_steps / a.heads;
    int64_t kv_head = head / (a.heads / a.kv_heads);
    auto s = a.span(sequence);
    if (i >= s.queries) return;
    int64_t row = (s.q_first + i) * a.heads + head, at = a.log_sum_at(s, sequence, head, i);
    meet();
    for (int64_t c = team.rank; c < a.size; c += team.size) sums[c] = 0;
    int64_t end = a.end_of_keys(s, i);
    for (int64_t first = a.first_key(s, i); first < end; first += kTile) {
      int64_t count = end - first < kTile ? end - first : kTile;
      for (int64_t j = team.rank; j < count; j += team.size) {
        int64_t key = (s.k_first + first + j) * a.kv_heads + kv_head;
        float bias = a.bias<T>(sequence, head, i, first + j);
        float p = weight_of<T>(bias + a.scale * product(q + row * a.size, k + key * a.size, a.size), log_sums[at]);
        slopes[j] = p * (product(dout + row * a.value_size, v + key * a.value_size, a.value_size) - dots[at]) * a.scale;
      }
      meet();
      for (int64_t j = 0; j < count; ++j) {
        const T* key = k + ((s.k_first + first + j) * a.kv_heads + kv_head) * a.size;
        for (int64_t c = team.rank; c < a.size; c += team.size) sums[c] += slopes[j] * float(key[c]);
      }
      meet();
    }
    for (int64_t c = team.rank; c < a.size; c += team.size) dq[row * a.size + c] = T(sums[c]);
  });
  // A team for each key: nothing is added to by two teams, so that the sums come in one order.
  if (dk || dv) launch_tiles<2 * kTile + 2 * kLargestSize>(context, name, a.sequences * a.kv_heads * a.k_steps, DEVICE(int64_t item, Team team, float* memory) {
    float *weights = memory, *slopes = memory + kTile, *value_sums = memory + 2 * kTile, *key_sums = value_sums + kLargestSize;
    int64_t j = item % a.k_steps, kv_head = item / a.k_steps % a.kv_heads, sequence = item / a.k_steps / a.kv_heads;
    auto s = a.span(sequence);
    if (j >= s.keys) return;
    int64_t key = (s.k_first + j) * a.kv_heads + kv_head, group = a.heads / a.kv_heads;
    meet();
    for (int64_t c = team.rank; c < a.size; c += team.size) key_sums[c] = 0;
    for (int64_t c = team.rank; c < a.value_size; c += team.size) value_sums[c] = 0;
    int64_t end = a.end_of_queries(s, j);
    for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      for (int64_t first = a.first_query(s, j); first < end; first += kTile) {
        int64_t count = end - first < kTile ? end - first : kTile;
        for (int64_t i = team.rank; i < count; i += team.size) {
          int64_t row = (s.q_first + first + i) * a.heads + head, at = a.log_sum_at(s, sequence, head, first + i);
          float bias = a.bias<T>(sequence, head, first + i, j);
          float p = weight_of<T>(bias + a.scale * product(q + row * a.size, k + key * a.size, a.size), log_sums[at]);
          weights[i] = p;
          slopes[i] = p * (product(dout + row * a.value_size, v + key * a.value_size, a.value_size) - dots[at]) * a.scale;
        }
        meet();
        for (int64_t i = 0; i < count; ++i) {
          int64_t row = (s.q_first + first + i) * a.heads + head;
          for (int64_t c = team.rank; c < a.value_size; c += team.size) value_sums[c] += weights[i] * float(dout[row * a.value_size + c]);
          for (int64_t c = team.rank; c < a.size; c += team.size) key_sums[c] += slopes[i] * float(q[row * a.size + c]);
        }
        meet();
      }
    }
    for (int64_t c = team.rank; c < a.size && dk; c += team.size) dk[key * a.size + c] = T(key_sums[c]);
    for (int64_t c = team.rank; c < a.value_size && dv; c += team.size) dv[key * a.value_size + c] = T(value_sums[c]);
  });
}

// ---- which way

// TABLEREC_ATTENTION: cudnn (where it can, the default), own (the kernel of attention_hopper_cuda.cc where it can, else as
// before), or plain (the loops above).
inline const std::string& attention_way() {
  static const auto* value = new std::string(getenv("TABLEREC_ATTENTION") ? getenv("TABLEREC_ATTENTION") : "");
  return *value;
}

template <class T, class R>
void attend(const Context& context, const char* name, const Attention& a, const AttentionMemory& m) {
  if (!m.out) return;
#ifdef TABLEREC_CUDA
  if (attention_way() == "own" && attend_by_hopper(context, name, a, m)) return;
  if (attention_way() != "plain" && attend_by_cudnn(context, name, a, m)) return;
#endif
  attend_plainly(context, name, a, static_cast<const T*>(m.q), static_cast<const T*>(m.k), static_cast<const T*>(m.v),
                 static_cast<R*>(m.out), m.log_sums);
}
template <class T> void attend_back(const Context& context, const char* name, const Attention& a, const AttentionMemory& m) {
#ifdef TABLEREC_CUDA
  if (attention_way() != "plain" && attend_back_by_cudnn(context, name, a, m)) return;
#endif
  auto of = [](const void* memory) { return static_cast<const T*>(memory); };
  auto to = [](void* memory) { return static_cast<T*>(memory); };
  attend_back_plainly(context, name, a, of(m.q), of(m.k), of(m.v), of(m.out), m.log_sums, of(m.dout), to(m.dq), to(m.dk), to(m.dv));
}

// ---- what was asked for

inline void require_sizes(const char* name, const Attention& a, const Tensor& k, const Tensor& v) {
  REQUIRE(a.kv_heads > 0 ? a.heads % a.kv_heads == 0 : a.heads == 0, "%s: %d heads of queries are no multiple of %d heads of keys", name,
          int(a.heads), int(a.kv_heads));
  REQUIRE(a.size == k.dims()[k.dims().size() - 1] && a.kv_heads == v.dims()[v.dims().size() - 2], "%s: queries, keys and values do not fit together", name);
  REQUIRE(a.size <= kLargestSize && a.value_size <= kLargestSize, "%s: heads of %d are not supported on %s, at most %d", name,
          int(std::max(a.size, a.value_size)), device_name(), kLargestSize);
}
inline void require_no_dropout(const char* name, float dropout, bool return_softmax) {
  REQUIRE(dropout == 0.0f, "%s with dropout is not supported on %s: set the model's attention dropout to 0, or TABLEREC_ATTENTION=math",
          name, device_name());
  REQUIRE(!return_softmax, "%s that returns its softmax is not supported on %s", name, device_name());
}
inline Attention dense(const char* name, const Tensor& q, const Tensor& k, const Tensor& v, bool causal) {
  REQUIRE(q.dims().size() == 4 && k.dims().size() == 4 && v.dims().size() == 4, "%s: tensors are [batch, steps, heads, size]", name);
  REQUIRE(q.dims()[0] == k.dims()[0] && k.dims()[0] == v.dims()[0] && k.dims()[1] == v.dims()[1], "%s: queries, keys and values do not fit together", name);
  Attention a;
  a.sequences = q.dims()[0], a.q_steps = q.dims()[1], a.heads = q.dims()[2], a.size = q.dims()[3];
  a.k_steps = k.dims()[1], a.kv_heads = k.dims()[2], a.value_size = v.dims()[3];
  a.q_rows = a.sequences * a.q_steps, a.k_rows = a.sequences * a.k_steps;
  a.scale = 1.0f / std::sqrt(float(std::max<int64_t>(a.size, 1)));
  if (causal) a.right = 0;
  require_sizes(name, a, k, v);
  return a;
}
inline Attention packed(const char* name, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& q_starts, const Tensor& k_starts,
                        int64_t q_steps, int64_t k_steps, float scale, bool causal) {
  REQUIRE(q.dims().size() == 3 && k.dims().size() == 3 && v.dims().size() == 3, "%s: packed tensors are [rows, heads, size]", name);
  REQUIRE(q_starts.numel() == k_starts.numel() && q_starts.numel() > 0, "%s: cu_seqlens of queries and keys differ in length", name);
  REQUIRE(q_starts.dtype() == phi::DataType::INT32 && k_starts.dtype() == phi::DataType::INT32, "%s: cu_seqlens must be int32", name);
  Attention a;
  a.sequences = q_starts.numel() - 1, a.q_steps = q_steps, a.k_steps = k_steps;
  a.q_rows = q.dims()[0], a.heads = q.dims()[1], a.size = q.dims()[2];
  a.k_rows = k.dims()[0], a.kv_heads = k.dims()[1], a.value_size = v.dims()[2];
  a.q_starts = read<int>(q_starts), a.k_starts = read<int>(k_starts);
  a.scale = scale;
  if (causal) a.right = 0;
  require_sizes(name, a, k, v);
  return a;
}
// The mask's first three dimensions may be 1, for all.
template <class T> void add_mask(const char* name, const OptionalTensor& mask, Attention* a) {
  if (!mask || !mask->numel()) return;
  auto d = mask->dims();
  REQUIRE(d.size() == 4 && (d[0] == 1 || d[0] == a->sequences) && (d[1] == 1 || d[1] == a->heads) && (d[2] == 1 || d[2] == a->q_steps) &&
              d[3] == a->k_steps && !a->q_starts,
          "%s: the mask must be [batch or 1, heads or 1, steps or 1, steps of keys]", name);
  a->mask = read<T>(*mask);
  a->mask_query = d[2] == 1 ? 0 : d[3];
  a->mask_head = d[1] == 1 ? 0 : d[2] * d[3];
  a->mask_sequence = d[0] == 1 ? 0 : d[1] * d[2] * d[3];
}
inline void add_hidden(const char* name, const Tensor& rows, bool causal, Attention* a) {
  auto d = rows.dims();
  REQUIRE(d.size() == 4 && (d[0] == 1 || d[0] == a->sequences) && (d[1] == 1 || d[1] == a->heads || d[1] == a->kv_heads) && d[2] == a->k_steps &&
              (causal ? d[3] == 1 || d[3] == 2 : d[3] == 2 || d[3] == 4),
          "%s: startend_row_indices must be [batch or 1, heads or 1, steps of keys, 1 or 2 with causal, else 2 or 4]", name);
  a->hidden = read<int>(rows);
  a->numbers = int(d[3]);
  a->hidden_below = causal;
  a->hidden_heads = d[1];
  a->hidden_sequence = d[0] == 1 ? 0 : d[1] * d[2] * d[3];
}

// Rows of packed tensors that belong to no sequence are zeros.
template <class T> T* write_rows(const Context& context, const char* name, const Attention& a, Tensor* out) {
  auto memory = write<T>(context, out);
  if (memory && a.q_starts) fill_elements(context, name, out->numel(), T(0.0f), memory);
  return memory;
}
template <class T> AttentionMemory memory_of(const Tensor& q, const Tensor& k, const Tensor& v, void* out, float* log_sums) {
  return {phi::CppTypeToDataType<T>::Type(), read<T>(q), read<T>(k), read<T>(v), out, log_sums};
}
// The seed of a dropout that is not there; its gradient asks for the tensor.
inline void write_no_seed(const Context& context, Tensor* seed_offset) {
  if (!seed_offset) return;
  seed_offset->Resize({2});
  fill_elements<int64_t>(context, "flash_attn_seed", 2, 0, write<int64_t>(context, seed_offset));
}
template <class T>
void forward(const Context& context, const char* name, const Attention& a, const Tensor& q, const Tensor& k, const Tensor& v, Tensor* out,
             Tensor* log_sums) {
  if (a.q_starts) log_sums->Resize({a.heads, a.q_rows});
  else log_sums->Resize({a.sequences, a.heads, a.q_steps});
  auto to = write_rows<T>(context, "flash_attn_rows", a, out);
  attend<T, T>(context, name, a, memory_of<T>(q, k, v, to, write<float>(context, log_sums)));
}
template <class T>
void backward(const Context& context, const char* name, const Attention& a, const Tensor& q, const Tensor& k, const Tensor& v,
              const Tensor& out, const Tensor& log_sums, const Tensor& dout, Tensor* dq, Tensor* dk, Tensor* dv) {
  auto m = memory_of<T>(q, k, v, const_cast<T*>(read<T>(out)), const_cast<float*>(read<float>(log_sums)));
  m.dout = read<T>(dout);
  m.dq = write_rows<T>(context, "flash_attn_rows", a, dq);
  m.dk = write_rows<T>(context, "flash_attn_rows", a, dk);
  m.dv = write_rows<T>(context, "flash_attn_rows", a, dv);
  attend_back<T>(context, name, a, m);
}

// ---- Paddle's kernels

template <class T, class X>
void FlashAttn(const X& context, const Tensor& q, const Tensor& k, const Tensor& v, const OptionalTensor&, const OptionalTensor& mask,
               float dropout, bool causal, bool return_softmax, bool is_test, const std::string&, Tensor* out, Tensor*, Tensor* log_sums,
               Tensor* seed_offset) {
  require_no_dropout("flash_attn", is_test ? 0 : dropout, return_softmax);
  Attention a = dense("flash_attn", q, k, v, causal);
  add_mask<T>("flash_attn", mask, &a);
  forward<T>(context, "flash_attn", a, q, k, v, out, log_sums);
  write_no_seed(context, seed_offset);
}
template <class T, class X>
void FlashAttnGrad(const X& context, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& log_sums,
                   const Tensor&, const OptionalTensor& mask, const Tensor& dout, float dropout, bool causal, Tensor* dq, Tensor* dk,
                   Tensor* dv) {
  require_no_dropout("flash_attn_grad", dropout, false);
  Attention a = dense("flash_attn_grad", q, k, v, causal);
  add_mask<T>("flash_attn_grad", mask, &a);
  backward<T>(context, "flash_attn_grad", a, q, k, v, out, log_sums, dout, dq, dk, dv);
}

template <class T, class X>
void FlashAttnUnpadded(const X& context, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& q_starts, const Tensor& k_starts,
                       const OptionalTensor&, const OptionalTensor& mask, const phi::Scalar& q_steps, const phi::Scalar& k_steps,
                       float scale, float dropout, bool causal, bool return_softmax, bool is_test, const std::string&, Tensor* out,
                       Tensor*, Tensor* log_sums, Tensor* seed_offset) {
  require_no_dropout("flash_attn_unpadded", is_test ? 0 : dropout, return_softmax);
  REQUIRE(!mask, "flash_attn_unpadded with a mask is not supported on %s", device_name());
  Attention a = packed("flash_attn_unpadded", q, k, v, q_starts, k_starts, q_steps.to<int64_t>(), k_steps.to<int64_t>(), scale, causal);
  forward<T>(context, "flash_attn_unpadded", a, q, k, v, out, log_sums);
  write_no_seed(context, seed_offset);
}
template <class T, class X>
void FlashAttnUnpaddedGrad(const X& context, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& q_starts,
                           const Tensor& k_starts, const Tensor& out, const Tensor& log_sums, const Tensor&, const OptionalTensor& mask,
                           const Tensor& dout, const phi::Scalar& q_steps, const phi::Scalar& k_steps, float scale, float dropout,
                           bool causal, Tensor* dq, Tensor* dk, Tensor* dv) {
  require_no_dropout("flash_attn_unpadded_grad", dropout, false);
  REQUIRE(!mask, "flash_attn_unpadded_grad with a mask is not supported on %s", device_name());
  Attention a = packed("flash_attn_unpadded_grad", q, k, v, q_starts, k_starts, q_steps.to<int64_t>(), k_steps.to<int64_t>(), scale, causal);
  backward<T>(context, "flash_attn_unpadded_grad", a, q, k, v, out, log_sums, dout, dq, dk, dv);
}

template <class T, class X>
void FlashMask(const X& context, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& rows, const OptionalTensor&,
               float dropout, bool causal, bool return_softmax, bool is_test, const std::string&, Tensor* out, Tensor*, Tensor* log_sums,
               Tensor* seed_offset) {
  require_no_dropout("flashmask_attention", is_test ? 0 : dropout, return_softmax);
  Attention a = dense("flashmask_attention", q, k, v, causal);
  add_hidden("flashmask_attention", rows, causal, &a);
  forward<T>(context, "flashmask_attention", a, q, k, v, out, log_sums);
  write_no_seed(context, seed_offset);
}
template <class T, class X>
void FlashMaskGrad(const X& context, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& rows, const Tensor& out,
                   const Tensor& log_sums, const Tensor&, const Tensor& dout, float dropout, bool causal, Tensor* dq, Tensor* dk,
                   Tensor* dv) {
  require_no_dropout("flashmask_attention_grad", dropout, false);
  Attention a = dense("flashmask_attention_grad", q, k, v, causal);
  add_hidden("flashmask_attention_grad", rows, causal, &a);
  backward<T>(context, "flashmask_attention_grad", a, q, k, v, out, log_sums, dout, dq, dk, dv);
}

// Version 3: a causal mask lets the last query and the last key meet.
inline Attention third(const char* name, const Tensor& q, const Tensor& k, const Tensor& v, float scale, bool causal, int left, int right,
                       float softcap) {
  REQUIRE(softcap == 0.0f, "%s with softcap is not supported on %s", name, device_name());
  Attention a = dense(name, q, k, v, causal);
  a.scale = scale;
  a.left = left;
  a.right = causal ? 0 : right;
  a.ends_meet = true;
  a.unseen = -std::numeric_limits<float>::infinity();
  return a;
}
inline const float* descale_of(const char* name, const OptionalTensor& given, Attention* a) {
  if (!given) return nullptr;
  REQUIRE(given->numel() == 1 || given->numel() == a->sequences * a->kv_heads,
          "%s: a descale must hold one number, or [batch, heads of keys]", name);
  a->one_descale = given->numel() == 1;
  return read<float>(*given);
}
template <class T, class X>
void FlashAttnV3(const X& context, const Tensor& q, const Tensor& k, const Tensor& v, const OptionalTensor& q_v,
                 const OptionalTensor& q_descale, const OptionalTensor& k_descale, const OptionalTensor& v_descale, float scale, bool causal,
                 int left, int right, float softcap, int, bool, bool, int, Tensor* out, Tensor* log_sums) {
  REQUIRE(!q_v, "flash_attn_v3 with q_v is not supported on %s", device_name());
  Attention a = third("flash_attn_v3", q, k, v, scale, causal, left, right, softcap);
  if constexpr (!std::is_same<T, phi::dtype::float8_e4m3fn>::value) {
    return forward<T>(context, "flash_attn_v3", a, q, k, v, out, log_sums);
  } else {
    a.q_descale = descale_of("flash_attn_v3", q_descale, &a);
    a.k_descale = descale_of("flash_attn_v3", k_descale, &a);
    a.v_descale = descale_of("flash_attn_v3", v_descale, &a);
    auto count = [](const OptionalTensor& given) { return given ? given->numel() : -1; };
    for (auto* other : {&k_descale, &v_descale})
      REQUIRE(count(q_descale) == count(*other), "flash_attn_v3: give all three descales in one shape, or none");
    log_sums->Resize({a.sequences, a.heads, a.q_steps});
    auto to = write<phi::dtype::bfloat16>(context, out);
    attend<T, phi::dtype::bfloat16>(context, "flash_attn_v3", a, memory_of<T>(q, k, v, to, write<float>(context, log_sums)));
  }
}
template <class T, class X>
void FlashAttnV3Grad(const X& context, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& log_sums,
                     const Tensor& dout, float scale, bool causal, int left, int right, float softcap, int, Tensor* dq, Tensor* dk,
                     Tensor* dv) {
  Attention a = third("flash_attn_v3_grad", q, k, v, scale, causal, left, right, softcap);
  backward<T>(context, "flash_attn_v3_grad", a, q, k, v, out, log_sums, dout, dq, dk, dv);
}

// The log-sums are float32 and the seed int64, whatever the queries are; the output of FP8 is bfloat16.
inline void gives_log_sums_third(phi::Kernel* kernel) {
  kernel->OutputAt(2).SetDataType(phi::DataType::FLOAT32);
  kernel->OutputAt(3).SetDataType(phi::DataType::INT64);
}
inline void gives_log_sums_second(phi::Kernel* kernel) { kernel->OutputAt(1).SetDataType(phi::DataType::FLOAT32); }
inline void gives_bfloat16(phi::Kernel* kernel) {
  gives_log_sums_second(kernel);
  kernel->OutputAt(0).SetDataType(phi::DataType::BFLOAT16);
}

inline const auto kAttentionTypes = Types<float>() + kHalves;
REGISTER_AMENDED(flash_attn, FlashAttn, kAttentionTypes, gives_log_sums_third)
REGISTER(flash_attn_grad, FlashAttnGrad, kAttentionTypes)
REGISTER_AMENDED(flash_attn_unpadded, FlashAttnUnpadded, kAttentionTypes, gives_log_sums_third)
REGISTER(flash_attn_unpadded_grad, FlashAttnUnpaddedGrad, kAttentionTypes)
REGISTER_AMENDED(flashmask_attention, FlashMask, kAttentionTypes, gives_log_sums_third)
REGISTER(flashmask_attention_grad, FlashMaskGrad, kAttentionTypes)
REGISTER_AMENDED(flash_attn_v3, FlashAttnV3, kAttentionTypes, gives_log_sums_second)
static const bool registered_flash_attn_v3_fp8 =
    (register_one<&FlashAttnV3<phi::dtype::float8_e4m3fn, Context>, gives_bfloat16, phi::dtype::float8_e4m3fn>("flash_attn_v3"), true);
REGISTER(flash_attn_v3_grad, FlashAttnV3Grad, kAttentionTypes)

}  // namespace tablerec
