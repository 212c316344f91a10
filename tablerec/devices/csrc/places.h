// Where indices lead: places in a tensor, and what is read, written and added there.
#pragma once
#include "accumulate.h"
#include "elements.h"
#include "reduce.h"

namespace tablerec {

HOST_DEVICE inline int64_t inside(int64_t k, int64_t size) {
  if (k < 0) k += size;
  return k < 0 ? 0 : (k >= size ? size - 1 : k);
}

// Indices come as int32 or int64.
struct Indices {
  const int* narrow;
  const int64_t* wide;
  explicit Indices(const Tensor& t) : narrow(nullptr), wide(nullptr) {
    REQUIRE(t.dtype() == phi::DataType::INT32 || t.dtype() == phi::DataType::INT64, "indices of type %s are not supported on %s",
            phi::DataTypeToString(t.dtype()), device_name());
    if (t.dtype() == phi::DataType::INT32) narrow = read<int>(t);
    else wide = read<int64_t>(t);
  }
  // The index at `i`, counted from the end where negative; kept inside, since a card does not check.
  HOST_DEVICE int64_t at(int64_t i, int64_t size) const { return inside(narrow ? narrow[i] : wide[i], size); }
};

// Sizes and strides by dimension.
struct Shape {
  int64_t size[kMaxRank] = {}, stride[kMaxRank] = {};
};

// ---- chosen places: each of these gives where, in the whole, its i-th element lies

struct AlongAxis {  // i over outer * count * inner
  Split s;
  Indices indices;
  int64_t count;
  AlongAxis(const Tensor& x, const Tensor& index, int64_t axis) : s(x.dims(), axis), indices(index), count(index.numel()) {}
  HOST_DEVICE int64_t operator()(int64_t i) const {
    int64_t row = i / s.inner, outer = row / count;
    return (outer * s.length + indices.at(row - outer * count, s.length)) * s.inner + (i - row * s.inner);
  }
  int64_t size() const { return s.outer * count * s.inner; }
};

struct ByRows {  // scatter: i over count * inner, along the first axis
  Indices indices;
  int64_t rows, inner;
  HOST_DEVICE int64_t operator()(int64_t i) const { return indices.at(i / inner, rows) * inner + i % inner; }
};

struct ByDepth {  // gather_nd: the last dimension of the index leads to an element or a block of `inner`
  Indices indices;
  Shape shape;
  int64_t depth, inner = 1, count;
  ByDepth(const phi::DDim& dims, const Tensor& index) : indices(index) {
    auto strides = contiguous_strides(dims);
    depth = index.dims()[index.dims().size() - 1];
    for (int k = int(depth); k < dims.size(); ++k) inner *= dims[k];
    for (int k = 0; k < depth; ++k) shape.size[k] = dims[k], shape.stride[k] = strides[k];
    count = inner;
    for (int k = 0; k + 1 < index.dims().size(); ++k) count *= index.dims()[k];
  }
  HOST_DEVICE int64_t operator()(int64_t i) const {
    int64_t row = i / inner, from = i - row * inner;
    for (int64_t k = 0; k < depth; ++k) from += indices.at(row * depth + k, shape.size[k]) * shape.stride[k];
    return from;
  }
};

struct BesideAxis {  // take_along_axis: all but the axis are walked together; the axis is walked by the indices
  Walk<1> others;
  Indices indices;
  int64_t size, step;
  BesideAxis(const phi::DDim& dims, const Tensor& index, int64_t axis) : indices(index) {
    int at = to_axis(axis, dims.size());
    auto strides = contiguous_strides(dims);
    step = strides[at], size = dims[at];
    strides[at] = 0;
    others = walk(index.dims(), strides);
  }
  HOST_DEVICE int64_t operator()(int64_t i) const { return others(i).at[0] + indices.at(i, size) * step; }
};

// out[i] = x[places(i)]
template <class W, class Places>
void take(const Context& context, const char* name, int64_t count, Places places, const W* x, W* out) {
  launch(context, name, count, DEVICE(int64_t i) { out[i] = x[places(i)]; });
}
// sums[places(i)] += values[i]
template <class T, class Places>
void add_at(const Context& context, const char* name, int64_t count, Places places, const T* values, Compute<T>* sums) {
  launch(context, name, count, DEVICE(int64_t i) { add_to(sums + places(i), Compute<T>(values[i])); });
}
// out[places(i)] = values[i]; of two writes to one place the later wins, as on the CPU.
template <class W, class Places>
void put(const Context& context, const char* name, int64_t count, Places places, const W* values, W* out, int64_t size) {
  REQUIRE(count < (int64_t(1) << 31), "%s of %d elements is not supported on %s; fewer than 2^31 are", name, count, device_name());
  if (!count) return;
  Temporary<int> winners(context, size);
  auto winner = winners.data;
  launch(context, name, size, DEVICE(int64_t i) { winner[i] = -1; });
  launch(context, name, count, DEVICE(int64_t i) { keep_largest(winner + places(i), int(i)); });
  launch(context, name, count, DEVICE(int64_t i) {
    int64_t to = places(i);
    if (winner[to] == i) out[to] = values[i];
  });
}
// out[places(i)] = value
template <class W, class Places> void put_one(const Context& context, const char* name, int64_t count, Places places, W value, W* out) {
  launch(context, name, count, DEVICE(int64_t i) { out[places(i)] = value; });
}
template <class W> void copy(const Context& context, const char* name, int64_t count, const W* from, W* to) {
  if (from != to) launch(context, name, count, DEVICE(int64_t i) { to[i] = from[i]; });
}
// The gradient of taking.
template <class T, class Places>
void add_back(const Context& context, const char* name, int64_t count, Places places, const Tensor& dout, Tensor* dx) {
  Sums<T> sums(context, name, dx);
  add_at(context, name, count, places, read<T>(dout), sums.data);
  sums.finish();
}

inline ByRows by_rows(const Tensor& x, const Tensor& index) {
  return {Indices(index), x.dims()[0], x.numel() / std::max<int64_t>(x.dims()[0], 1)};
}

// The value, repeated to the shape of the walk.
template <class W> const W* repeated(const Context& context, const char* name, const phi::DDim& from_dims, const phi::DDim& dims, const W* from,
                                     std::vector<Temporary<W>>& memory) {
  if (phi::product(from_dims) == phi::product(dims)) return from;
  auto at = walk(dims, broadcast_strides(from_dims, dims));
  memory.emplace_back(context, phi::product(dims));
  auto to = memory.back().data;
  launch(context, name, phi::product(dims), DEVICE(int64_t i) { to[i] = from[at(i).at[0]]; });
  return to;
}

// Sums what a value was repeated to.
template <class T> void sum_repeated(const Context& context, const char* name, const T* from, phi::DDim dims, Tensor* to) {
  if (to->numel() == phi::product(dims)) {
    copy(context, name, to->numel(), from, write<T>(context, to));
    return;
  }
  auto shape = to->dims();
  auto kept = shape;
  while (shape.size() > dims.size() && shape[0] == 1) shape = phi::slice_ddim(shape, 1, shape.size());
  to->Resize(shape);
  sum_to_shape<T>(context, name, from, dims, to);
  to->Resize(kept);
}

}  // namespace tablerec
