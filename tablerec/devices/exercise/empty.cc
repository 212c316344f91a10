// The least with which Paddle 3.3.1 takes a device: thirteen functions, and no kernel.
// 最小的 CustomDevice 插件：十三个函数，没有一个算子。
//
// Without one of those that say which devices there are, give memory or make events, Paddle refuses the
// library. Without a copy it does not: it goes on with whatever is in the memory.
#include <cstdlib>
#include <cstring>

#include "counters.h"
#include "paddle/phi/backends/device_ext.h"

using namespace tablerec;  // counters(), count_allocation(), count_free(), device_name()

// 1. Which devices are there?
static C_Status count_devices(size_t* count) { return *count = 1, C_SUCCESS; }
static C_Status list_devices(size_t* ids) { return ids[0] = 0, C_SUCCESS; }
static C_Status set_device(const C_Device) { return C_SUCCESS; }
static C_Status get_device(const C_Device device) { return device->id = 0, C_SUCCESS; }

// 2. Memory. A card's driver would be asked; this "card" keeps its memory in the host's.
static C_Status allocate(const C_Device, void** address, size_t bytes) {
  *address = malloc(bytes);
  count_allocation(bytes);
  return C_SUCCESS;  // a null address says: out of memory
}
static C_Status release(const C_Device, void* address, size_t bytes) {
  free(address);
  count_free(bytes);
  return C_SUCCESS;
}

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

// 4. Order. All that was asked for is done when a call returns, so there is nothing to wait for.
static C_Status create_event(const C_Device, C_Event* event) { return *event = nullptr, C_SUCCESS; }
static C_Status destroy_event(const C_Device, C_Event) { return C_SUCCESS; }
static C_Status record_event(const C_Device, C_Stream, C_Event) { return C_SUCCESS; }
static C_Status synchronize_event(const C_Device, C_Event) { return C_SUCCESS; }

// The one name that Paddle looks for in the library. It hands over a table, and the plugin fills it in.
extern "C" __attribute__((visibility("default"))) void InitPlugin(CustomRuntimeParams* params) {
  PADDLE_CUSTOM_RUNTIME_CHECK_VERSION(params);
  params->device_type = const_cast<char*>(device_name());
  params->sub_device_type = const_cast<char*>("empty");
  C_DeviceInterface* table = params->interface;
  table->get_device_count = count_devices;
  table->get_device_list = list_devices;
  table->set_device = set_device;
  table->get_device = get_device;
  table->device_memory_allocate = allocate;
  table->device_memory_deallocate = release;
  table->memory_copy_h2d = host_to_device;
  table->memory_copy_d2h = device_to_host;
  table->memory_copy_d2d = device_to_device;
  table->create_event = create_event;
  table->destroy_event = destroy_event;
  table->record_event = record_event;
  table->synchronize_event = synchronize_event;
}
