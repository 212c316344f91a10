// The C interface to captured graphs: begin, end (from here on the pool gets no chunk), close, then replays.
#include "graph.h"

#include "counters.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace tablerec {

struct Captured {
  void *graph = nullptr, *stream = nullptr;
  uint64_t nodes = 0;
  Launches launches;
  std::vector<std::function<void()>> kept;
};

static std::string& last_problem() {
  static auto* text = new std::string;
  return *text;
}

static bool failed(const std::string& problem) {
  if (!problem.empty()) last_problem() = problem;
  return !problem.empty();
}

// The capture that is under way.
static Captured*& current() {
  static Captured* only = nullptr;
  return only;
}

static void free_captured(Captured* captured) {
  if (captured->graph) destroy_graph(captured->graph);
  for (auto& free : captured->kept) free();
  delete captured;
}

// Ends everything; what was kept goes to the graph.
static Captured* close_capture() {
  auto& c = capture();
  Captured* captured = current();
  current() = nullptr;
  std::lock_guard<std::mutex> lock(c.mutex);
  captured->kept.swap(c.kept);
  c.problem.clear();
  c.state = Capture::kNone;
  return captured;
}

}  // namespace tablerec

// On the stream of this thread's last launch. False with a problem.
EXPORT bool tablerec_device_graph_begin() {
  using namespace tablerec;
  if (current()) return !failed("another network is being captured: one at a time");
  if (!last_stream()) return !failed("nothing was launched from this thread before");
  if (failed(begin_capture(last_stream()))) return false;
  current() = new Captured;
  current()->stream = last_stream();
  current()->launches = launches_so_far();
  capture().state = Capture::kCapturing;
  return true;
}

// Ends the capture and closes the pool to new chunks; -1 with a problem, and then all is as before. Gives the number of
// nodes. With `discard` the graph is thrown away: -1, and the problem is what was refused, or "".
EXPORT int64_t tablerec_device_graph_end(bool discard) {
  using namespace tablerec;
  Captured* captured = current();
  if (!captured) return failed("no network is being captured") ? -1 : 0;
  std::string problem = end_capture(captured->stream, &captured->graph, &captured->nodes);
  if (!capture().problem.empty()) problem = capture().problem;  // the cause of what the end reports
  if (problem.empty() && !captured->nodes && !discard) problem = "nothing was launched on the device";
  if (discard || !problem.empty()) {
    last_problem() = problem;
    free_captured(close_capture());
    return -1;
  }
  Launches before;
  before.swap(captured->launches);
  for (auto& launch : launches_so_far()) {
    auto known = before.find(launch.first);
    uint64_t count = launch.second - (known == before.end() ? 0 : known->second);
    if (count) captured->launches[launch.first] = count;
  }
  capture().state = Capture::kHolding;
  return int64_t(captured->nodes);
}

// Opens the pool again and gives the graph.
EXPORT void* tablerec_device_graph_close() { return tablerec::current() ? tablerec::close_capture() : nullptr; }

// 1: runs on its stream; 0: the network has to be called instead; -1 with a problem.
EXPORT int tablerec_device_graph_replay(void* handle) {
  using namespace tablerec;
  auto* captured = static_cast<Captured*>(handle);
  if (replays_by_calling()) return 0;
  {
    KernelScope scope("graph", captured->stream);
    if (failed(replay_graph(captured->graph, captured->stream))) return -1;
  }
  count_again(captured->launches);
  return 1;
}

EXPORT void tablerec_device_graph_destroy(void* handle) { tablerec::free_captured(static_cast<tablerec::Captured*>(handle)); }

// The last problem; as in counters.cc, cut to `capacity`.
EXPORT size_t tablerec_device_graph_problem(char* text, size_t capacity) {
  const std::string& all = tablerec::last_problem();
  if (capacity) {
    size_t n = all.copy(text, capacity - 1);
    text[n] = 0;
  }
  return all.size();
}
