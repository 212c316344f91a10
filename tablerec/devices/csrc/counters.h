// What the device did, counted where it happens: the only proof that work ran on the device.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tablerec {

struct Counters {
  std::atomic<uint64_t> host_to_device_bytes{0}, device_to_host_bytes{0}, device_to_device_bytes{0};
  std::atomic<uint64_t> host_to_device_copies{0}, device_to_host_copies{0}, device_to_device_copies{0};
  std::atomic<uint64_t> allocations{0}, frees{0}, bytes_in_use{0}, peak_bytes_in_use{0};
  std::atomic<uint64_t> kernels{0}, streams{0}, events{0}, synchronizations{0};
};

Counters& counters();

// One launch; `name` must be a string literal, or live as long.
void count_kernel(const char* name);

// Counts one launch and, while a profile runs, measures what its scope gives to the stream.
class KernelScope {
 public:
  KernelScope(const char* name, void* stream);
  ~KernelScope();
  KernelScope(const KernelScope&) = delete;

 private:
  const char* name;
  void *stream, *timer = nullptr;
};

// By the runtime: a timer of the stream's work. Reading waits for its end and frees it.
void* start_timer(void* stream);
void stop_timer(void* timer, void* stream);
double read_timer_milliseconds(void* timer);

// By the runtime: maker, driver and memory of a device, as text.
std::string describe_device(int device);
void count_allocation(size_t bytes);
void count_free(size_t bytes);

// The name under which Paddle knows this device: $TABLEREC_DEVICE_NAME, else tablerec_gpu.
const char* device_name();

}  // namespace tablerec
