// Numbers of one byte, which are cast and moved but not computed with.
#pragma once
#include "paddle/phi/common/float8_e4m3fn.h"
#include "paddle/phi/common/float8_e5m2.h"
#include "register.h"

namespace tablerec {

template <> struct ComputeType<phi::dtype::float8_e4m3fn> { using type = float; };
template <> struct ComputeType<phi::dtype::float8_e5m2> { using type = float; };

inline constexpr Types<phi::dtype::float8_e4m3fn, phi::dtype::float8_e5m2> kFloat8;
inline const auto kMoved = kAll + kHalves + kFloat8;

}  // namespace tablerec
