// Kernels over elements: a thread takes several neighbours, 16 bytes at a time where addresses and strides allow.
#pragma once
#include <cstdint>
#include <utility>

#include "shapes.h"

namespace tablerec {

// Elements are moved as bits of their size, so that movement is compiled once for each size.
template <int size> struct BitsOf;
template <> struct BitsOf<1> { using type = uint8_t; };
template <> struct BitsOf<2> { using type = uint16_t; };
template <> struct BitsOf<4> { using type = uint32_t; };
template <> struct BitsOf<8> { using type = uint64_t; };
template <class T> using Bits = typename BitsOf<sizeof(T)>::type;
template <class T> const Bits<T>* bits(const T* elements) { return reinterpret_cast<const Bits<T>*>(elements); }
template <class T> Bits<T>* bits(T* elements) { return reinterpret_cast<Bits<T>*>(elements); }

// An element is not zero if one of these bits is set: of floating point all but the sign.
template <class T> constexpr Bits<T> bits_not_zero() {
  return std::is_integral<T>::value ? Bits<T>(-1) : Bits<T>(Bits<T>(-1) >> 1);
}
template <class T> Bits<T> bits_of(T value) {
  Bits<T> same;
  std::memcpy(&same, &value, sizeof(T));
  return same;
}

template <class T, int N> struct alignas(sizeof(T) * N) Pack { T at[N]; };

// How many neighbours a thread takes: 16 bytes of the largest type.
template <class... T> constexpr int neighbours() {
  size_t largest = 2;
  ((largest = sizeof(T) > largest ? sizeof(T) : largest), ...);
  return int(16 / largest);
}

// `count` elements from `from`, `step` apart; zeros where there is no array.
template <int N, class T> HOST_DEVICE Pack<T, N> load(const T* from, int64_t step, int count) {
  Pack<T, N> pack = {};
  if (!from) return pack;
  if (step == 1 && count == N && reinterpret_cast<uintptr_t>(from) % sizeof(pack) == 0)
    return *reinterpret_cast<const Pack<T, N>*>(from);
  if (step == 0) {
    T value = *from;
    for (int k = 0; k < N; ++k) pack.at[k] = value;
    return pack;
  }
  for (int k = 0; k < N; ++k)
    if (k < count) pack.at[k] = from[k * step];
  return pack;
}
template <int N, class T> HOST_DEVICE void store(T* to, int count, const Pack<T, N>& pack) {
  if (!to) return;
  if (count == N && reinterpret_cast<uintptr_t>(to) % sizeof(pack) == 0) {
    *reinterpret_cast<Pack<T, N>*>(to) = pack;
    return;
  }
  for (int k = 0; k < N; ++k)
    if (k < count) to[k] = pack.at[k];
}

// One array of a kernel, around the neighbours that begin at `first`: an input (const) or an output.
template <int N, class T> struct Neighbours {
  using Element = std::remove_const_t<T>;
  T* where;
  Pack<Element, N> pack;
  HOST_DEVICE Neighbours(T* array, int64_t first, int count) : where(array ? array + first : nullptr), pack{} {
    if constexpr (std::is_const<T>::value) pack = load<N>(where, 1, count);
  }
  HOST_DEVICE void finish(int count) const {
    if constexpr (!std::is_const<T>::value) store<N>(where, count, pack);
  }
};
template <int N, class F, class... T> HOST_DEVICE void run_neighbours(const F& body, int count, Neighbours<N, T>... array) {
  for (int k = 0; k < N; ++k)
    if (k < count) body(array.pack.at[k]...);
  (array.finish(count), ...);
}

#ifdef TABLEREC_CUDA
template <int N, class F, class... T> __global__ void run_elements(int64_t count, F body, T*... array) {
  int64_t step = int64_t(gridDim.x) * blockDim.x * N;
  for (int64_t i = (blockIdx.x * int64_t(blockDim.x) + threadIdx.x) * N; i < count; i += step) {
    int here = count - i < N ? int(count - i) : N;
    run_neighbours<N>(body, here, Neighbours<N, T>(array, i, here)...);
  }
}
#endif

// Runs body(element of each array) at every place. Outputs are T*, and come to the body as T&; inputs are const T*.
// An output may lie where an input lies. A null output is not written; a null input gives zeros.
template <class F, class... T>
void launch_elements(const Context& context, const char* name, int64_t count, F body, T*... array) {
  if (count <= 0) return;
  KernelScope scope(name, context.stream());
  constexpr int N = neighbours<T...>();
#ifdef TABLEREC_CUDA
  run_elements<N><<<blocks_for((count + N - 1) / N), 256, 0, stream_of(context)>>>(count, body, array...);
  check_launch(name);
#else
  for (int64_t i = 0; i < count; i += N) {
    int here = int(std::min<int64_t>(count - i, N));
    run_neighbours<N>(body, here, Neighbours<N, T>(array, i, here)...);
  }
#endif
}

template <class R, int N, class F, class... T>
HOST_DEVICE Pack<R, N> run_row(const F& body, const Pack<T, N>&... pack) {
  Pack<R, N> result = {};
  for (int k = 0; k < N; ++k) result.at[k] = body(pack.at[k]...);
  return result;
}
// The neighbours from place i on. `rows`: they differ in the innermost index alone.
template <int N, size_t... J, class F, class R, class... T>
HOST_DEVICE void run_places(std::index_sequence<J...>, int64_t i, int count, bool rows, const Walk<sizeof...(T)>& at,
                            const F& body, R* out, const T*... x) {
  if (rows) {
    auto o = at(i);
    int last = at.rank ? at.rank - 1 : 0;
    store<N>(out + i, count, run_row<R, N>(body, load<N>(x ? x + o.at[J] : x, at.stride[J][last], count)...));
    return;
  }
  Pack<R, N> result = {};
  for (int k = 0; k < N; ++k) {
    if (k >= count) continue;
    auto o = at(i + k);
    result.at[k] = body(x ? x[o.at[J]] : T{}...);
  }
  store<N>(out + i, count, result);
}

#ifdef TABLEREC_CUDA
template <int N, class F, class R, class... T>
__global__ void run_walk(int64_t count, bool rows, Walk<sizeof...(T)> at, F body, R* out, const T*... x) {
  int64_t step = int64_t(gridDim.x) * blockDim.x * N;
  for (int64_t i = (blockIdx.x * int64_t(blockDim.x) + threadIdx.x) * N; i < count; i += step)
    run_places<N>(std::index_sequence_for<T...>(), i, count - i < N ? int(count - i) : N, rows, at, body, out, x...);
}
#endif

// out[i] = body(x at its offset, ...) for the places of a walk, in its order: one division of the index serves a
// thread's neighbours where a row divides into them.
template <class F, class R, class... T>
void launch_walk(const Context& context, const char* name, const Walk<sizeof...(T)>& at, F body, R* out, const T*... x) {
  int64_t count = at.count();
  if (count <= 0) return;
  KernelScope scope(name, context.stream());
  constexpr int N = neighbours<R, T...>();
  bool rows = at.rank <= 1 || at.size[at.rank - 1] % N == 0;
#ifdef TABLEREC_CUDA
  run_walk<N><<<blocks_for((count + N - 1) / N), 256, 0, stream_of(context)>>>(count, rows, at, body, out, x...);
  check_launch(name);
#else
  for (int64_t i = 0; i < count; i += N)
    run_places<N>(std::index_sequence_for<T...>(), i, int(std::min<int64_t>(count - i, N)), rows, at, body, out, x...);
#endif
}

// ---- many tensors at once

// A part of a list of tensors, small enough to be an argument of a kernel; each is cut into chunks, one for a team.
template <class Entry, int capacity> struct Table {
  static constexpr int64_t kChunk = 4096;
  int entries = 0;
  int64_t first[capacity + 1] = {};  // the first chunk of each entry
  Entry entry[capacity] = {};
  void add(const Entry& given) {
    entry[entries] = given;
    first[entries + 1] = first[entries] + (given.count + kChunk - 1) / kChunk;
    ++entries;
  }
};

template <int N, class Rule, class Entry, int capacity>
HOST_DEVICE void run_chunk(const Rule& rule, const Table<Entry, capacity>& table, int64_t chunk, int rank, int size) {
  int k = 0;
  while (k + 1 < table.entries && chunk >= table.first[k + 1]) ++k;
  const Entry& entry = table.entry[k];
  int64_t from = (chunk - table.first[k]) * table.kChunk;
  int64_t to = from + table.kChunk < entry.count ? from + table.kChunk : entry.count;
  for (int64_t i = from + int64_t(rank) * N; i < to; i += int64_t(size) * N)
    rule.template run<N>(entry, i, to - i < N ? int(to - i) : N);
}
#ifdef TABLEREC_CUDA
template <int N, class Rule, class Entry, int capacity>
__global__ void run_table(int64_t chunks, const __grid_constant__ Rule rule,
                          const __grid_constant__ Table<Entry, capacity> table) {
  for (int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x)
    run_chunk<N>(rule, table, chunk, threadIdx.x, blockDim.x);
}
#endif
template <int N, class Rule, class Entry, int capacity>
void launch_table(const Context& context, const char* name, const Rule& rule, const Table<Entry, capacity>& table) {
  int64_t chunks = table.first[table.entries];
  if (!chunks) return;
  KernelScope scope(name, context.stream());
#ifdef TABLEREC_CUDA
  run_table<N><<<unsigned(std::min<int64_t>(chunks, 1 << 20)), 256, 0, stream_of(context)>>>(chunks, rule, table);
  check_launch(name);
#else
  for (int64_t chunk = 0; chunk < chunks; ++chunk) run_chunk<N>(rule, table, chunk, 0, 1);
#endif
}
// Runs rule.run<N>(entry, i, count) on the neighbours i ... i + count - 1 of every entry; an entry has its `count`.
// The arguments of a kernel may hold 4 KiB.
template <int N, class Rule, class Entry>
void launch_entries(const Context& context, const char* name, const Rule& rule, const std::vector<Entry>& entries) {
  if (entries.size() == 1) {
    Table<Entry, 1> table;
    table.add(entries[0]);
    return launch_table<N>(context, name, rule, table);
  }
  constexpr int capacity = 3800 / (sizeof(Entry) + sizeof(int64_t));
  for (size_t k = 0; k < entries.size(); k += capacity) {
    Table<Entry, capacity> table;
    for (size_t j = k; j < entries.size() && j < k + capacity; ++j) table.add(entries[j]);
    launch_table<N>(context, name, rule, table);
  }
}

// Copies bits in the order of a walk over the source.
template <class B> void copy_walk(const Context& context, const char* name, const Walk<1>& at, const B* from, B* to) {
  launch_walk(context, name, at, DEVICE(B bit) { return bit; }, to, from);
}
template <class B> void copy_elements(const Context& context, const char* name, int64_t count, const B* from, B* to) {
  if (from == to) return;
  launch_elements(context, name, count, DEVICE(B& r, B a) { r = a; }, to, from);
}
template <class T> void fill_elements(const Context& context, const char* name, int64_t count, T value, T* to) {
  launch_elements(context, name, count, DEVICE(T& r) { r = value; }, to);
}

}  // namespace tablerec
