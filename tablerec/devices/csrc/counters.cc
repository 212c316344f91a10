#include "counters.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "graph.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace tablerec {

// Never destroyed: Paddle frees device memory after static destructors have run.
Counters& counters() {
  static Counters* all = new Counters;
  return *all;
}

static std::mutex& kernel_mutex() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}

static std::map<const char*, uint64_t>& kernel_counts() {
  static auto* counts = new std::map<const char*, uint64_t>;
  return *counts;
}

void count_kernel(const char* name) {
  ++counters().kernels;
  std::lock_guard<std::mutex> lock(kernel_mutex());
  ++kernel_counts()[name];
}

Launches launches_so_far() {
  std::lock_guard<std::mutex> lock(kernel_mutex());
  return kernel_counts();
}

void count_again(const Launches& launches) {
  std::lock_guard<std::mutex> lock(kernel_mutex());
  for (auto& launch : launches) {
    counters().kernels += launch.second;
    kernel_counts()[launch.first] += launch.second;
  }
}

// ---- the profile

struct Timed {
  const char* name;
  void* timer;
};
static std::atomic<bool> profiling{false};
static std::vector<Timed>& timed_launches() {
  static auto* launches = new std::vector<Timed>;
  return *launches;
}

KernelScope::KernelScope(const char* name, void* stream) : name(name), stream(stream) {
  count_kernel(name);
  last_stream() = stream;
  if (profiling && !capturing()) timer = start_timer(stream);
}
KernelScope::~KernelScope() {
  if (!timer) return;
  stop_timer(timer, stream);
  std::lock_guard<std::mutex> lock(kernel_mutex());
  timed_launches().push_back({name, timer});
}

static std::string& stopped_profile() {
  static auto* text = new std::string;
  return *text;
}

// Takes the launches measured so far; the device is waited for here, and nowhere before.
static std::string take_profile() {
  std::lock_guard<std::mutex> lock(kernel_mutex());
  std::map<std::string, std::pair<uint64_t, double>> by_name;
  for (auto& launch : timed_launches()) {
    auto& total = by_name[launch.name];
    ++total.first;
    total.second += read_timer_milliseconds(launch.timer);
  }
  timed_launches().clear();
  std::string text;
  for (auto& entry : by_name)
    text += entry.first + " " + std::to_string(entry.second.first) + " " + std::to_string(entry.second.second) + "\n";
  return text;
}

void count_allocation(size_t bytes) {
  auto& c = counters();
  ++c.allocations;
  uint64_t now = c.bytes_in_use += bytes;
  uint64_t peak = c.peak_bytes_in_use;
  while (now > peak && !c.peak_bytes_in_use.compare_exchange_weak(peak, now)) {
  }
}

void count_free(size_t bytes) {
  ++counters().frees;
  counters().bytes_in_use -= bytes;
}

const char* device_name() {
  static const std::string* name = [] {
    const char* wanted = getenv("TABLEREC_DEVICE_NAME");
    return new std::string(wanted && *wanted ? wanted : "tablerec_gpu");
  }();
  return name->c_str();
}

static std::string report() {
  auto& c = counters();
  std::string text;
  auto line = [&](const std::string& name, uint64_t value) { text += name + " " + std::to_string(value) + "\n"; };
#define LINE(field) line(#field, c.field)
  LINE(host_to_device_bytes), LINE(device_to_host_bytes), LINE(device_to_device_bytes);
  LINE(host_to_device_copies), LINE(device_to_host_copies), LINE(device_to_device_copies);
  LINE(allocations), LINE(frees), LINE(bytes_in_use), LINE(peak_bytes_in_use);
  LINE(kernels), LINE(streams), LINE(events), LINE(synchronizations);
#undef LINE
  std::map<std::string, uint64_t> by_name;  // one name may be several literals, one in each source file
  std::lock_guard<std::mutex> lock(kernel_mutex());
  for (auto& entry : kernel_counts()) by_name[entry.first] += entry.second;
  for (auto& entry : by_name) line("kernel." + entry.first, entry.second);
  return text;
}

static size_t give(const std::string& all, char* text, size_t capacity) {
  if (capacity) {
    size_t n = all.size() < capacity - 1 ? all.size() : capacity - 1;
    memcpy(text, all.data(), n);
    text[n] = 0;
  }
  return all.size();
}

}  // namespace tablerec

// These write text, cut to `capacity`, and return the length of the whole.
// Lines "name value" of all counters.
EXPORT size_t tablerec_device_report(char* text, size_t capacity) { return tablerec::give(tablerec::report(), text, capacity); }
// Maker, driver and memory of a device.
EXPORT size_t tablerec_device_describe(int device, char* text, size_t capacity) {
  return tablerec::give(tablerec::describe_device(device), text, capacity);
}

// Starts to time every launch, from nothing.
EXPORT void tablerec_device_profile_start() {
  tablerec::take_profile();
  tablerec::profiling = true;
}
// Ends it and waits for the device; the text is read next.
EXPORT void tablerec_device_profile_stop() {
  tablerec::profiling = false;
  tablerec::stopped_profile() = tablerec::take_profile();
}
// Lines "name launches milliseconds" of the profile that was stopped last.
EXPORT size_t tablerec_device_profile_report(char* text, size_t capacity) {
  return tablerec::give(tablerec::stopped_profile(), text, capacity);
}

// Sets all to zero but the bytes in use, which are a state and no count.
EXPORT void tablerec_device_reset() {
  auto& c = tablerec::counters();
  for (auto* counter : {&c.host_to_device_bytes, &c.device_to_host_bytes, &c.device_to_device_bytes,
                        &c.host_to_device_copies, &c.device_to_host_copies, &c.device_to_device_copies, &c.allocations,
                        &c.frees, &c.kernels, &c.streams, &c.events, &c.synchronizations})
    *counter = 0;
  c.peak_bytes_in_use = c.bytes_in_use.load();
  std::lock_guard<std::mutex> lock(tablerec::kernel_mutex());
  tablerec::kernel_counts().clear();
}
