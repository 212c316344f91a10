// Operators that read or write where indices say: gathering, scattering, sorting, suppression.
#include "register.h"
#include "shapes.h"
#include "paddle/phi/core/tensor_utils.h"

namespace tablerec {

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
  HOST_DEVICE int64_t at(int64_t i, int64_t size) const {
    int64_t k = narrow ? narrow[i] : wide[i];
    if (k < 0) k += size;
    return k < 0 ? 0 : (k >= size ? size - 1 : k);
  }
};

template <class T> HOST_DEVICE void add_to(T* to, T value) {
#ifdef __CUDA_ARCH__
  atomicAdd(to, value);
#else
  *to += value;
#endif
}

// Sizes and strides by dimension.
struct Shape {
  int64_t size[kMaxRank] = {}, stride[kMaxRank] = {};
};

template <class T, class X>
void Gather(const X& context, const Tensor& x, const Tensor& index, const phi::Scalar& axis, Tensor* out) {
  Split s(x.dims(), axis.to<int64_t>());
  Indices indices(index);
  int64_t count = index.numel();
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch(context, "gather", s.outer * count * s.inner, DEVICE(int64_t i) {
    int64_t from = indices.at(i / s.inner % count, s.length), outer = i / (count * s.inner);
    r[i] = a[(outer * s.length + from) * s.inner + i % s.inner];
  });
}
template <class T, class X>
void GatherGrad(const X& context, const Tensor& x, const Tensor& index, const Tensor& dout, const phi::Scalar& axis, Tensor* dx) {
  Split s(x.dims(), axis.to<int64_t>());
  Indices indices(index);
  int64_t count = index.numel();
  auto g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch(context, "gather_grad", x.numel(), DEVICE(int64_t i) { r[i] = 0; });
  launch(context, "gather_grad", s.outer * count * s.inner, DEVICE(int64_t i) {
    int64_t to = indices.at(i / s.inner % count, s.length), outer = i / (count * s.inner);
    add_to(r + (outer * s.length + to) * s.inner + i % s.inner, g[i]);
  });
}
REGISTER(gather, Gather, kAll)
REGISTER(gather_grad, GatherGrad, kFloats)

template <class T, class X> void GatherNd(const X& context, const Tensor& x, const Tensor& index, Tensor* out) {
  auto strides = contiguous_strides(x.dims());
  int64_t depth = index.dims()[index.dims().size() - 1], inner = 1;
  for (int k = int(depth); k < x.dims().size(); ++k) inner *= x.dims()[k];
  Shape shape;
  for (int k = 0; k < depth; ++k) shape.size[k] = x.dims()[k], shape.stride[k] = strides[k];
  Indices indices(index);
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch(context, "gather_nd", out->numel(), DEVICE(int64_t i) {
    int64_t from = i % inner;
    for (int64_t k = 0; k < depth; ++k) from += indices.at(i / inner * depth + k, shape.size[k]) * shape.stride[k];
    r[i] = a[from];
  });
}
REGISTER(gather_nd, GatherNd, kAll)

template <class T, class X>
void TakeAlongAxis(const X& context, const Tensor& x, const Tensor& index, int axis, Tensor* out) {
  int at = to_axis(axis, x.dims().size());
  // All but the axis are walked together; the axis is walked by the indices.
  auto strides = contiguous_strides(x.dims()), along = std::vector<int64_t>(x.dims().size(), 0);
  int64_t step = strides[at], size = x.dims()[at];
  strides[at] = 0;
  auto to = walk(index.dims(), strides, along);
  Indices indices(index);
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch(context, "take_along_axis", index.numel(), DEVICE(int64_t i) { r[i] = a[to(i).at[0] + indices.at(i, size) * step]; });
}
REGISTER(take_along_axis, TakeAlongAxis, kNumbers)

template <class T, class X>
void Scatter(const X& context, const Tensor& x, const Tensor& index, const Tensor& updates, bool overwrite, Tensor* out) {
  auto a = read<T>(x), u = read<T>(updates);
  auto r = write<T>(context, out);
  Indices indices(index);
  int64_t rows = x.dims()[0], inner = x.numel() / std::max<int64_t>(rows, 1), count = index.numel();
  if (a != r) launch(context, "scatter", x.numel(), DEVICE(int64_t i) { r[i] = a[i]; });
  // A thread for each column, in the order of the indices: of two writes to one row the later wins, as on the CPU.
  launch(context, "scatter", inner, DEVICE(int64_t column) {
    if (!overwrite)
      for (int64_t k = 0; k < count; ++k) r[indices.at(k, rows) * inner + column] = 0;
    for (int64_t k = 0; k < count; ++k) {
      int64_t to = indices.at(k, rows) * inner + column;
      r[to] = overwrite ? u[k * inner + column] : T(r[to] + u[k * inner + column]);
    }
  });
}
REGISTER(scatter, Scatter, kNumbers)

// Indexing by tensors: x[i0, i1, ...]. Paddle gives `input_dims` and `input_strides` (in elements) for the walk over
// the result, with stride 0 where an index leads; `index_dims` as the sizes of the indexed dimensions and then, after
// a -1 each, the shape of every index against the result; `index_strides` and the offset in bytes.
constexpr int kMostIndices = 6;
struct IndexedBy {
  const int64_t* index[kMostIndices];
  int64_t size[kMostIndices], stride[kMostIndices];
};
template <class T, class X>
void IndexElementwiseGet(const X& context, const Tensor& x, const Tensors& index, const std::vector<int64_t>& input_dims,
                         const std::vector<int64_t>& input_strides, const std::vector<int64_t>& index_dims,
                         const std::vector<int64_t>& index_strides, int64_t slice_offset, bool, bool, Tensor* out) {
  int count = int(index.size()), rank = int(input_dims.size());
  REQUIRE(count <= kMostIndices, "an index by %d tensors; at most %d are supported on %s", count, kMostIndices, device_name());
  IndexedBy by{};
  for (int k = 0; k < count; ++k) {
    REQUIRE(index[k]->dtype() == phi::DataType::INT64 && index[k]->dims() == index[0]->dims(),
            "an index of type %s, or indices of different shapes, are not supported on %s",
            phi::DataTypeToString(index[k]->dtype()), device_name());
    by.index[k] = read<int64_t>(*index[k]), by.size[k] = index_dims[k], by.stride[k] = index_strides[k];
  }
  std::vector<int64_t> shape(index_dims.begin() + count + 1, index_dims.end());
  shape.resize(std::find(shape.begin(), shape.end(), -1) - shape.begin());
  auto dims = phi::make_ddim(input_dims);
  REQUIRE(int(shape.size()) <= rank && phi::product(dims) == out->numel(), "index_elementwise_get: an index of unforeseen shape");
  auto at = walk(dims, input_strides, broadcast_strides(phi::make_ddim(shape), dims));
  auto a = reinterpret_cast<const char*>(read<T>(x)) + slice_offset;
  auto r = write<T>(context, out);
  launch(context, "index_elementwise_get", out->numel(), DEVICE(int64_t i) {
    auto o = at(i);
    int64_t from = o.at[0] * int64_t(sizeof(T));
    for (int k = 0; k < count; ++k) {
      int64_t v = by.index[k][o.at[1]];
      from += (v < 0 ? v + by.size[k] : v) * by.stride[k];
    }
    r[i] = *reinterpret_cast<const T*>(a + from);
  });
}
REGISTER(index_elementwise_get, IndexElementwiseGet, kAll)

// Waits for the device.
inline int64_t number_on_host(const Context& context, const Temporary<int64_t>& number) {
  Tensor on_host;
  phi::Copy(context, number.tensor, phi::CPUPlace(), true, &on_host);
  return on_host.data<int64_t>()[0];
}

// The places of what is not zero, in order. The count decides the output's shape, so the host must wait for it.
template <class T, class X> void NonZero(const X& context, const Tensor& x, Tensor* out) {
  int64_t count = x.numel(), rank = x.dims().size();
  Temporary<int64_t> ranks(context, count), total(context, 1);
  auto a = read<T>(x);
  auto places = ranks.data, sum = total.data;
  launch(context, "nonzero", 1, DEVICE(int64_t) {
    int64_t seen = 0;
    for (int64_t i = 0; i < count; ++i) {
      places[i] = seen;
      seen += a[i] != T(0);
    }
    sum[0] = seen;
  });
  int64_t found = number_on_host(context, total);
  out->Resize(phi::make_ddim({found, rank}));
  auto r = write<int64_t>(context, out);
  auto at = contiguous_strides(x.dims());
  Shape shape;
  for (int k = 0; k < rank; ++k) shape.size[k] = x.dims()[k], shape.stride[k] = at[k];
  launch(context, "nonzero", found ? count : 0, DEVICE(int64_t i) {
    if (a[i] == T(0)) return;
    for (int64_t k = 0; k < rank; ++k) r[places[i] * rank + k] = i / shape.stride[k] % shape.size[k];
  });
}
REGISTER_AMENDED(nonzero, NonZero, kAll, gives_indices_first)

// Ranks by counting: the place of an element is the number of those before it. O(length^2), any order of threads.
template <class T, class X>
void ArgSort(const X& context, const Tensor& x, int axis, bool descending, bool, Tensor* out, Tensor* indices) {
  Split s(x.dims(), axis);
  auto a = read<T>(x);
  auto values = write<T>(context, out);
  auto places = write<int64_t>(context, indices);
  launch_teams(context, "argsort", x.numel(), s.length, DEVICE(int64_t item, Team team) {
    int64_t start = item / (s.length * s.inner) * s.length * s.inner + item % s.inner, j = item / s.inner % s.length, before = 0;
    T v = a[item];
    for (int64_t k = team.rank; k < s.length; k += team.size) {
      T w = a[start + k * s.inner];
      before += (descending ? w > v : w < v) || (w == v && k < j);
    }
    before = team.sum(before);
    if (team.rank == 0) {
      values[start + before * s.inner] = v;
      places[start + before * s.inner] = j;
    }
  });
}
REGISTER_AMENDED(argsort, ArgSort, kNumbers, gives_indices_second)

// ---- writing a slice

struct Slice {
  std::vector<int64_t> dims, strides;
  int64_t offset = 0;
  std::vector<int64_t> value_dims;  // without the dimensions that an integer index removed, with those that None added
};
inline Slice slice_of(const char* name, const phi::DDim& dims, const phi::IntArray& starts, const phi::IntArray& ends,
                      const phi::IntArray& steps, const std::vector<int64_t>& axes, const std::vector<int64_t>& removed,
                      const std::vector<int64_t>& added) {
  REQUIRE(added.empty(), "%s with None in its index is not supported on %s", name, device_name());
  Slice s;
  s.dims = phi::vectorize(dims);
  s.strides = contiguous_strides(dims);
  for (size_t k = 0; k < axes.size(); ++k) {
    int64_t axis = axes[k], size = dims[axis], step = steps[k], from = starts[k], to = ends[k];
    if (from < 0) from += size;
    if (to < 0 && !(step < 0 && to == -1)) to += size;
    if (step > 0) from = std::min(std::max<int64_t>(from, 0), size), to = std::min(std::max<int64_t>(to, 0), size);
    else from = std::min(from, size - 1), to = std::max<int64_t>(to, -1);
    int64_t count = step > 0 ? (to - from + step - 1) / step : (from - to - step - 1) / -step;
    s.dims[axis] = std::max<int64_t>(count, 0);
    s.offset += from * s.strides[axis];
    s.strides[axis] *= step;
  }
  for (size_t k = 0; k < s.dims.size(); ++k)
    if (std::find(removed.begin(), removed.end(), int64_t(k)) == removed.end()) s.value_dims.push_back(s.dims[k]);
  return s;
}
// Broadcast strides of the value over the slice; removed dimensions have size one and need none.
inline std::vector<int64_t> value_strides(const Slice& s, const phi::DDim& value, const std::vector<int64_t>& removed) {
  auto kept = broadcast_strides(value, phi::make_ddim(s.value_dims));
  std::vector<int64_t> strides;
  size_t next = 0;
  for (size_t k = 0; k < s.dims.size(); ++k)
    strides.push_back(std::find(removed.begin(), removed.end(), int64_t(k)) == removed.end() ? kept[next++] : 0);
  return strides;
}
template <class T>
void set_slice(const Context& context, const char* name, const Tensor& x, const Tensor& value, const phi::IntArray& starts,
               const phi::IntArray& ends, const phi::IntArray& steps, const std::vector<int64_t>& axes,
               const std::vector<int64_t>& removed, const std::vector<int64_t>& added, Tensor* out) {
  auto s = slice_of(name, x.dims(), starts, ends, steps, axes, removed, added);
  auto a = read<T>(x), v = read<T>(value);
  auto r = write<T>(context, out);
  if (a != r) launch(context, name, x.numel(), DEVICE(int64_t i) { r[i] = a[i]; });
  auto dims = phi::make_ddim(s.dims);
  auto value_dims = value.dims();
  while (value_dims.size() > int(s.value_dims.size())) {  // leading ones say nothing
    REQUIRE(value_dims[0] == 1, "%s: a value of %d dimensions for a slice of %d", name, value_dims.size(), int(s.value_dims.size()));
    value_dims = phi::slice_ddim(value_dims, 1, value_dims.size());
  }
  auto at = walk(dims, s.strides, value_strides(s, value_dims, removed));
  int64_t offset = s.offset;
  launch(context, name, phi::product(dims), DEVICE(int64_t i) {
    auto o = at(i);
    r[offset + o.at[0]] = v[o.at[1]];
  });
}
template <class T, class X>
void SetTensorValue(const X& context, const Tensor& x, const Tensor& value, const phi::IntArray& starts, const phi::IntArray& ends,
                    const phi::IntArray& steps, const std::vector<int64_t>& axes, const std::vector<int64_t>& removed,
                    const std::vector<int64_t>& added, Tensor* out) {
  set_slice<T>(context, "set_value_with_tensor", x, value, starts, ends, steps, axes, removed, added, out);
}
template <class T, class X>
void SetValue(const X& context, const Tensor& x, const phi::IntArray& starts, const phi::IntArray& ends, const phi::IntArray& steps,
              const std::vector<int64_t>& axes, const std::vector<int64_t>& removed, const std::vector<int64_t>& added,
              const std::vector<int64_t>& shape, const std::vector<phi::Scalar>& values, Tensor* out) {
  Temporary<T> value(context, phi::make_ddim(shape));
  auto v = value.data;
  for (size_t k = 0; k < values.size(); ++k) {
    T number = values[k].to<T>();
    launch(context, "set_value", 1, DEVICE(int64_t) { v[k] = number; });
  }
  set_slice<T>(context, "set_value", x, value.tensor, starts, ends, steps, axes, removed, added, out);
}
REGISTER(set_value, SetValue, kAll)
REGISTER(set_value_with_tensor, SetTensorValue, kAll)

// ---- non-maximum suppression; boxes come sorted by score

template <class T, class X> void Nms(const X& context, const Tensor& boxes, float threshold, Tensor* out) {
  int64_t count = boxes.dims()[0];
  auto b = read<T>(boxes);
  Temporary<int64_t> kept(context, count), total(context, 1);
  auto k = kept.data, sum = total.data;
  // Each box that is kept strikes out the later ones that overlap it: a launch for each box.
  Temporary<bool> struck_out(context, count);
  auto out_flags = struck_out.data;
  launch(context, "nms", count, DEVICE(int64_t i) { out_flags[i] = false; });
  for (int64_t i = 0; i < count; ++i)
    launch(context, "nms", count - i - 1, DEVICE(int64_t rest) {
      int64_t j = i + 1 + rest;
      if (out_flags[i] || out_flags[j]) return;
      const T *p = b + 4 * i, *q = b + 4 * j;
      T left = p[0] > q[0] ? p[0] : q[0], top = p[1] > q[1] ? p[1] : q[1];
      T right = p[2] < q[2] ? p[2] : q[2], bottom = p[3] < q[3] ? p[3] : q[3];
      T common = (right > left ? right - left : T(0)) * (bottom > top ? bottom - top : T(0));
      T whole = (p[2] - p[0]) * (p[3] - p[1]) + (q[2] - q[0]) * (q[3] - q[1]) - common;
      if (common / whole > threshold) out_flags[j] = true;
    });
  launch(context, "nms", 1, DEVICE(int64_t) {
    int64_t n = 0;
    for (int64_t i = 0; i < count; ++i)
      if (!out_flags[i]) k[n++] = i;
    sum[0] = n;
  });
  int64_t found = number_on_host(context, total);
  out->Resize(phi::make_ddim({found}));
  auto r = write<int64_t>(context, out);
  launch(context, "nms", found, DEVICE(int64_t i) { r[i] = k[i]; });
}
REGISTER_AMENDED(nms, Nms, kFloats, gives_indices_first)

}  // namespace tablerec
