// Numbers that the host must know.
#pragma once
#include "backend.h"
#include "paddle/phi/core/tensor_utils.h"

namespace tablerec {

// Waits for the device: for what decides an output's shape.
inline int64_t number_on_host(const Context& context, const Temporary<int64_t>& number) {
  Tensor on_host;
  phi::Copy(context, number.tensor, phi::CPUPlace(), true, &on_host);
  return on_host.data<int64_t>()[0];
}

}  // namespace tablerec
