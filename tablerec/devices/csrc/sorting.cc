// Sorting and selecting.
#include <numeric>

#include "register.h"
#include "sorting.h"
#ifdef TABLEREC_CUDA
#include <cub/device/device_radix_sort.cuh>
#endif

namespace tablerec {

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
template int* sort_pairs(const Context&, const char*, Pairs<uint32_t>&, int64_t, int);
template int* sort_pairs(const Context&, const char*, Pairs<uint64_t>&, int64_t, int);

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

}  // namespace tablerec
