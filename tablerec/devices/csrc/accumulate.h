// Sums that several threads add to.
#pragma once
#include "backend.h"

namespace tablerec {

template <class T> HOST_DEVICE void add_to(T* to, T value) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same<T, int64_t>::value)
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
  else
    atomicAdd(to, value);
#else
  *to += value;
#endif
}

HOST_DEVICE inline void keep_largest(int* to, int value) {
#ifdef __CUDA_ARCH__
  atomicMax(to, value);
#else
  *to = std::max(*to, value);
#endif
}

// An output that is added to: in single precision for half precision, and rounded once by `finish`.
template <class T> struct Sums {
  using C = Compute<T>;
  static constexpr bool rounds = !std::is_same<C, T>::value;
  const Context& context;
  const char* name;
  T* out;
  C* data;
  int64_t count;
  Tensor memory;

  // Begins with `start`, or with zeros; null data where the output is not wanted or empty.
  Sums(const Context& given, const char* called, Tensor* to, const T* start = nullptr)
      : context(given), name(called), out(write<T>(given, to)), data(nullptr), count(out ? to->numel() : 0) {
    if (!out) return;
    if constexpr (rounds) {
      memory.Resize(to->dims());
      data = write<C>(context, &memory);
    } else {
      data = out;
    }
    begin(start);
  }
  void begin(const T* start) {
    auto r = data;
    if (!start) launch(context, name, count, DEVICE(int64_t i) { r[i] = C(0); });
    else if (reinterpret_cast<const void*>(r) != start) launch(context, name, count, DEVICE(int64_t i) { r[i] = C(start[i]); });
  }
  void finish() {
    if constexpr (rounds) {
      auto r = out;
      auto sum = data;
      round(r, sum);
    }
  }
  void round(T* r, const C* sum) {
    launch(context, name, count, DEVICE(int64_t i) { r[i] = T(sum[i]); });
  }
};

}  // namespace tablerec
