// Registration under a name that is chosen when the plugin is loaded.
#pragma once
#include "backend.h"

namespace tablerec {

template <class... T> struct Types {};
template <class... A, class... B> Types<A..., B...> operator+(Types<A...>, Types<B...>) { return {}; }

inline constexpr Types<float, double> kFloats;
inline constexpr Types<int, int64_t> kIntegers;
inline constexpr Types<bool> kBool;
inline constexpr Types<uint8_t, int8_t, int16_t> kBytes;
inline constexpr Types<phi::dtype::float16, phi::dtype::bfloat16> kHalves;
inline const auto kNumbers = Types<float, double, int, int64_t>();
inline const auto kAll = Types<float, double, int, int64_t, bool, uint8_t, int8_t, int16_t>();

using Amend = void (*)(phi::Kernel*);

// What differs from "all arguments on the device, all of the kernel's type".
inline void as_is(phi::Kernel*) {}
inline void gives_bool(phi::Kernel* kernel) { kernel->OutputAt(0).SetDataType(phi::DataType::BOOL); }
inline void gives_another_type(phi::Kernel* kernel) { kernel->OutputAt(0).SetDataType(phi::DataType::UNDEFINED); }
inline void gives_indices_first(phi::Kernel* kernel) { kernel->OutputAt(0).SetDataType(phi::DataType::INT64); }
inline void gives_indices_second(phi::Kernel* kernel) { kernel->OutputAt(1).SetDataType(phi::DataType::INT64); }
inline void takes_other_types(phi::Kernel* kernel) {
  for (size_t k = 0; k < kernel->args_def().output_defs().size(); ++k) kernel->OutputAt(k).SetDataType(phi::DataType::UNDEFINED);
}

template <auto function, Amend amend, class T> void register_one(const char* name) {
  using Function = std::remove_const_t<decltype(function)>;
  phi::KernelRegistrar(
      phi::RegType::OUTER, name, device_name(), phi::DataLayout::ALL_LAYOUT, phi::CppTypeToDataType<T>::Type(),
      phi::KernelArgsParseFunctor<Function>::Parse, [](const phi::KernelKey&, phi::Kernel* kernel) { amend(kernel); },
      phi::KernelImpl<Function, function>::Compute,
      reinterpret_cast<void*>(phi::KernelImpl<Function, function>::VariadicCompute));
}

}  // namespace tablerec

// REGISTER(add, Add, kNumbers): the kernel template Add<T, Context> as Paddle's "add" for each type.
#define REGISTER(name, function, types) REGISTER_AMENDED(name, function, types, as_is)
#define REGISTER_AMENDED(name, function, types, amend)                                   \
  template <class... T> bool register_##name(::tablerec::Types<T...>) {                  \
    (::tablerec::register_one<&function<T, ::tablerec::Context>, amend, T>(#name), ...); \
    return true;                                                                         \
  }                                                                                      \
  static const bool registered_##name = register_##name(types);
