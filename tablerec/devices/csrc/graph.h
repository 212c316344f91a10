// Captured graphs: what the counters, the runtime and the graphs of both builds share.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tablerec {

// The stream of this thread's last launch.
inline void*& last_stream() {
  static thread_local void* stream = nullptr;
  return stream;
}

// By the counters: launches by kernel so far, and the same launches counted once more.
using Launches = std::map<const char*, uint64_t>;
Launches launches_so_far();
void count_again(const Launches& launches);

// One at a time in the process: a wait in any thread breaks the capture of another's stream.
// Paddle's pool takes blocks back during a capture, and would give them to others afterwards. So from its begin until it
// is closed, chunks that the pool gives back stay with the graph; and while its free blocks are being held, it gets none.
struct Capture {
  enum State { kNone, kCapturing, kHolding };
  std::atomic<int> state{kNone};
  std::mutex mutex;
  std::string problem;                      // the first thing that was refused
  std::vector<std::function<void()>> kept;  // each frees a chunk
};
// Never destroyed, as the counters.
inline Capture& capture() {
  static Capture* only = new Capture;
  return *only;
}

inline bool capturing() { return capture().state == Capture::kCapturing; }
inline bool pool_is_closed() { return capture().state == Capture::kHolding; }

// Whether a capture is under way, which then fails for this reason.
inline bool refused_by_capture(const std::string& what) {
  if (!capturing()) return false;
  std::lock_guard<std::mutex> lock(capture().mutex);
  if (capture().problem.empty()) capture().problem = "it asked for " + what;
  return true;
}

// Whether a chunk stays with the graph that is being made, which frees it in the end.
inline bool kept_for_graph(std::function<void()> free) {
  if (capture().state == Capture::kNone) return false;
  std::lock_guard<std::mutex> lock(capture().mutex);
  capture().kept.push_back(std::move(free));
  return true;
}

// By the graphs of a build. A problem is told as text, "" for none.
std::string begin_capture(void* stream);
std::string end_capture(void* stream, void** graph, uint64_t* nodes);
std::string replay_graph(void* graph, void* stream);
void destroy_graph(void* graph);
// Whether a replay is only counted, and the network has to be called again.
bool replays_by_calling();

}  // namespace tablerec
