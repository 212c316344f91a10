// Sorting and what follows from it. Every order is stable and the same on every run; what is not a number is the largest.
#include <numeric>

#include "elements.h"
#include "host.h"
#include "register.h"
#include "scan.h"
#ifdef TABLEREC_CUDA
#include <cub/device/device_radix_sort.cuh>
#endif

namespace tablerec {

// ---- the order of keys

template <class K> struct Pairs {
  Temporary<K> keys, other_keys;
  Temporary<int> places, other_places;
  Pairs(const Context& context, int64_t count)
      : keys(context, count), other_keys(context, count), places(context, count), other_places(context, count) {}
};

// Sorts pairs by the lowest `bits` of the keys, stably; gives the sorted places.
template <class K> int* sort_pairs(const Context& context, const char* name, Pairs<K>& pairs, int64_t count, int bits) {
  KernelScope scope(name, context.stream());
  K* keys = pairs.keys.data;
  int* places = pairs.places.data;
#ifdef TABLEREC_CUDA
  cub::DoubleBuffer<K> k(keys, pairs.other_keys.data);
  cub::DoubleBuffer<int> v(places, pairs.other_places.data);
  size_t bytes = 0;
  auto stream = stream_of(context);
  auto error = cub::DeviceRadixSort::SortPairs(nullptr, bytes, k, v, int(count), 0, std::max(bits, 1), stream);
  Temporary<uint8_t> memory(context, std::max<int64_t>(int64_t(bytes), 1));
  if (error == cudaSuccess)
    error = cub::DeviceRadixSort::SortPairs(memory.data, bytes, k, v, int(count), 0, std::max(bits, 1), stream);
  PADDLE_ENFORCE_EQ(error, cudaSuccess, common::errors::External("%s: %s", name, cudaGetErrorString(error)));
  return v.Current();
#else
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  K mask = bits >= int(8 * sizeof(K)) ? ~K(0) : (K(1) << bits) - 1;
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return (keys[a] & mask) < (keys[b] & mask); });
  int* sorted = pairs.other_places.data;
  for (int64_t i = 0; i < count; ++i) sorted[i] = places[order[i]];
  return sorted;
#endif
}

// Numbers as unsigned integers of the same order; 0 and -0 are one.
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

// ---- sorting and selecting

// The first k of each sorted row.
template <class T>
void take_sorted(const Context& context, const char* name, const Split& s, const Tensor& x, bool descending, int64_t k, Tensor* out,
                 Tensor* indices) {
  auto values = bits(write<T>(context, out));
  auto found = write<int64_t>(context, indices);
  if (s.rows() * k == 0) return;
  SortedRows<T> sorted(context, name, s, read<T>(x), descending);
  auto a = bits(read<T>(x));
  auto places = sorted.places;
  launch(context, name, s.rows() * k, DEVICE(int64_t i) {
    int64_t row = i / k, rank = i - row * k, j = places[row * s.length + rank] - row * s.length;
    int64_t to = (row / s.inner * k + rank) * s.inner + row % s.inner;
    values[to] = a[s.start(row) + j * s.inner];
    found[to] = j;
  });
}
template <class T, class X>
void ArgSort(const X& context, const Tensor& x, int axis, bool descending, bool, Tensor* out, Tensor* indices) {
  Split s(x.dims(), axis);
  take_sorted<T>(context, "argsort", s, x, descending, s.length, out, indices);
}
template <class T, class X>
void TopK(const X& context, const Tensor& x, const phi::Scalar& k_scalar, int axis, bool largest, bool, Tensor* out,
          Tensor* indices) {
  int64_t k = k_scalar.to<int64_t>();
  auto dims = x.dims();
  if (dims.size()) dims[to_axis(axis, dims.size())] = k;
  out->Resize(dims);
  indices->Resize(dims);
  Split s(x.dims(), axis);
  REQUIRE(k <= s.length, "topk: %d of %d elements", int(k), int(s.length));
  take_sorted<T>(context, "topk", s, x, largest, k, out, indices);
}
REGISTER_AMENDED(argsort, ArgSort, kNumbers + kHalves, gives_indices_second)
REGISTER_AMENDED(topk, TopK, kNumbers + kHalves, gives_indices_second)

// No two indices of a row are equal.
template <class T>
void put_back(const Context& context, const char* name, const Split& s, const Tensor& indices, const Tensor& dout, int64_t k, Tensor* dx) {
  auto g = bits(read<T>(dout));
  auto at = read<int64_t>(indices);
  auto r = bits(write<T>(context, dx));
  launch(context, name, k < s.length ? dx->numel() : 0, DEVICE(int64_t i) { r[i] = 0; });
  launch(context, name, s.rows() * k, DEVICE(int64_t i) {
    int64_t row = i / (k * s.inner) * s.inner + i % s.inner;
    r[s.start(row) + at[i] * s.inner] = g[i];
  });
}
template <class T, class X>
void ArgSortGrad(const X& context, const Tensor& indices, const Tensor& x, const Tensor& dout, int axis, bool, bool, Tensor* dx) {
  Split s(x.dims(), axis);
  put_back<T>(context, "argsort_grad", s, indices, dout, s.length, dx);
}
template <class T, class X>
void TopKGrad(const X& context, const Tensor& x, const Tensor& indices, const Tensor& dout, const phi::Scalar& k, int axis, bool, bool,
              Tensor* dx) {
  Split s(x.dims(), axis);
  put_back<T>(context, "topk_grad", s, indices, dout, Split(indices.dims(), axis).length, dx);
}
REGISTER(argsort_grad, ArgSortGrad, kFloats + kHalves)
REGISTER(topk_grad, TopKGrad, kFloats + kHalves)

// ---- searching in what is sorted

template <class T, class I>
void search(const Context& context, const Tensor& sorted, const Tensor& value, bool right, Tensor* out) {
  using C = Compute<T>;
  int64_t length = sorted.dims()[sorted.dims().size() - 1];
  bool shared = sorted.dims().size() == 1;
  int64_t asked = shared || !value.dims().size() ? 0 : value.dims()[value.dims().size() - 1];
  auto a = read<T>(sorted), v = read<T>(value);
  auto r = write<I>(context, out);
  launch(context, "searchsorted", value.numel(), DEVICE(int64_t i) {
    const T* row = a + (shared ? 0 : i / asked * length);
    C wanted = C(v[i]);
    int64_t from = 0, to = length;
    while (from < to) {
      int64_t middle = (from + to) / 2;
      C here = C(row[middle]);
      if (right ? here <= wanted : here < wanted) from = middle + 1;
      else to = middle;
    }
    r[i] = I(wanted == wanted ? from : length);
  });
}
template <class T, class X>
void SearchSorted(const X& context, const Tensor& sorted, const Tensor& value, bool narrow, bool right, Tensor* out) {
  if (narrow) search<T, int>(context, sorted, value, right, out);
  else search<T, int64_t>(context, sorted, value, right, out);
}
REGISTER_AMENDED(searchsorted, SearchSorted, kNumbers, gives_another_type)

// ---- what is different

template <class T> struct IsFirst {
  const T* x;
  const int* places;
  HOST_DEVICE int64_t operator()(int64_t i) const { return i == 0 || !(x[places[i]] == x[places[i - 1]]); }
};
struct KeepGroups {
  int* group;  // by rank
  int64_t count, *total;
  HOST_DEVICE void operator()(int64_t i, int64_t before, int64_t value) const {
    group[i] = int(before + value - 1);
    if (i == count - 1) total[0] = before + value;
  }
};
// Sorted values, the first place of each, the group of each element, the size of each group.
template <class T, class I>
void unique(const Context& context, const Tensor& x, bool wants_index, bool wants_inverse, bool wants_counts, Tensor* out,
            Tensor* indices, Tensor* inverse, Tensor* counts) {
  int64_t count = x.numel(), found = 0;
  Split s(phi::make_ddim({count}), 0);
  Temporary<int64_t> total(context, 1);
  Temporary<int> groups(context, count);
  auto a = read<T>(x);
  SortedRows<T> sorted(context, "unique", s, a, false);
  auto places = sorted.places;
  auto group = groups.data;
  if (count) {
    scan<int64_t>(context, "unique", s, false, IsFirst<T>{a, places}, KeepGroups{group, count, total.data});
    found = number_on_host(context, total);
  }
  for (auto* result : {out, indices, counts}) result->Resize(phi::make_ddim({found}));
  auto values = write<T>(context, out);
  auto first = wants_index ? write<I>(context, indices) : nullptr;
  auto sizes = wants_counts ? write<I>(context, counts) : nullptr;
  inverse->Resize(phi::make_ddim({count}));
  auto which = wants_inverse ? write<I>(context, inverse) : nullptr;
  launch(context, "unique", count, DEVICE(int64_t i) {
    int g = group[i];
    if (i == 0 || group[i - 1] != g) {
      values[g] = a[places[i]];
      if (first) first[g] = I(places[i]);
      if (sizes) {
        int64_t from = i, to = count;  // the first rank of a later group
        while (from < to) {
          int64_t middle = (from + to) / 2;
          if (group[middle] <= g) from = middle + 1;
          else to = middle;
        }
        sizes[g] = I(from - i);
      }
    }
    if (which) which[places[i]] = I(g);
  });
}
template <class T, class X>
void Unique(const X& context, const Tensor& x, bool wants_index, bool wants_inverse, bool wants_counts, const std::vector<int>& axis,
            phi::DataType type, Tensor* out, Tensor* indices, Tensor* inverse, Tensor* counts) {
  REQUIRE(axis.empty(), "unique along an axis is not supported on %s; of all elements is", device_name());
  if (type == phi::DataType::INT32) unique<T, int>(context, x, wants_index, wants_inverse, wants_counts, out, indices, inverse, counts);
  else unique<T, int64_t>(context, x, wants_index, wants_inverse, wants_counts, out, indices, inverse, counts);
}
inline void gives_other_types(phi::Kernel* kernel) {
  for (int k = 1; k < 4; ++k) kernel->OutputAt(k).SetDataType(phi::DataType::UNDEFINED);
}
REGISTER_AMENDED(unique, Unique, kNumbers, gives_other_types)

// ---- non-maximum suppression; boxes come sorted by score

template <class T> HOST_DEVICE bool overlap(const T* p, const T* q, float threshold) {
  T left = p[0] > q[0] ? p[0] : q[0], top = p[1] > q[1] ? p[1] : q[1];
  T right = p[2] < q[2] ? p[2] : q[2], bottom = p[3] < q[3] ? p[3] : q[3];
  T common = (right > left ? right - left : T(0)) * (bottom > top ? bottom - top : T(0));
  T whole = (p[2] - p[0]) * (p[3] - p[1]) + (q[2] - q[0]) * (q[3] - q[1]) - common;
  return common / whole > threshold;
}
template <class T, class X> void Nms(const X& context, const Tensor& boxes, float threshold, Tensor* out) {
  int64_t count = boxes.dims()[0], words = (count + 63) / 64;
  auto b = read<T>(boxes);
  Temporary<int64_t> kept(context, count), total(context, 1);
  Temporary<uint64_t> masks(context, count * words), struck_out(context, words);
  auto k = kept.data, sum = total.data;
  auto mask = masks.data, struck = struck_out.data;
  // A bit for each later box that a box would strike out, in words of 64.
  launch(context, "nms", count * words, DEVICE(int64_t item) {
    int64_t i = item / words, word = item % words, first = word * 64, last = first + 64 < count ? first + 64 : count;
    uint64_t bits = 0;
    for (int64_t j = first > i ? first : i + 1; j < last; ++j)
      if (overlap(b + 4 * i, b + 4 * j, threshold)) bits |= uint64_t(1) << (j - first);
    mask[item] = bits;
    if (i == 0) struck[word] = 0;
  });
  // One team goes through the boxes, 64 at a time: its first member decides, all members strike out in later words.
  launch_teams(context, "nms", count ? 1 : 0, 2048, DEVICE(int64_t, Team team) {
    int64_t n = 0;
    for (int64_t word = 0; word < words; ++word) {
      uint64_t keeps = 0;
      if (team.rank == 0) {
        uint64_t gone = struck[word];
        for (int64_t j = 0; j < 64 && word * 64 + j < count; ++j) {
          if (gone >> j & 1) continue;
          keeps |= uint64_t(1) << j;
          gone |= mask[(word * 64 + j) * words + word];
          k[n++] = word * 64 + j;
        }
      }
      keeps = team.sum(keeps);
      for (int64_t later = word + 1 + team.rank; later < words; later += team.size) {
        uint64_t gone = struck[later];
        for (int j = 0; j < 64; ++j)
          if (keeps >> j & 1) gone |= mask[(word * 64 + j) * words + later];
        struck[later] = gone;
      }
      team.sum(0);  // the words are written before they are read
    }
    if (team.rank == 0) sum[0] = n;
  });
  int64_t found = count ? number_on_host(context, total) : 0;
  out->Resize(phi::make_ddim({found}));
  auto r = write<int64_t>(context, out);
  launch(context, "nms", found, DEVICE(int64_t i) { r[i] = k[i]; });
}
REGISTER_AMENDED(nms, Nms, kFloats, gives_indices_first)

}  // namespace tablerec
