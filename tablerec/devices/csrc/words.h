// Elements as plain words, and numbers read back to the host.
#pragma once
#include "backend.h"
#include "paddle/phi/core/tensor_utils.h"

namespace tablerec {

// Pure movement is compiled once for each size of an element.
template <size_t bytes> struct WordOf;
template <> struct WordOf<1> { using type = uint8_t; };
template <> struct WordOf<2> { using type = uint16_t; };
template <> struct WordOf<4> { using type = uint32_t; };
template <> struct WordOf<8> { using type = uint64_t; };
template <class T> using Word = typename WordOf<sizeof(T)>::type;

template <class T> const Word<T>* read_words(const Tensor& tensor) { return reinterpret_cast<const Word<T>*>(read<T>(tensor)); }
template <class T> Word<T>* write_words(const Context& context, Tensor* tensor) {
  return reinterpret_cast<Word<T>*>(write<T>(context, tensor));
}

// Waits for the device: for what decides an output's shape.
inline int64_t number_on_host(const Context& context, const Temporary<int64_t>& number) {
  Tensor on_host;
  phi::Copy(context, number.tensor, phi::CPUPlace(), true, &on_host);
  return on_host.data<int64_t>()[0];
}

}  // namespace tablerec
