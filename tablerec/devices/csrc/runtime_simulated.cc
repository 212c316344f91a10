// The simulated device: memory that the host cannot touch, and streams that run at once.
//
// One memfd is mapped twice. Addresses handed to Paddle lie in a view without any access, so a host
// read of device memory faults here as on a card; kernels and copies use the second view.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "counters.h"
#include "graph.h"
#include "runtime.h"

namespace tablerec {

static constexpr size_t kPage = 4096;

// The memory of all devices, mapped twice.
struct Memory {
  size_t bytes_each = 0, devices = 0;
  char *device_view = nullptr, *kernel_view = nullptr;

  bool open(size_t count, size_t bytes) {
    devices = count, bytes_each = bytes;
    if (!count) return true;
    int file = memfd_create("tablerec_simulated_device", 0);
    if (file < 0 || ftruncate(file, count * bytes)) return false;
    void* device = mmap(nullptr, count * bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
    void* kernel = mmap(nullptr, count * bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    close(file);
    if (device == MAP_FAILED || kernel == MAP_FAILED) return false;
    device_view = static_cast<char*>(device);
    kernel_view = static_cast<char*>(kernel);
    return true;
  }
};

static Memory& memory() {
  static Memory* only = new Memory;
  return *only;
}

// A first-fit allocator over the memory of one device; neighbours merge when freed.
struct Arena {
  char* start;
  size_t bytes_in_use = 0;
  std::mutex mutex;
  std::map<size_t, size_t> free, used;  // offset -> size

  explicit Arena(int device) : start(memory().device_view + device * memory().bytes_each) {
    free[0] = memory().bytes_each;
  }

  void* allocate(size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    bytes = (bytes + kPage - 1) / kPage * kPage;
    if (!bytes) bytes = kPage;
    for (auto block = free.begin(); block != free.end(); ++block) {
      if (block->second < bytes) continue;
      size_t offset = block->first, size = block->second;
      free.erase(block);
      if (size > bytes) free[offset + bytes] = size - bytes;
      used[offset] = bytes;
      bytes_in_use += bytes;
      count_allocation(bytes);
      return start + offset;
    }
    return nullptr;
  }

  bool release(void* address) {
    std::lock_guard<std::mutex> lock(mutex);
    auto block = used.find(static_cast<char*>(address) - start);
    if (block == used.end()) return false;
    count_free(block->second);
    bytes_in_use -= block->second;
    auto [here, fresh] = free.insert(*block);
    used.erase(block);
    auto next = std::next(here);
    if (next != free.end() && here->first + here->second == next->first) {
      here->second += next->second;
      free.erase(next);
    }
    if (here == free.begin()) return true;
    auto before = std::prev(here);
    if (before->first + before->second == here->first) {
      before->second += here->second;
      free.erase(here);
    }
    return true;
  }
};

static std::vector<Arena*>& arenas() {
  static auto* all = new std::vector<Arena*>;
  return *all;
}
static Arena& arena(const C_Device device) { return *arenas().at(device->id); }

ptrdiff_t kernel_view_offset() { return memory().kernel_view - memory().device_view; }

static void* to_kernel_view(const void* address) {
  auto* at = static_cast<const char*>(address);
  if (at >= memory().device_view && at < memory().device_view + memory().devices * memory().bytes_each)
    return memory().kernel_view + (at - memory().device_view);
  fprintf(stderr, "%s: a copy was asked to take the host address %p as device memory\n", device_name(), address);
  abort();
}

static size_t from_environment(const char* name, size_t otherwise) {
  const char* wanted = getenv(name);
  return wanted && *wanted ? strtoull(wanted, nullptr, 10) : otherwise;
}

static thread_local int current_device = 0;

static C_Status initialize() {
  size_t devices = from_environment("TABLEREC_SIMULATED_DEVICES", 1);
  if (!memory().open(devices, from_environment("TABLEREC_SIMULATED_MEGABYTES", 8192) << 20)) return C_ERROR;
  for (size_t device = 0; device < devices; ++device) arenas().push_back(new Arena(device));
  return C_SUCCESS;
}
static C_Status finalize() { return C_SUCCESS; }
static C_Status set_device(const C_Device device) {
  current_device = device->id;
  return C_SUCCESS;
}
static C_Status get_device(const C_Device device) {
  device->id = current_device;
  return C_SUCCESS;
}
static C_Status deinit_device(const C_Device) { return C_SUCCESS; }

static C_Status create_stream(const C_Device, C_Stream* stream) {
  *stream = reinterpret_cast<C_Stream>(new uint64_t(++counters().streams));
  return C_SUCCESS;
}
static C_Status destroy_stream(const C_Device, C_Stream stream) {
  delete reinterpret_cast<uint64_t*>(stream);
  return C_SUCCESS;
}
static C_Status query_stream(const C_Device, C_Stream) { return C_SUCCESS; }
static C_Status add_callback(const C_Device device, C_Stream stream, C_Callback callback, void* data) {
  if (refused_by_capture("a call of the host")) return C_ERROR;
  C_Status status = C_SUCCESS;
  callback(device, stream, data, &status);
  return status;
}
static C_Status create_event(const C_Device, C_Event* event) {
  *event = reinterpret_cast<C_Event>(new uint64_t(++counters().events));
  return C_SUCCESS;
}
static C_Status destroy_event(const C_Device, C_Event event) {
  delete reinterpret_cast<uint64_t*>(event);
  return C_SUCCESS;
}
static C_Status record_event(const C_Device, C_Stream, C_Event) { return C_SUCCESS; }
static C_Status query_event(const C_Device, C_Event) { return C_SUCCESS; }
static C_Status synchronize_device(const C_Device) {
  if (refused_by_capture("a wait for the device")) return C_ERROR;
  ++counters().synchronizations;
  return C_SUCCESS;
}
static C_Status synchronize_stream(const C_Device, C_Stream) {
  if (refused_by_capture("a wait for the stream, as before a copy to the host")) return C_ERROR;
  ++counters().synchronizations;
  return C_SUCCESS;
}
static C_Status synchronize_event(const C_Device, C_Event) {
  if (refused_by_capture("a wait for an event")) return C_ERROR;
  ++counters().synchronizations;
  return C_SUCCESS;
}
static C_Status wait_event(const C_Device, C_Stream, C_Event) { return C_SUCCESS; }

static C_Status allocate(const C_Device device, void** address, size_t bytes) {
  *address = pool_is_closed() ? nullptr : arena(device).allocate(bytes);
  return C_SUCCESS;  // Paddle takes null as out of memory: it frees idle chunks, tries again, and says so
}
static C_Status release(const C_Device device, void* address, size_t) {
  Arena* from = &arena(device);
  if (kept_for_graph([=] { from->release(address); })) return C_SUCCESS;
  return arena(device).release(address) ? C_SUCCESS : C_ERROR;
}
static C_Status allocate_host(const C_Device, void** address, size_t bytes) {
  *address = malloc(bytes ? bytes : 1);
  return *address ? C_SUCCESS : C_FAILED;
}
static C_Status release_host(const C_Device, void* address, size_t) {
  free(address);
  return C_SUCCESS;
}
static C_Status set_memory(const C_Device, void* address, unsigned char value, size_t bytes) {
  if (refused_by_capture("a synchronous setting of memory")) return C_ERROR;
  if (bytes) memset(to_kernel_view(address), value, bytes);
  return C_SUCCESS;
}
// As on a card, where a host's address would be read or written at every replay.
static bool copy_is_refused(const char* name, size_t bytes) {
  return refused_by_capture("a copy (" + std::string(name) + ") of " + std::to_string(bytes) + " bytes");
}
static C_Status host_to_device(const C_Device, void* to, const void* from, size_t bytes) {
  if (copy_is_refused("host_to_device", bytes)) return C_ERROR;
  if (bytes) memcpy(to_kernel_view(to), from, bytes);
  counters().host_to_device_bytes += bytes;
  ++counters().host_to_device_copies;
  return C_SUCCESS;
}
static C_Status device_to_host(const C_Device, void* to, const void* from, size_t bytes) {
  if (copy_is_refused("device_to_host", bytes)) return C_ERROR;
  if (bytes) memcpy(to, to_kernel_view(from), bytes);
  counters().device_to_host_bytes += bytes;
  ++counters().device_to_host_copies;
  return C_SUCCESS;
}
static C_Status device_to_device_async(const C_Device, C_Stream, void* to, const void* from, size_t bytes) {
  if (bytes) memmove(to_kernel_view(to), to_kernel_view(from), bytes);
  counters().device_to_device_bytes += bytes;
  ++counters().device_to_device_copies;
  return C_SUCCESS;
}
static C_Status device_to_device(const C_Device d, void* to, const void* from, size_t bytes) {
  if (copy_is_refused("device_to_device", bytes)) return C_ERROR;
  return device_to_device_async(d, nullptr, to, from, bytes);
}
static C_Status host_to_device_async(const C_Device d, C_Stream, void* to, const void* from, size_t bytes) {
  return host_to_device(d, to, from, bytes);
}
static C_Status device_to_host_async(const C_Device d, C_Stream, void* to, const void* from, size_t bytes) {
  return device_to_host(d, to, from, bytes);
}
static C_Status between_devices(const C_Device, const C_Device from_device, void* to, const void* from, size_t bytes) {
  return device_to_device(from_device, to, from, bytes);
}
static C_Status between_devices_async(const C_Device, const C_Device from_device, C_Stream, void* to, const void* from,
                                      size_t bytes) {
  return device_to_device_async(from_device, nullptr, to, from, bytes);
}
static C_Status count_devices(size_t* count) {
  *count = from_environment("TABLEREC_SIMULATED_DEVICES", 1);
  return C_SUCCESS;
}
static C_Status list_devices(size_t* ids) {
  size_t count = 0;
  count_devices(&count);
  for (size_t device = 0; device < count; ++device) ids[device] = device;
  return C_SUCCESS;
}
static C_Status memory_stats(const C_Device device, size_t* total, size_t* unused) {
  *total = memory().bytes_each;
  *unused = memory().bytes_each - arena(device).bytes_in_use;
  return C_SUCCESS;
}
static C_Status min_chunk(const C_Device, size_t* bytes) {
  *bytes = kPage;
  return C_SUCCESS;
}
static C_Status compute_capability(const C_Device, size_t* value) {
  *value = 0;
  return C_SUCCESS;
}

// ---- timers and the description

using Clock = std::chrono::steady_clock;
struct Timer {
  Clock::time_point start, stop;
};

void* start_timer(void*) { return new Timer{Clock::now(), {}}; }
void stop_timer(void* timer, void*) { static_cast<Timer*>(timer)->stop = Clock::now(); }
double read_timer_milliseconds(void* address) {
  auto* timer = static_cast<Timer*>(address);
  double milliseconds = std::chrono::duration<double, std::milli>(timer->stop - timer->start).count();
  delete timer;
  return milliseconds;
}

std::string describe_device(int device) {
  if (device < 0 || size_t(device) >= arenas().size()) return "";
  size_t total = memory().bytes_each, unused = total - arenas()[device]->bytes_in_use;
  return "simulated, no driver, memory " + std::to_string(total >> 20) + " MiB, free " + std::to_string(unused >> 20) + " MiB";
}

}  // namespace tablerec

extern "C" __attribute__((visibility("default"))) void InitPlugin(CustomRuntimeParams* params) {
  PADDLE_CUSTOM_RUNTIME_CHECK_VERSION(params);
  TABLEREC_FILL_INTERFACE(params, "simulated");
}
