// The CUDA runtime of the plugin. Host code only. Where another maker's card differs, this file differs.
#include <cuda_runtime.h>

#include <cstdio>
#include <map>
#include <mutex>

#include "counters.h"
#include "graph.h"
#include "runtime.h"

// Paddle reports the operator that failed; the cause is known here alone.
#define CHECK_CUDA(call)                                                                           \
  do {                                                                                             \
    cudaError_t error = (call);                                                                    \
    if (error != cudaSuccess) {                                                                    \
      fprintf(stderr, "%s: %s: %s\n", tablerec::device_name(), #call, cudaGetErrorString(error));  \
      return C_ERROR;                                                                              \
    }                                                                                              \
  } while (0)

namespace tablerec {

static cudaStream_t cuda(C_Stream stream) { return reinterpret_cast<cudaStream_t>(stream); }
static cudaEvent_t cuda(C_Event event) { return reinterpret_cast<cudaEvent_t>(event); }

static std::mutex& sizes_mutex() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}
static std::map<void*, size_t>& sizes() {
  static auto* all = new std::map<void*, size_t>;
  return *all;
}

ptrdiff_t kernel_view_offset() { return 0; }

static C_Status initialize() { return C_SUCCESS; }
static C_Status finalize() { return C_SUCCESS; }
static C_Status set_device(const C_Device device) {
  CHECK_CUDA(cudaSetDevice(device->id));
  return C_SUCCESS;
}
static C_Status get_device(const C_Device device) {
  CHECK_CUDA(cudaGetDevice(&device->id));
  return C_SUCCESS;
}
static C_Status deinit_device(const C_Device) { return C_SUCCESS; }

static C_Status create_stream(const C_Device device, C_Stream* stream) {
  CHECK_CUDA(cudaSetDevice(device->id));
  cudaStream_t made;
  // A stream that waits for the default one: Paddle's synchronous copies go through the default
  // stream, and so see what the kernels before them wrote.
  CHECK_CUDA(cudaStreamCreate(&made));
  *stream = reinterpret_cast<C_Stream>(made);
  ++counters().streams;
  return C_SUCCESS;
}
static C_Status destroy_stream(const C_Device, C_Stream stream) {
  CHECK_CUDA(cudaStreamDestroy(cuda(stream)));
  return C_SUCCESS;
}
static C_Status query_stream(const C_Device, C_Stream stream) {
  return cudaStreamQuery(cuda(stream)) == cudaSuccess ? C_SUCCESS : C_FAILED;
}
struct Callback {
  C_Device device;
  C_Stream stream;
  C_Callback function;
  void* data;
};
static C_Status add_callback(const C_Device device, C_Stream stream, C_Callback function, void* data) {
  if (refused_by_capture("a call of the host")) return C_ERROR;
  auto run = [](void* argument) {
    auto* callback = static_cast<Callback*>(argument);
    C_Status status = C_SUCCESS;
    callback->function(callback->device, callback->stream, callback->data, &status);
    delete callback;
  };
  CHECK_CUDA(cudaLaunchHostFunc(cuda(stream), run, new Callback{device, stream, function, data}));
  return C_SUCCESS;
}
static C_Status create_event(const C_Device device, C_Event* event) {
  CHECK_CUDA(cudaSetDevice(device->id));
  cudaEvent_t made;
  CHECK_CUDA(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
  *event = reinterpret_cast<C_Event>(made);
  ++counters().events;
  return C_SUCCESS;
}
static C_Status destroy_event(const C_Device, C_Event event) {
  CHECK_CUDA(cudaEventDestroy(cuda(event)));
  return C_SUCCESS;
}
static C_Status record_event(const C_Device, C_Stream stream, C_Event event) {
  CHECK_CUDA(cudaEventRecord(cuda(event), cuda(stream)));
  return C_SUCCESS;
}
static C_Status query_event(const C_Device, C_Event event) {
  return cudaEventQuery(cuda(event)) == cudaSuccess ? C_SUCCESS : C_FAILED;
}
static C_Status synchronize_device(const C_Device device) {
  if (refused_by_capture("a wait for the device")) return C_ERROR;
  ++counters().synchronizations;
  CHECK_CUDA(cudaSetDevice(device->id));
  CHECK_CUDA(cudaDeviceSynchronize());
  return C_SUCCESS;
}
static C_Status synchronize_stream(const C_Device, C_Stream stream) {
  if (refused_by_capture("a wait for the stream, as before a copy to the host")) return C_ERROR;
  ++counters().synchronizations;
  CHECK_CUDA(cudaStreamSynchronize(cuda(stream)));
  return C_SUCCESS;
}
static C_Status synchronize_event(const C_Device, C_Event event) {
  if (refused_by_capture("a wait for an event")) return C_ERROR;
  ++counters().synchronizations;
  CHECK_CUDA(cudaEventSynchronize(cuda(event)));
  return C_SUCCESS;
}
static C_Status wait_event(const C_Device, C_Stream stream, C_Event event) {
  CHECK_CUDA(cudaStreamWaitEvent(cuda(stream), cuda(event), 0));
  return C_SUCCESS;
}

// Paddle's own pools (auto growth) stand above these two and call them once for each chunk.
static C_Status allocate(const C_Device device, void** address, size_t bytes) {
  *address = nullptr;
  if (pool_is_closed()) return C_SUCCESS;
  CHECK_CUDA(cudaSetDevice(device->id));
  if (cudaMalloc(address, bytes ? bytes : 1) != cudaSuccess) {
    cudaGetLastError();  // out of memory is an answer, which must not poison later calls
    *address = nullptr;
    return C_SUCCESS;  // Paddle takes null as out of memory: it frees idle chunks, tries again, and says so
  }
  std::lock_guard<std::mutex> lock(sizes_mutex());
  sizes()[*address] = bytes;
  count_allocation(bytes);
  return C_SUCCESS;
}
static C_Status release(const C_Device, void* address, size_t) {
  if (kept_for_graph([=] { release(nullptr, address, 0); })) return C_SUCCESS;
  CHECK_CUDA(cudaFree(address));
  std::lock_guard<std::mutex> lock(sizes_mutex());
  count_free(sizes()[address]);
  sizes().erase(address);
  return C_SUCCESS;
}
static C_Status allocate_host(const C_Device, void** address, size_t bytes) {
  CHECK_CUDA(cudaMallocHost(address, bytes ? bytes : 1));
  return C_SUCCESS;
}
static C_Status release_host(const C_Device, void* address, size_t) {
  CHECK_CUDA(cudaFreeHost(address));
  return C_SUCCESS;
}
static C_Status set_memory(const C_Device, void* address, unsigned char value, size_t bytes) {
  if (refused_by_capture("a synchronous setting of memory")) return C_ERROR;
  CHECK_CUDA(cudaMemset(address, value, bytes));
  return C_SUCCESS;
}

// In a graph, a host's address would be read or written at every replay, long after it was given back.
static bool copy_is_refused(const char* name, size_t bytes) {
  return refused_by_capture("a copy (" + std::string(name) + ") of " + std::to_string(bytes) + " bytes");
}
#define COPY(name, direction)                                                                                \
  static C_Status name(const C_Device, void* to, const void* from, size_t bytes) {                           \
    if (copy_is_refused(#name, bytes)) return C_ERROR;                                                       \
    CHECK_CUDA(cudaMemcpy(to, from, bytes, direction));                                                      \
    counters().name##_bytes += bytes;                                                                        \
    ++counters().name##_copies;                                                                              \
    return C_SUCCESS;                                                                                        \
  }                                                                                                          \
  static C_Status name##_async(const C_Device, C_Stream stream, void* to, const void* from, size_t bytes) {  \
    if (direction != cudaMemcpyDeviceToDevice && copy_is_refused(#name, bytes)) return C_ERROR;              \
    CHECK_CUDA(cudaMemcpyAsync(to, from, bytes, direction, cuda(stream)));                                   \
    counters().name##_bytes += bytes;                                                                        \
    ++counters().name##_copies;                                                                              \
    return C_SUCCESS;                                                                                        \
  }
COPY(host_to_device, cudaMemcpyHostToDevice)
COPY(device_to_host, cudaMemcpyDeviceToHost)
COPY(device_to_device, cudaMemcpyDeviceToDevice)
#undef COPY
static C_Status between_devices(const C_Device to_device, const C_Device from_device, void* to, const void* from, size_t bytes) {
  if (copy_is_refused("between_devices", bytes)) return C_ERROR;
  CHECK_CUDA(cudaMemcpyPeer(to, to_device->id, from, from_device->id, bytes));
  counters().device_to_device_bytes += bytes;
  ++counters().device_to_device_copies;
  return C_SUCCESS;
}
static C_Status between_devices_async(const C_Device to_device, const C_Device from_device, C_Stream stream, void* to,
                                      const void* from, size_t bytes) {
  CHECK_CUDA(cudaMemcpyPeerAsync(to, to_device->id, from, from_device->id, bytes, cuda(stream)));
  counters().device_to_device_bytes += bytes;
  ++counters().device_to_device_copies;
  return C_SUCCESS;
}

static C_Status count_devices(size_t* count) {
  int seen = 0;
  if (cudaGetDeviceCount(&seen) != cudaSuccess) {  // no driver, or no card: Paddle then goes on with the CPU
    cudaGetLastError();
    seen = 0;
  }
  *count = seen;
  return C_SUCCESS;
}
static C_Status list_devices(size_t* ids) {
  size_t count = 0;
  count_devices(&count);
  for (size_t k = 0; k < count; ++k) ids[k] = k;
  return C_SUCCESS;
}
static C_Status memory_stats(const C_Device device, size_t* total, size_t* unused) {
  CHECK_CUDA(cudaSetDevice(device->id));
  CHECK_CUDA(cudaMemGetInfo(unused, total));
  return C_SUCCESS;
}
static C_Status min_chunk(const C_Device, size_t* bytes) {
  *bytes = 512;
  return C_SUCCESS;
}
static C_Status compute_capability(const C_Device device, size_t* value) {
  int major = 0, minor = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device->id));
  CHECK_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device->id));
  *value = major * 10 + minor;
  return C_SUCCESS;
}

// ---- timers and the description

struct Timer {
  cudaEvent_t start, stop;
};

void* start_timer(void* stream) {
  auto* timer = new Timer;
  cudaEventCreate(&timer->start);
  cudaEventCreate(&timer->stop);
  cudaEventRecord(timer->start, static_cast<cudaStream_t>(stream));
  return timer;
}
void stop_timer(void* timer, void* stream) {
  cudaEventRecord(static_cast<Timer*>(timer)->stop, static_cast<cudaStream_t>(stream));
}
double read_timer_milliseconds(void* address) {
  auto* timer = static_cast<Timer*>(address);
  float milliseconds = 0;
  cudaEventSynchronize(timer->stop);
  cudaEventElapsedTime(&milliseconds, timer->start, timer->stop);
  cudaEventDestroy(timer->start);
  cudaEventDestroy(timer->stop);
  delete timer;
  cudaGetLastError();  // a launch that failed reports itself
  return milliseconds;
}

std::string describe_device(int device) {
  cudaDeviceProp properties;
  int driver = 0, runtime = 0, before = 0;
  size_t unused = 0, total = 0;
  cudaGetDevice(&before);
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  std::string text;
  if (cudaGetDeviceProperties(&properties, device) == cudaSuccess && cudaSetDevice(device) == cudaSuccess &&
      cudaMemGetInfo(&unused, &total) == cudaSuccess) {
    auto version = [](int number) { return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10); };
    text = std::string(properties.name) + ", driver for CUDA " + version(driver) + ", runtime " + version(runtime) +
           ", memory " + std::to_string(total >> 20) + " MiB, free " + std::to_string(unused >> 20) + " MiB";
    cudaSetDevice(before);
  }
  cudaGetLastError();
  return text;
}

}  // namespace tablerec

extern "C" __attribute__((visibility("default"))) void InitPlugin(CustomRuntimeParams* params) {
  PADDLE_CUSTOM_RUNTIME_CHECK_VERSION(params);
  TABLEREC_FILL_INTERFACE(params, "cuda");
}
