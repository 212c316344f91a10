// What norms share.
//
// All are bound by memory. Elements are read 16 bytes at a time where the shape allows; short runs are summed in the
// type to compute in, about a number near the mean, and runs are added in double.
#pragma once
#include "reduce.h"
#include "register.h"

namespace tablerec {

template <class T, int V> struct alignas(sizeof(T) * V) Pack { T at[V]; };

template <class T, int V> HOST_DEVICE Pack<T, V> read_pack(const T* from, int64_t index) {
  return reinterpret_cast<const Pack<T, V>*>(from)[index];
}

// How many elements are moved at a time: as many as 16 bytes hold, or four, where `length` and the addresses allow it.
template <class T> int pack_width(int64_t length, std::initializer_list<const void*> addresses) {
  for (int width : {int(16 / sizeof(T)), 4}) {
    bool fits = length % width == 0 && width * sizeof(T) <= 16;
    for (auto address : addresses) fits = fits && reinterpret_cast<uintptr_t>(address) % (width * sizeof(T)) == 0;
    if (fits) return width;
  }
  return 1;
}
// Calls f with the width as a constant.
template <class T, class F> void with_width(int width, F f) {
  constexpr int widest = 16 / sizeof(T);
  if (width == widest) f(std::integral_constant<int, widest>());
  else if (width == 4 && widest > 4) f(std::integral_constant<int, 4>());
  else f(std::integral_constant<int, 1>());
}

// Scale and bias, or their gradients: of the tensor's type, or of the one to compute in. Either may be absent.
template <class T> struct Parameters {
  using C = Compute<T>;
  const T* narrow = nullptr;
  const C* wide = nullptr;
  Parameters(const OptionalTensor& from) {
    if (!from) return;
    if (from->dtype() == phi::CppTypeToDataType<C>::Type()) wide = read<C>(*from);
    else narrow = read<T>(*from);
  }
  HOST_DEVICE C operator()(int64_t i, C otherwise) const { return wide ? wide[i] : narrow ? C(narrow[i]) : otherwise; }
};
template <class T> struct ParameterGradient {
  using C = Compute<T>;
  T* narrow = nullptr;
  C* wide = nullptr;
  ParameterGradient(const Context& context, Tensor* to, const OptionalTensor& parameter) {
    if (!to) return;
    if (!parameter || parameter->dtype() == phi::CppTypeToDataType<C>::Type()) wide = write<C>(context, to);
    else narrow = write<T>(context, to);
  }
  HOST_DEVICE bool wanted() const { return wide || narrow; }
  HOST_DEVICE void put(int64_t i, double value) const {
    if (wide) wide[i] = C(value);
    else if (narrow) narrow[i] = T(C(value));
  }
};

struct TwoSums {
  double first, second;
  HOST_DEVICE TwoSums operator()(TwoSums a, TwoSums b) const { return {a.first + b.first, a.second + b.second}; }
};

// Mean (where there is none, zero) and 1 / deviation of each statistic; the latter may be given as a variance.
template <class C> struct Statistics {
  const C *mean, *spread;
  bool is_variance;
  C epsilon;
  HOST_DEVICE C center(int64_t k) const { return mean ? mean[k] : C(0); }
  HOST_DEVICE C inverse(int64_t k) const { return is_variance ? C(1) / C(sqrt(spread[k] + epsilon)) : spread[k]; }
};

// Statistics and parameters are float where the elements are in half precision.
template <int first, int last> void gives_types_of_its_own(phi::Kernel* kernel) {
  for (int k = first; k <= last; ++k) kernel->OutputAt(k).SetDataType(phi::DataType::UNDEFINED);
}

}  // namespace tablerec
