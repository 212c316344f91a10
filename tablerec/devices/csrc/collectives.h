// Collectives: what processes with a device each compute together. The functions handed to Paddle, for both builds.
#pragma once
#include <cstddef>

#include "paddle/phi/backends/device_ext.h"

// Fills in this part of Paddle's table. Null in a library without collectives, which serves single processes.
extern "C" __attribute__((weak, visibility("default"))) void tablerec_add_collectives(C_DeviceInterface* table);

namespace tablerec {

inline size_t size_of(C_DataType type) {
  switch (type) {
    case BOOL: case UINT8: case INT8: return 1;
    case UINT16: case INT16: case FLOAT16: case BFLOAT16: return 2;
    case UINT32: case INT32: case FLOAT32: return 4;
    case COMPLEX128: return 16;
    case UNDEFINED: return 0;
    default: return 8;
  }
}
inline const char* name_of(C_DataType type) {
  static const char* names[] = {"an undefined type", "bool",  "uint8",   "uint16",  "uint32",  "uint64",   "int8",      "int16",
                                "int32",             "int64", "float16", "float32", "float64", "bfloat16", "complex64", "complex128"};
  return names[type];
}
inline const char* name_of(C_CCLReduceOp how) {
  static const char* names[] = {"sum", "mean", "maximum", "minimum", "product"};
  return names[how];
}

}  // namespace tablerec

#define TABLEREC_FILL_COLLECTIVES(table)                         \
  do {                                                           \
    table->xccl_get_comm_name = get_communicator_name;           \
    table->xccl_get_unique_id_size = get_unique_id_size;         \
    table->xccl_get_unique_id = get_unique_id;                   \
    table->xccl_comm_init_rank = connect;                        \
    table->xccl_destroy_comm = disconnect;                       \
    table->xccl_all_reduce = all_reduce;                         \
    table->xccl_broadcast = broadcast;                           \
    table->xccl_reduce = reduce_to_root;                         \
    table->xccl_all_gather = all_gather;                         \
    table->xccl_reduce_scatter = reduce_scatter;                 \
    table->xccl_group_start = begin_group;                       \
    table->xccl_group_end = end_group;                           \
    table->xccl_send = send;                                     \
    table->xccl_recv = receive;                                  \
    table->xccl_all_to_all = all_to_all;                         \
  } while (0)
