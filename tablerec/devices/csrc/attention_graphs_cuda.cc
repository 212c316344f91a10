// Attention as cuDNN's graphs.
#include "attention_cudnn.h"

#ifndef TABLEREC_CUDNN_FRONTEND

namespace tablerec {
const AttentionPlan* plan_of(const Context&, const char*, const AttentionShape&) { return nullptr; }
void run_plan(const Context&, const char*, const AttentionPlan&, GraphMemory&) {}
}  // namespace tablerec

#elif !defined(__CUDA_ARCH__)  // nothing here is for the device

#include "libraries.h"
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace tablerec {
namespace fe = cudnn_frontend;
using fe::graph::Tensor_attributes;
using TensorOfGraph = std::shared_ptr<Tensor_attributes>;

struct AttentionPlan {
  std::shared_ptr<fe::graph::Graph> graph;  // none: cuDNN cannot
  int64_t workspace = 0;
};

static bool deterministic() {
  static const bool value = getenv("FLAGS_cudnn_deterministic") && *getenv("FLAGS_cudnn_deterministic") == '1';
  return value;
}

static fe::DataType_t type_of(phi::DataType type) {
  return type == phi::DataType::BFLOAT16  ? fe::DataType_t::BFLOAT16
         : type == phi::DataType::FLOAT16 ? fe::DataType_t::HALF
                                          : fe::DataType_t::FP8_E4M3;
}

// Describes the graph of a shape. Tensors are [sequences, heads, steps, size] by name, and lie as [sequences, steps, heads, size].
static std::shared_ptr<fe::graph::Graph> describe_attention(const AttentionShape& s) {
  auto graph = std::make_shared<fe::graph::Graph>();
  graph->set_io_data_type(type_of(s.type)).set_intermediate_data_type(fe::DataType_t::FLOAT).set_compute_data_type(fe::DataType_t::FLOAT);
  auto small = [&](Name name, int64_t count, fe::DataType_t type) {
    return graph->tensor(Tensor_attributes().set_uid(name).set_dim({count, 1, 1, 1}).set_stride({1, 1, 1, 1}).set_data_type(type));
  };
  auto starts = [&](Name name) { return s.packed ? small(name, s.sequences + 1, fe::DataType_t::INT32) : nullptr; };
  TensorOfGraph q_starts = starts(kQStarts), k_starts = starts(kKStarts), v_starts = starts(kVStarts), o_starts = starts(kOStarts);
  auto lay = [&](Tensor_attributes& x, Name name, int64_t heads, int64_t steps, int64_t size, int64_t row, const TensorOfGraph& starts) {
    x.set_uid(name).set_dim({s.sequences, heads, steps, size}).set_stride({steps * row, size, row, 1});
    if (starts) x.set_ragged_offset(starts);
  };
  auto given = [&](Name name, int64_t heads, int64_t steps, int64_t size, int64_t row, const TensorOfGraph& starts) {
    Tensor_attributes x;
    lay(x, name, heads, steps, size, row, starts);
    return graph->tensor(x);
  };
  auto wanted = [&](const TensorOfGraph& x, Name name, int64_t heads, int64_t steps, int64_t size, int64_t row, const TensorOfGraph& starts) {
    lay(*x, name, heads, steps, size, row, starts);
    x->set_output(true);
  };
  const int64_t o_row = s.q_row / s.size * s.value_size;
  auto q = given(kQ, s.heads, s.q_steps, s.size, s.q_row, q_starts);
  auto k = given(kK, s.kv_heads, s.k_steps, s.size, s.k_row, k_starts);
  auto v = given(kV, s.kv_heads, s.k_steps, s.value_size, s.v_row, v_starts);
  TensorOfGraph bias, q_steps, k_steps;
  if (s.bias_sequences)
    bias = graph->tensor(Tensor_attributes().set_uid(kBias).set_dim({s.bias_sequences, s.bias_heads, s.q_steps, s.k_steps}).set_stride(
        {s.bias_heads * s.q_steps * s.k_steps, s.q_steps * s.k_steps, s.k_steps, 1}));
  if (s.packed) q_steps = small(kQSteps, s.sequences, fe::DataType_t::INT32), k_steps = small(kKSteps, s.sequences, fe::DataType_t::INT32);
  auto ask = [&](auto options) {
    options.set_attn_scale(s.scale());
    if (s.causal && s.ends_meet) options.set_causal_mask_bottom_right(true);
    else if (s.causal) options.set_causal_mask(true);
    if (bias) options.set_bias(bias);
    if (s.packed) options.set_padding_mask(true).set_seq_len_q(q_steps).set_seq_len_kv(k_steps);
    return options;
  };
  auto lay_sums = [&](Tensor_attributes& x) {
    x.set_uid(kSums).set_dim({s.sequences, s.heads, s.q_steps, 1}).set_stride({s.heads * s.q_steps, s.q_steps, 1, 1}).set_data_type(fe::DataType_t::FLOAT);
  };
  if (s.backward) {
    auto o = given(kO, s.heads, s.q_steps, s.value_size, o_row, o_starts);
    auto gradient = given(kGradient, s.heads, s.q_steps, s.value_size, o_row, o_starts);
    Tensor_attributes sums;
    lay_sums(sums);
    auto options = ask(fe::graph::SDPA_backward_attributes().set_deterministic_algorithm(deterministic()));
    auto [dq, dk, dv] = graph->sdpa_backward(q, k, v, o, gradient, graph->tensor(sums), options);
    wanted(dq, kQGradient, s.heads, s.q_steps, s.size, s.q_row, q_starts);
    wanted(dk, kKGradient, s.kv_heads, s.k_steps, s.size, s.k_row, k_starts);
    wanted(dv, kVGradient, s.kv_heads, s.k_steps, s.value_size, s.v_row, v_starts);
  } else if (s.type == phi::DataType::FLOAT8_E4M3FN) {
    auto number = [&](Name name) { return small(name, 1, fe::DataType_t::FLOAT); };
    auto options = ask(fe::graph::SDPA_fp8_attributes().set_generate_stats(true));
    auto [o, sums, largest_weight, largest_o] =
        graph->sdpa_fp8(q, k, v, number(kQDescale), number(kKDescale), number(kVDescale), number(kWeightsDescale), number(kWeightsScale),
                        number(kOScale), options);
    wanted(o, kO, s.heads, s.q_steps, s.value_size, s.heads * s.value_size, o_starts);
    o->set_data_type(fe::DataType_t::FP8_E4M3);
    lay_sums(*sums);
    sums->set_output(true);
    auto measured = [&](const TensorOfGraph& x, Name name) {
      x->set_output(true).set_uid(name).set_dim({1, 1, 1, 1}).set_stride({1, 1, 1, 1}).set_data_type(fe::DataType_t::FLOAT);
    };
    measured(largest_weight, kLargestWeight);
    measured(largest_o, kLargestO);
  } else {
    auto [o, sums] = graph->sdpa(q, k, v, ask(fe::graph::SDPA_attributes().set_generate_stats(true)));
    wanted(o, kO, s.heads, s.q_steps, s.value_size, o_row, o_starts);
    lay_sums(*sums);
    sums->set_output(true);
  }
  return graph;
}

const AttentionPlan* plan_of(const Context& context, const char* name, const AttentionShape& shape) {
  // A graph's runs are told the stream by cuDNN's handle, which belongs to a device and a thread.
  static thread_local std::map<std::pair<int, std::array<int64_t, 18>>, AttentionPlan> plans;
  std::pair key(current_device(), shape.key());
  auto known = plans.find(key);
  if (known == plans.end()) {
    if (refused_by_capture("the planning of an attention that is seen for the first time"))
      PADDLE_THROW(common::errors::Unavailable("%s: an attention cannot be planned while a graph is captured", name));
    AttentionPlan plan;
    std::string problem;
    try {
      fe::cudnn_dlhandle = cudnn().library;
      auto handle = cudnn_handle(context);
      auto graph = describe_attention(shape);
      auto status = graph->validate();
      if (status.is_good()) status = graph->build_operation_graph(handle);
      if (status.is_good()) status = graph->create_execution_plans({fe::HeurMode_t::A});
      if (status.is_good()) status = graph->check_support();
      if (status.is_good()) status = graph->build_plans();
      if (status.is_good()) status = graph->get_workspace_size(plan.workspace);
      if (status.is_good()) plan.graph = graph;
      else problem = status.get_message();
    } catch (const std::exception& error) {
      problem = error.what();
    }
    if (!plan.graph)
      fprintf(stderr, "%s: cuDNN has no plan for queries [%d, %d, %d, %d] and keys [%d, %d]: %s. Plain loops attend, slowly.\n", name,
              int(shape.sequences), int(shape.q_steps), int(shape.heads), int(shape.size), int(shape.k_steps), int(shape.kv_heads), problem.c_str());
    known = plans.emplace(key, plan).first;
  }
  return known->second.graph ? &known->second : nullptr;
}

void run_plan(const Context& context, const char* name, const AttentionPlan& plan, GraphMemory& memory) {
  Temporary<uint8_t> workspace(context, std::max<int64_t>(plan.workspace, 1));
  auto status = plan.graph->execute(cudnn_handle(context), memory, workspace.data);
  PADDLE_ENFORCE_EQ(status.is_good(), true, common::errors::External("%s: cuDNN: %s", name, status.get_message()));
}

}  // namespace tablerec

#endif
