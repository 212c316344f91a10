// The order of keys. Every order is stable and the same on every run; what is not a number is the largest.
#pragma once
#include "elements.h"

namespace tablerec {

template <class K> struct Pairs {
  Temporary<K> keys, other_keys;
  Temporary<int> places, other_places;
  Pairs(const Context& context, int64_t count)
      : keys(context, count), other_keys(context, count), places(context, count), other_places(context, count) {}
};

// Sorts pairs by the lowest `bits` of the keys, stably; gives the sorted places. For keys of 32 and of 64 bits.
template <class K> int* sort_pairs(const Context& context, const char* name, Pairs<K>& pairs, int64_t count, int bits);

template <class T> HOST_DEVICE Bits<T> key_of(T value, bool descending) {
  using W = Bits<T>;
  const W sign = W(1) << (8 * sizeof(T) - 1);
  W bits;
  memcpy(&bits, &value, sizeof(T));
  if constexpr (std::is_integral<T>::value) {
    bits ^= sign;
  } else {
    Compute<T> v = Compute<T>(value);
    if (v == 0) bits = 0;
    bits = v != v ? W(~W(0)) : W(bits & sign ? ~bits : bits | sign);
  }
  return descending ? W(~bits) : bits;
}

inline int bits_for(int64_t count) {
  int bits = 0;
  while ((int64_t(1) << bits) < count) ++bits;
  return bits;
}

// Rows of a key each element: sorted as one, with the row as the highest bits.
template <class K, class T>
int* sort_rows_as(const Context& context, const char* name, const Split& s, const T* x, bool descending, Pairs<K>& pairs) {
  int64_t length = s.length;
  auto keys = pairs.keys.data;
  auto places = pairs.places.data;
  const int width = 8 * sizeof(T);
  bool has_room = s.rows() > 1 && sizeof(K) > sizeof(T);
  launch(context, name, s.rows() * length, DEVICE(int64_t i) {
    int64_t row = i / length, j = i - row * length;
    K key = key_of(x[s.start(row) + j * s.inner], descending);
    keys[i] = has_room ? key | (K(row) << (sizeof(K) > sizeof(T) ? width : 0)) : key;
    places[i] = int(i);
  });
  return sort_pairs(context, name, pairs, s.rows() * length, has_room ? width + bits_for(s.rows()) : width);
}

// Sorts each row of `s`: gives, for each row and rank, row * length + index. Lives as long as this object.
template <class T> struct SortedRows {
  int* places = nullptr;
  std::shared_ptr<void> memory, second;

  SortedRows(const Context& context, const char* name, const Split& s, const T* x, bool descending) {
    int64_t count = s.rows() * s.length;
    REQUIRE(count < (int64_t(1) << 31), "%s of %d elements is not supported on %s; fewer than 2^31 are", name, count, device_name());
    int bits = 8 * int(sizeof(T)) + (s.rows() > 1 ? bits_for(s.rows()) : 0);
    if constexpr (sizeof(T) < 8) {
      if (bits <= 32) places = sort<uint32_t>(context, name, s, x, descending);
      else places = sort<uint64_t>(context, name, s, x, descending);
    } else {
      places = sort<uint64_t>(context, name, s, x, descending);
      if (s.rows() > 1) by_row(context, name, s.length, count, bits_for(s.rows()));
    }
  }
  template <class K> int* sort(const Context& context, const char* name, const Split& s, const T* x, bool descending) {
    auto pairs = std::make_shared<Pairs<K>>(context, s.rows() * s.length);
    memory = pairs;
    return sort_rows_as<K, T>(context, name, s, x, descending, *pairs);
  }
  // Where key and row are too wide for one: what is sorted by key is sorted stably by row.
  void by_row(const Context& context, const char* name, int64_t length, int64_t count, int bits) {
    auto pairs = std::make_shared<Pairs<uint32_t>>(context, count);
    auto keys = pairs->keys.data;
    auto to = pairs->places.data;
    auto from = places;
    launch(context, name, count, DEVICE(int64_t i) { keys[i] = uint32_t(from[i] / length), to[i] = from[i]; });
    second = pairs;
    places = sort_pairs(context, name, *pairs, count, bits);
  }
};

}  // namespace tablerec
