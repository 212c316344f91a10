// Captured graphs by CUDA. Host code only.
#include <cuda_runtime.h>

#include "graph.h"

namespace tablerec {

static std::string told(const char* call, cudaError_t error) {
  if (error == cudaSuccess) return "";
  cudaGetLastError();  // must not poison later calls
  return std::string(call) + ": " + cudaGetErrorString(error);
}

std::string begin_capture(void* stream) {
  // Relaxed: the pool may still grow. What must not happen is refused by the runtime, which can say why.
  return told("cudaStreamBeginCapture",
              cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeRelaxed));
}

std::string end_capture(void* stream, void** made, uint64_t* nodes) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  size_t count = 0;
  std::string problem = told("cudaStreamEndCapture", cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph));
  if (problem.empty()) problem = told("cudaGraphGetNodes", cudaGraphGetNodes(graph, nullptr, &count));
  if (problem.empty() && count) problem = told("cudaGraphInstantiate", cudaGraphInstantiate(&executable, graph, 0));
  if (graph) cudaGraphDestroy(graph);
  *made = executable;
  *nodes = count;
  return problem;
}

std::string replay_graph(void* graph, void* stream) {
  return told("cudaGraphLaunch", cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), static_cast<cudaStream_t>(stream)));
}

void destroy_graph(void* graph) { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)); }

bool replays_by_calling() { return false; }

}  // namespace tablerec
