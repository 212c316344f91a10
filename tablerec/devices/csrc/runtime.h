// What both runtimes share: the table of functions handed to Paddle.
#pragma once
#include <cstddef>
#include <cstring>

#include "collectives.h"
#include "counters.h"
#include "paddle/phi/backends/device_ext.h"

namespace tablerec {

// Simulated device: distance from an address that Paddle knows to the view that kernels may touch.
ptrdiff_t kernel_view_offset();

inline C_Status supported(const C_Device, bool* answer) {
  *answer = true;
  return C_SUCCESS;
}
// Paddle calls the profiler's functions without asking whether they are there.
inline C_Status profiler_initialize(C_Profiler, void**) { return C_SUCCESS; }
inline C_Status profiler_step(C_Profiler, void*) { return C_SUCCESS; }
inline C_Status profiler_collect(C_Profiler, uint64_t, void*) { return C_SUCCESS; }

}  // namespace tablerec

#define TABLEREC_FILL_INTERFACE(params, kind)                                 \
  do {                                                                        \
    using namespace tablerec;                                                 \
    (params)->device_type = const_cast<char*>(device_name());                 \
    (params)->sub_device_type = const_cast<char*>(kind);                      \
    C_DeviceInterface* table = (params)->interface;                           \
    size_t size = table->size;                                                \
    memset(table, 0, sizeof(C_DeviceInterface));                              \
    table->size = size;                                                       \
    table->initialize = initialize;                                           \
    table->finalize = finalize;                                               \
    table->init_device = set_device;                                          \
    table->set_device = set_device;                                           \
    table->get_device = get_device;                                           \
    table->deinit_device = deinit_device;                                     \
    table->create_stream = create_stream;                                     \
    table->destroy_stream = destroy_stream;                                   \
    table->query_stream = query_stream;                                       \
    table->stream_add_callback = add_callback;                                \
    table->create_event = create_event;                                       \
    table->destroy_event = destroy_event;                                     \
    table->record_event = record_event;                                       \
    table->query_event = query_event;                                         \
    table->synchronize_device = synchronize_device;                           \
    table->synchronize_stream = synchronize_stream;                           \
    table->synchronize_event = synchronize_event;                             \
    table->stream_wait_event = wait_event;                                    \
    table->device_memory_allocate = allocate;                                 \
    table->device_memory_deallocate = release;                                \
    table->device_memory_set = set_memory;                                    \
    table->host_memory_allocate = allocate_host;                              \
    table->host_memory_deallocate = release_host;                             \
    table->memory_copy_h2d = host_to_device;                                  \
    table->memory_copy_d2h = device_to_host;                                  \
    table->memory_copy_d2d = device_to_device;                                \
    table->async_memory_copy_h2d = host_to_device_async;                      \
    table->async_memory_copy_d2h = device_to_host_async;                      \
    table->async_memory_copy_d2d = device_to_device_async;                    \
    table->memory_copy_p2p = between_devices;                                 \
    table->async_memory_copy_p2p = between_devices_async;                     \
    table->get_device_count = count_devices;                                  \
    table->get_device_list = list_devices;                                    \
    table->device_memory_stats = memory_stats;                                \
    table->device_min_chunk_size = min_chunk;                                 \
    table->get_compute_capability = compute_capability;                       \
    table->is_float16_supported = supported;                                  \
    table->is_bfloat16_supported = supported;                                 \
    table->profiler_initialize = profiler_initialize;                         \
    table->profiler_finalize = profiler_step;                                 \
    table->profiler_prepare_tracing = profiler_step;                          \
    table->profiler_start_tracing = profiler_step;                            \
    table->profiler_stop_tracing = profiler_step;                             \
    table->profiler_collect_trace_data = profiler_collect;                    \
    if (tablerec_add_collectives) tablerec_add_collectives(table);            \
  } while (0)
