#include "counters.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

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

}  // namespace tablerec

// Writes "name value" lines, cut to `capacity`; returns the length of the whole text.
EXPORT size_t tablerec_device_report(char* text, size_t capacity) {
  std::string all = tablerec::report();
  if (capacity) {
    size_t n = all.size() < capacity - 1 ? all.size() : capacity - 1;
    memcpy(text, all.data(), n);
    text[n] = 0;
  }
  return all.size();
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
