// Captured graphs on the simulated device: launches run at once and cannot be recorded, so a replay calls the network again.
#include "graph.h"

namespace tablerec {

static uint64_t total(const Launches& launches) {
  uint64_t sum = 0;
  for (auto& launch : launches) sum += launch.second;
  return sum;
}

static uint64_t before = 0;

std::string begin_capture(void*) {
  before = total(launches_so_far());
  return "";
}

std::string end_capture(void*, void** graph, uint64_t* nodes) {
  *graph = nullptr;
  *nodes = total(launches_so_far()) - before;
  return "";
}

std::string replay_graph(void*, void*) { return ""; }
void destroy_graph(void*) {}
bool replays_by_calling() { return true; }

}  // namespace tablerec
