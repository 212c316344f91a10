// What cuDNN's graphs of attention are made for, and how they run. The graphs are described by NVIDIA's headers
// nvidia-cudnn-frontend, in one file that has no kernels of its own: they take long to compile.
#pragma once
#include <array>
#include <unordered_map>

#include "attention.h"

namespace tablerec {

// The tensors of a graph, by the numbers under which a run names their memory.
enum Name : int64_t {
  kQ = 1, kK, kV, kO, kSums, kBias, kGradient, kQGradient, kKGradient, kVGradient, kQStarts, kKStarts, kVStarts, kOStarts, kQSteps, kKSteps,
  kQDescale, kKDescale, kVDescale, kWeightsDescale, kWeightsScale, kOScale, kLargestWeight, kLargestO
};
using GraphMemory = std::unordered_map<int64_t, void*>;


// What a plan is made for.
struct AttentionShape {
  phi::DataType type;
  int64_t backward, sequences, heads, kv_heads, size, value_size, q_steps, k_steps, packed, causal, ends_meet;
  int64_t q_row, k_row, v_row;  // elements from step to step: all heads of the tensor, also where a plan is for some
  int64_t bias_sequences, bias_heads, scale_bits;
  std::array<int64_t, 18> key() const {
    return {int64_t(type), backward, sequences, heads, kv_heads, size, value_size, q_steps, k_steps, packed, causal,
            ends_meet, q_row, k_row, v_row, bias_sequences, bias_heads, scale_bits};
  }
  float scale() const {
    float value;
    memcpy(&value, &scale_bits, sizeof(value));
    return value;
  }
};

// A graph that runs.
struct AttentionPlan;
// The plan of a shape on the current device, made when it is seen for the first time; null where cuDNN has none, which is
// told once, and where the plugin was compiled without the headers.
const AttentionPlan* plan_of(const Context& context, const char* name, const AttentionShape& shape);
void run_plan(const Context& context, const char* name, const AttentionPlan& plan, GraphMemory& memory);

}  // namespace tablerec
