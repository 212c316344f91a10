// The least that Paddle takes for a device: memory, copies, and streams that have nothing to wait for. No kernel.
// 最小的 CustomDevice 插件：只有内存和拷贝，没有一个算子。
#include <cstdlib>
#include <cstring>

#include "counters.h"
#include "paddle/phi/backends/device_ext.h"

using namespace tablerec;  // counters(), device_name()

// 1. Which devices are there?
static C_Status count_devices(size_t* count) { return *count = 1, C_SUCCESS; }
static C_Status list_devices(size_t* ids) { return ids[0] = 0, C_SUCCESS; }
static C_Status set_device(const C_Device) { return C_SUCCESS; }
static C_Status get_device(const C_Device device) { return device->id = 0, C_SUCCESS; }

// 2. Memory. A card would ask its driver; this "card" lives in the memory of the host.
static C_Status allocate(const C_Device, void** address, size_t bytes) {
  *address = malloc(bytes);
  count_allocation(bytes);
  return C_SUCCESS;  // null would say: out of memory
}
static C_Status release(const C_Device, void* address, size_t bytes) {
  free(address);
  count_free(bytes);
  return C_SUCCESS;
}
static C_Status memory_stats(const C_Device, size_t* total, size_t* unused) {
  *total = size_t(1) << 30;
  *unused = *total - counters().bytes_in_use;
  return C_SUCCESS;
}
static C_Status min_chunk(const C_Device, size_t* bytes) { return *bytes = 512, C_SUCCESS; }

// 3. Copies: to the device, back to the host, and within the device.
static C_Status host_to_device(const C_Device, void* to, const void* from, size_t bytes) {
  memcpy(to, from, bytes);
  ++counters().host_to_device_copies;
  counters().host_to_device_bytes += bytes;
  return C_SUCCESS;
}
static C_Status device_to_host(const C_Device, void* to, const void* from, size_t bytes) {
  memcpy(to, from, bytes);
  ++counters().device_to_host_copies;
  counters().device_to_host_bytes += bytes;
  return C_SUCCESS;
}
static C_Status device_to_device(const C_Device, void* to, const void* from, size_t bytes) {
  memmove(to, from, bytes);
  ++counters().device_to_device_copies;
  counters().device_to_device_bytes += bytes;
  return C_SUCCESS;
}

// 4. Order. Everything here is done when its call returns, so a stream and an event are only a name.
static C_Status create_stream(const C_Device, C_Stream* stream) { return *stream = nullptr, C_SUCCESS; }
static C_Status destroy_stream(const C_Device, C_Stream) { return C_SUCCESS; }
static C_Status synchronize_stream(const C_Device, C_Stream) { return C_SUCCESS; }
static C_Status create_event(const C_Device, C_Event* event) { return *event = nullptr, C_SUCCESS; }
static C_Status destroy_event(const C_Device, C_Event) { return C_SUCCESS; }
static C_Status synchronize_event(const C_Device, C_Event) { return C_SUCCESS; }
static C_Status record_event(const C_Device, C_Stream, C_Event) { return C_SUCCESS; }
static C_Status wait_event(const C_Device, C_Stream, C_Event) { return C_SUCCESS; }

// The one function that Paddle looks for in the library: it fills in the table.
extern "C" __attribute__((visibility("default"))) void InitPlugin(CustomRuntimeParams* params) {
  PADDLE_CUSTOM_RUNTIME_CHECK_VERSION(params);
  params->device_type = const_cast<char*>(device_name());
  params->sub_device_type = const_cast<char*>("empty");
  C_DeviceInterface* table = params->interface;  // Paddle has set its size, and all else to null
  table->get_device_count = count_devices;
  table->get_device_list = list_devices;
  table->set_device = set_device;
  table->get_device = get_device;
  table->device_memory_allocate = allocate;
  table->device_memory_deallocate = release;
  table->device_memory_stats = memory_stats;
  table->device_min_chunk_size = min_chunk;
  table->memory_copy_h2d = host_to_device;
  table->memory_copy_d2h = device_to_host;
  table->memory_copy_d2d = device_to_device;
  table->create_stream = create_stream;
  table->destroy_stream = destroy_stream;
  table->synchronize_stream = synchronize_stream;
  table->create_event = create_event;
  table->destroy_event = destroy_event;
  table->synchronize_event = synchronize_event;
  table->record_event = record_event;
  table->stream_wait_event = wait_event;
}
