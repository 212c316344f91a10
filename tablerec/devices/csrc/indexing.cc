// Operators that read or write where indices say: gathering, scattering, masks, slices.
#include "accumulate.h"
#include "elements.h"
#include "host.h"
#include "reduce.h"
#include "register.h"
#include "scan.h"

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

template <class T, class X>
void Gather(const X& context, const Tensor& x, const Tensor& index, const phi::Scalar& axis, Tensor* out) {
  AlongAxis places(x, index, axis.to<int64_t>());
  take(context, "gather", places.size(), places, bits(read<T>(x)), bits(write<T>(context, out)));
}
template <class T, class X>
void GatherGrad(const X& context, const Tensor& x, const Tensor& index, const Tensor& dout, const phi::Scalar& axis, Tensor* dx) {
  AlongAxis places(x, index, axis.to<int64_t>());
  add_back<T>(context, "gather_grad", places.size(), places, dout, dx);
}
template <class T, class X> void IndexSelect(const X& context, const Tensor& x, const Tensor& index, int axis, Tensor* out) {
  AlongAxis places(x, index, axis);
  take(context, "index_select", places.size(), places, bits(read<T>(x)), bits(write<T>(context, out)));
}
template <class T, class X>
void IndexSelectGrad(const X& context, const Tensor& x, const Tensor& index, const Tensor& dout, int axis, Tensor* dx) {
  AlongAxis places(x, index, axis);
  add_back<T>(context, "index_select_grad", places.size(), places, dout, dx);
}
template <class T, class X>
void IndexAdd(const X& context, const Tensor& x, const Tensor& index, const Tensor& value, int axis, Tensor* out) {
  AlongAxis places(x, index, axis);
  Sums<T> sums(context, "index_add", out, read<T>(x));
  add_at(context, "index_add", places.size(), places, read<T>(value), sums.data);
  sums.finish();
}
template <class T, class X>
void IndexAddGrad(const X& context, const Tensor& index, const Tensor& value, const Tensor& dout, int axis, Tensor* dx, Tensor* dvalue) {
  AlongAxis places(dout, index, axis);
  auto g = bits(read<T>(dout));
  if (dvalue) take(context, "index_add_grad", places.size(), places, g, bits(write<T>(context, dvalue)));
  if (dx) copy(context, "index_add_grad", dout.numel(), g, bits(write<T>(context, dx)));
}
REGISTER(gather, Gather, kAll + kHalves)
REGISTER(gather_grad, GatherGrad, kFloats + kHalves)
REGISTER(index_select, IndexSelect, kNumbers + kBool + kHalves)
REGISTER(index_select_grad, IndexSelectGrad, kFloats + kHalves)
REGISTER(index_add, IndexAdd, kNumbers + kHalves)
REGISTER(index_add_grad, IndexAddGrad, kFloats + kHalves)

// ---- rows of a table

inline ByRows by_rows(const Tensor& x, const Tensor& index) {
  return {Indices(index), x.dims()[0], x.numel() / std::max<int64_t>(x.dims()[0], 1)};
}
// The padding's row gives zeros and has no gradient; -1 is no padding.
template <class T, class X> void Embedding(const X& context, const Tensor& ids, const Tensor& weight, int64_t padding, Tensor* out) {
  auto places = by_rows(weight, ids);
  auto w = bits(read<T>(weight));
  auto r = bits(write<T>(context, out));
  launch(context, "embedding", ids.numel() * places.inner, DEVICE(int64_t i) {
    r[i] = padding >= 0 && places.indices.at(i / places.inner, places.rows) == padding ? 0 : w[places(i)];
  });
}
template <class T, class X>
void EmbeddingGrad(const X& context, const Tensor& ids, const Tensor& weight, const Tensor& dout, int64_t padding, Tensor* dweight) {
  auto places = by_rows(weight, ids);
  auto g = read<T>(dout);
  Sums<T> sums(context, "embedding_grad", dweight);
  auto to = sums.data;
  launch(context, "embedding_grad", ids.numel() * places.inner, DEVICE(int64_t i) {
    if (padding < 0 || places.indices.at(i / places.inner, places.rows) != padding) add_to(to + places(i), Compute<T>(g[i]));
  });
  sums.finish();
}
REGISTER(embedding, Embedding, kFloats + kHalves)
REGISTER(embedding_grad, EmbeddingGrad, kFloats + kHalves)

// Each slice along an axis as often as its number says.
struct RepeatCounts {
  Indices counts;
  HOST_DEVICE int64_t operator()(int64_t j) const { return counts.narrow ? counts.narrow[j] : counts.wide[j]; }
};
struct EndOfRepeats {
  int64_t* ends;
  HOST_DEVICE void operator()(int64_t j, int64_t before, int64_t count) const { ends[j] = before + count; }
};
// Where a place of the repeated tensor lies in the one that is repeated.
struct Repeated {
  Split s;
  const int64_t* ends;
  int64_t total;
  HOST_DEVICE int64_t operator()(int64_t i) const {
    int64_t row = i / s.inner, outer = row / total, k = row - outer * total, low = 0, high = s.length - 1;
    while (low < high) {
      int64_t middle = (low + high) / 2;
      if (ends[middle] > k) high = middle;
      else low = middle + 1;
    }
    return (outer * s.length + low) * s.inner + (i - row * s.inner);
  }
  int64_t size() const { return s.outer * total * s.inner; }
};
inline void ends_of_repeats(const Context& context, const char* name, const Tensor& repeats, int64_t length, int64_t* ends) {
  REQUIRE(repeats.numel() == length, "%s: %d numbers for %d slices", name, int(repeats.numel()), int(length));
  scan<int64_t>(context, name, Split(phi::make_ddim({length}), 0), false, RepeatCounts{Indices(repeats)}, EndOfRepeats{ends});
}
template <class T, class X>
void RepeatInterleave(const X& context, const Tensor& x, const Tensor& repeats, int axis, int64_t output_size, Tensor* out) {
  const char* name = "repeat_interleave_with_tensor_index";
  Split s(x.dims(), axis);
  Temporary<int64_t> ends(context, s.length);
  ends_of_repeats(context, name, repeats, s.length, ends.data);
  if (output_size < 0 && s.length) {  // the last of the ends, which the host must know
    Temporary<int64_t> last(context, 1);
    auto from = ends.data;
    auto to = last.data;
    int64_t at = s.length - 1;
    launch(context, name, 1, DEVICE(int64_t) { to[0] = from[at]; });
    output_size = number_on_host(context, last);
  }
  auto dims = x.dims();
  dims[to_axis(axis, dims.size())] = output_size = std::max<int64_t>(output_size, 0);
  out->Resize(dims);
  Repeated places{s, ends.data, output_size};
  take(context, name, places.size(), places, bits(read<T>(x)), bits(write<T>(context, out)));
}
template <class T, class X>
void RepeatInterleaveGrad(const X& context, const Tensor& x, const Tensor& repeats, const Tensor& dout, int axis, int64_t, Tensor* dx) {
  const char* name = "repeat_interleave_with_tensor_index_grad";
  Split s(x.dims(), axis);
  Temporary<int64_t> ends(context, s.length);
  ends_of_repeats(context, name, repeats, s.length, ends.data);
  Repeated places{s, ends.data, dout.dims()[to_axis(axis, x.dims().size())]};
  add_back<T>(context, name, places.size(), places, dout, dx);
}
REGISTER(repeat_interleave_with_tensor_index, RepeatInterleave, kNumbers + kHalves)
REGISTER(repeat_interleave_with_tensor_index_grad, RepeatInterleaveGrad, kFloats + kHalves)

// ---- by rows of indices

template <class T, class X> void GatherNd(const X& context, const Tensor& x, const Tensor& index, Tensor* out) {
  ByDepth places(x.dims(), index);
  take(context, "gather_nd", out->numel(), places, bits(read<T>(x)), bits(write<T>(context, out)));
}
template <class T, class X> void GatherNdGrad(const X& context, const Tensor& x, const Tensor& index, const Tensor& dout, Tensor* dx) {
  add_back<T>(context, "gather_nd_grad", dout.numel(), ByDepth(x.dims(), index), dout, dx);
}
template <class T, class X>
void ScatterNdAdd(const X& context, const Tensor& x, const Tensor& index, const Tensor& updates, Tensor* out) {
  Sums<T> sums(context, "scatter_nd_add", out, read<T>(x));
  add_at(context, "scatter_nd_add", updates.numel(), ByDepth(x.dims(), index), read<T>(updates), sums.data);
  sums.finish();
}
template <class T, class X>
void ScatterNdAddGrad(const X& context, const Tensor& index, const Tensor& updates, const Tensor& dout, Tensor* dx, Tensor* dupdates) {
  auto g = bits(read<T>(dout));
  if (dupdates)
    take(context, "scatter_nd_add_grad", updates.numel(), ByDepth(dout.dims(), index), g, bits(write<T>(context, dupdates)));
  if (dx) copy(context, "scatter_nd_add_grad", dout.numel(), g, bits(write<T>(context, dx)));
}
REGISTER(gather_nd, GatherNd, kAll + kHalves)
REGISTER(gather_nd_grad, GatherNdGrad, kFloats + kHalves)
REGISTER(scatter_nd_add, ScatterNdAdd, kNumbers + kHalves)
REGISTER(scatter_nd_add_grad, ScatterNdAddGrad, kFloats + kHalves)

// Adding begins with zeros in the rows that are named, as on the CPU.
template <class T, class X>
void Scatter(const X& context, const Tensor& x, const Tensor& index, const Tensor& updates, bool overwrite, Tensor* out) {
  auto places = by_rows(x, index);
  int64_t count = index.numel() * places.inner;
  if (overwrite) {
    auto r = bits(write<T>(context, out));
    copy(context, "scatter", x.numel(), bits(read<T>(x)), r);
    put(context, "scatter", count, places, bits(read<T>(updates)), r, x.numel());
    return;
  }
  Sums<T> sums(context, "scatter", out, read<T>(x));
  put_one(context, "scatter", count, places, Compute<T>(0), sums.data);
  add_at(context, "scatter", count, places, read<T>(updates), sums.data);
  sums.finish();
}
template <class T, class X>
void ScatterGrad(const X& context, const Tensor& index, const Tensor& updates, const Tensor& dout, bool, Tensor* dx, Tensor* dupdates) {
  auto places = by_rows(dout, index);
  int64_t count = index.numel() * places.inner;
  auto g = bits(read<T>(dout));
  if (dupdates) take(context, "scatter_grad", count, places, g, bits(write<T>(context, dupdates)));
  if (!dx) return;
  auto r = bits(write<T>(context, dx));
  copy(context, "scatter_grad", dout.numel(), g, r);
  put_one(context, "scatter_grad", count, places, Bits<T>(0), r);
}
REGISTER(scatter, Scatter, kNumbers + kHalves)
REGISTER(scatter_grad, ScatterGrad, kFloats + kHalves)

// ---- beside an axis

template <class T, class X>
void TakeAlongAxis(const X& context, const Tensor& x, const Tensor& index, int axis, Tensor* out) {
  BesideAxis places(x.dims(), index, axis);
  take(context, "take_along_axis", index.numel(), places, bits(read<T>(x)), bits(write<T>(context, out)));
}
template <class T, class X>
void TakeAlongAxisGrad(const X& context, const Tensor& x, const Tensor& index, const Tensor& dout, int axis, Tensor* dx) {
  add_back<T>(context, "take_along_axis_grad", index.numel(), BesideAxis(x.dims(), index, axis), dout, dx);
}
// The value may be larger than the index: it is read where the index lies.
template <class W> const W* values_at(const Context& context, const char* name, const phi::DDim& dims, const phi::DDim& index, const W* from,
                                      std::vector<Temporary<W>>& memory) {
  if (dims == index) return from;
  auto at = walk(index, contiguous_strides(dims));
  memory.emplace_back(context, phi::product(index));
  auto to = memory.back().data;
  launch(context, name, phi::product(index), DEVICE(int64_t i) { to[i] = from[at(i).at[0]]; });
  return to;
}
inline void require_put(const char* name, const std::string& how, bool include_self) {
  REQUIRE(how == "assign" || (how == "add" && include_self), "%s with reduce %s, include_self %d is not supported on %s; assign and add are",
          name, how, include_self, device_name());
}
template <class T, class X>
void PutAlongAxis(const X& context, const Tensor& x, const Tensor& index, const Tensor& value, int axis, const std::string& how,
                  bool include_self, Tensor* out) {
  require_put("put_along_axis", how, include_self);
  BesideAxis places(x.dims(), index, axis);
  if (how == "assign") {
    std::vector<Temporary<Bits<T>>> memory;
    auto v = values_at(context, "put_along_axis", value.dims(), index.dims(), bits(read<T>(value)), memory);
    auto r = bits(write<T>(context, out));
    copy(context, "put_along_axis", x.numel(), bits(read<T>(x)), r);
    put(context, "put_along_axis", index.numel(), places, v, r, x.numel());
    return;
  }
  std::vector<Temporary<T>> memory;
  auto v = values_at(context, "put_along_axis", value.dims(), index.dims(), read<T>(value), memory);
  Sums<T> sums(context, "put_along_axis", out, read<T>(x));
  add_at(context, "put_along_axis", index.numel(), places, v, sums.data);
  sums.finish();
}
template <class T, class X>
void PutAlongAxisGrad(const X& context, const Tensor& x, const Tensor& index, const Tensor& value, const Tensor&, const Tensor& dout,
                      int axis, const std::string& how, bool include_self, Tensor* dx, Tensor* dvalue) {
  require_put("put_along_axis_grad", how, include_self);
  REQUIRE(!dvalue || value.dims() == index.dims(), "put_along_axis_grad of a value of another shape than the index is not supported on %s",
          device_name());
  BesideAxis places(x.dims(), index, axis);
  auto g = bits(read<T>(dout));
  if (dvalue) {
    dvalue->Resize(index.dims());
    take(context, "put_along_axis_grad", index.numel(), places, g, bits(write<T>(context, dvalue)));
  }
  if (!dx) return;
  auto r = bits(write<T>(context, dx));
  copy(context, "put_along_axis_grad", dout.numel(), g, r);
  if (how == "assign") put_one(context, "put_along_axis_grad", index.numel(), places, Bits<T>(0), r);
}
REGISTER(take_along_axis, TakeAlongAxis, kNumbers + kHalves)
REGISTER(take_along_axis_grad, TakeAlongAxisGrad, kFloats + kHalves)
REGISTER(put_along_axis, PutAlongAxis, kNumbers + kHalves)
REGISTER(put_along_axis_grad, PutAlongAxisGrad, kFloats + kHalves)

template <class T, class X> void IndexSample(const X& context, const Tensor& x, const Tensor& index, Tensor* out) {
  take(context, "index_sample", index.numel(), BesideAxis(x.dims(), index, 1), bits(read<T>(x)), bits(write<T>(context, out)));
}
template <class T, class X> void IndexSampleGrad(const X& context, const Tensor& x, const Tensor& index, const Tensor& dout, Tensor* dx) {
  add_back<T>(context, "index_sample_grad", index.numel(), BesideAxis(x.dims(), index, 1), dout, dx);
}
REGISTER(index_sample, IndexSample, kNumbers + kHalves)
REGISTER(index_sample_grad, IndexSampleGrad, kFloats + kHalves)

// ---- indexing by tensors: x[i0, i1, ...]

constexpr int kMostIndices = 6;
struct ByTensors {
  Walk<2> at;  // where an element lies but for the indices, and where in the indices it is led
  const int64_t* index[kMostIndices];
  int64_t size[kMostIndices], stride[kMostIndices], count, offset;
  HOST_DEVICE int64_t operator()(int64_t i) const {
    auto o = at(i);
    int64_t from = offset + o.at[0];
    for (int k = 0; k < count; ++k) from += inside(index[k][o.at[1]], size[k]) * stride[k];
    return from;
  }
};

// Paddle gives `input_dims` and `input_strides` (in elements) for the walk over the result, with stride 0 where an index
// leads; `index_dims` as the sizes of the indexed dimensions and then, after a -1 each, the shape of every index against
// the result; `index_strides` and the offset in bytes.
inline ByTensors by_tensors(const char* name, const Tensors& index, const std::vector<int64_t>& input_dims,
                            const std::vector<int64_t>& input_strides, const std::vector<int64_t>& index_dims,
                            const std::vector<int64_t>& index_strides, int64_t slice_offset, int64_t bytes) {
  int count = int(index.size()), rank = int(input_dims.size());
  REQUIRE(count <= kMostIndices, "%s by %d tensors; at most %d are supported on %s", name, count, kMostIndices, device_name());
  ByTensors by{};
  by.count = count, by.offset = slice_offset / bytes;
  for (int k = 0; k < count; ++k) {
    REQUIRE(index[k]->dtype() == phi::DataType::INT64 && index[k]->dims() == index[0]->dims(),
            "%s: an index of type %s, or indices of different shapes, are not supported on %s", name,
            phi::DataTypeToString(index[k]->dtype()), device_name());
    by.index[k] = read<int64_t>(*index[k]), by.size[k] = index_dims[k], by.stride[k] = index_strides[k] / bytes;
  }
  std::vector<int64_t> shape(index_dims.begin() + count + 1, index_dims.end());
  shape.resize(std::find(shape.begin(), shape.end(), -1) - shape.begin());
  auto dims = phi::make_ddim(input_dims);
  REQUIRE(int(shape.size()) <= rank, "%s: an index of unforeseen shape", name);
  by.at = walk(dims, input_strides, broadcast_strides(phi::make_ddim(shape), dims));
  return by;
}
#define BY_TENSORS(name)                                                                                                   \
  by_tensors(name, index, input_dims, input_strides, index_dims, index_strides, slice_offset, int64_t(sizeof(T)))
#define WALK_BY_TENSORS                                                                                               \
  const std::vector<int64_t>&input_dims, const std::vector<int64_t>&input_strides, const std::vector<int64_t>&index_dims, \
      const std::vector<int64_t>&index_strides, int64_t slice_offset

template <class T, class X>
void IndexElementwiseGet(const X& context, const Tensor& x, const Tensors& index, WALK_BY_TENSORS, bool, bool, Tensor* out) {
  take(context, "index_elementwise_get", out->numel(), BY_TENSORS("index_elementwise_get"), bits(read<T>(x)), bits(write<T>(context, out)));
}
template <class T, class X>
void IndexElementwiseGetGrad(const X& context, const Tensor& x, const Tensors& index, const Tensor& dout, WALK_BY_TENSORS, bool, bool,
                             Tensor* dx) {
  dx->Resize(x.dims());
  add_back<T>(context, "index_elementwise_get_grad", dout.numel(), BY_TENSORS("index_elementwise_get_grad"), dout, dx);
}
template <class T, class X>
void IndexElementwisePut(const X& context, const Tensor& x, const Tensors& index, const phi::Scalar& value, WALK_BY_TENSORS, Tensor* out) {
  auto places = BY_TENSORS("index_elementwise_put");
  auto a = bits(read<T>(x));
  auto r = bits(write<T>(context, out));
  copy(context, "index_elementwise_put", x.numel(), a, r);
  put_one(context, "index_elementwise_put", places.at.count(), places, bits_of(value.to<T>()), r);
}
template <class T, class X>
void IndexElementwisePutGrad(const X& context, const Tensor& x, const Tensors& index, const Tensor& dout, WALK_BY_TENSORS, Tensor* dx) {
  auto places = BY_TENSORS("index_elementwise_put_grad");
  auto g = bits(read<T>(dout));
  auto r = bits(write<T>(context, dx));
  copy(context, "index_elementwise_put_grad", dout.numel(), g, r);
  put_one(context, "index_elementwise_put_grad", places.at.count(), places, Bits<T>(0), r);
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
template <class T, class X>
void IndexElementwisePutWithTensor(const X& context, const Tensor& x, const Tensors& index, const Tensor& value, WALK_BY_TENSORS,
                                   Tensor* out) {
  const char* name = "index_elementwise_put_with_tensor";
  auto places = BY_TENSORS(name);
  std::vector<Temporary<Bits<T>>> memory;
  auto v = repeated(context, name, value.dims(), phi::make_ddim(input_dims), bits(read<T>(value)), memory);
  auto a = bits(read<T>(x));
  auto r = bits(write<T>(context, out));
  copy(context, name, x.numel(), a, r);
  put(context, name, places.at.count(), places, v, r, x.numel());
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
template <class T, class X>
void IndexElementwisePutWithTensorGrad(const X& context, const Tensor& x, const Tensors& index, const Tensor& value, const Tensor& dout,
                                       WALK_BY_TENSORS, Tensor* dx, Tensor* dvalue) {
  const char* name = "index_elementwise_put_with_tensor_grad";
  auto places = BY_TENSORS(name);
  auto g = bits(read<T>(dout));
  if (dvalue) {
    Temporary<T> all(context, places.at.count());
    take(context, name, places.at.count(), places, g, reinterpret_cast<Bits<T>*>(all.data));
    sum_repeated<T>(context, name, all.data, phi::make_ddim(input_dims), dvalue);
  }
  if (!dx) return;
  auto r = bits(write<T>(context, dx));
  copy(context, name, dout.numel(), g, r);
  put_one(context, name, places.at.count(), places, Bits<T>(0), r);
}
REGISTER(index_elementwise_get, IndexElementwiseGet, kAll + kHalves)
REGISTER(index_elementwise_get_grad, IndexElementwiseGetGrad, kFloats + kHalves)
REGISTER(index_elementwise_put, IndexElementwisePut, kAll + kHalves)
REGISTER(index_elementwise_put_grad, IndexElementwisePutGrad, kFloats + kHalves)
REGISTER(index_elementwise_put_with_tensor, IndexElementwisePutWithTensor, kAll + kHalves)
REGISTER(index_elementwise_put_with_tensor_grad, IndexElementwisePutWithTensorGrad, kFloats + kHalves)

// Indices that broadcast against each other, made equal in shape and type.
struct EqualIndices {
  phi::DDim shape, dims;  // of the indices; of what they lead to
  std::vector<Temporary<int64_t>> memory;
  ByTensors by{};
  EqualIndices(const Context& context, const char* name, const phi::DDim& x, const Tensors& index) {
    REQUIRE(int(index.size()) <= kMostIndices && int(index.size()) <= x.size(), "%s by %d tensors; at most %d are supported on %s", name,
            int(index.size()), kMostIndices, device_name());
    std::vector<int64_t> common;
    for (auto one : index)
      for (int k = 1; k <= one->dims().size(); ++k) {
        if (int(common.size()) < k) common.insert(common.begin(), 1);
        auto size = one->dims()[one->dims().size() - k];
        if (size != 1) common[common.size() - k] = size;
      }
    shape = phi::make_ddim(common);
    auto strides = contiguous_strides(x);
    std::vector<int64_t> all = common, base(common.size(), 0);
    by.count = int64_t(index.size());
    for (int k = 0; k < x.size(); ++k) {
      if (k < by.count) by.size[k] = x[k], by.stride[k] = strides[k];
      else all.push_back(x[k]), base.push_back(strides[k]);
    }
    dims = phi::make_ddim(all);
    auto led = contiguous_strides(shape);
    led.resize(all.size(), 0);
    by.at = walk(dims, base, led);
    for (size_t k = 0; k < index.size(); ++k) {
      memory.emplace_back(context, phi::product(shape));
      by.index[k] = memory.back().data;
      spread(context, name, *index[k], memory.back().data);
    }
  }
  void spread(const Context& context, const char* name, const Tensor& index, int64_t* to) {
    Indices from(index);
    auto at = walk(shape, broadcast_strides(index.dims(), shape));
    launch(context, name, phi::product(shape), DEVICE(int64_t i) {
      int64_t place = at(i).at[0];
      to[i] = from.narrow ? from.narrow[place] : from.wide[place];
    });
  }
};
template <class T, class X>
void IndexPut(const X& context, const Tensor& x, const Tensors& index, const Tensor& value, bool accumulate, Tensor* out) {
  EqualIndices places(context, "index_put", x.dims(), index);
  int64_t count = places.by.at.count();
  if (accumulate) {
    std::vector<Temporary<T>> memory;
    auto v = repeated(context, "index_put", value.dims(), places.dims, read<T>(value), memory);
    Sums<T> sums(context, "index_put", out, read<T>(x));
    add_at(context, "index_put", count, places.by, v, sums.data);
    sums.finish();
    return;
  }
  std::vector<Temporary<Bits<T>>> memory;
  auto v = repeated(context, "index_put", value.dims(), places.dims, bits(read<T>(value)), memory);
  auto a = bits(read<T>(x));
  auto r = bits(write<T>(context, out));
  copy(context, "index_put", x.numel(), a, r);
  put(context, "index_put", count, places.by, v, r, x.numel());
}
template <class T, class X>
void IndexPutGrad(const X& context, const Tensor& x, const Tensors& index, const Tensor& value, const Tensor& dout, bool accumulate,
                  Tensor* dx, Tensor* dvalue) {
  EqualIndices places(context, "index_put_grad", x.dims(), index);
  int64_t count = places.by.at.count();
  auto g = bits(read<T>(dout));
  if (dvalue) {
    Temporary<T> all(context, count);
    take(context, "index_put_grad", count, places.by, g, reinterpret_cast<Bits<T>*>(all.data));
    sum_repeated<T>(context, "index_put_grad", all.data, places.dims, dvalue);
  }
  if (!dx) return;
  auto r = bits(write<T>(context, dx));
  copy(context, "index_put_grad", dout.numel(), g, r);
  if (!accumulate) put_one(context, "index_put_grad", count, places.by, Bits<T>(0), r);
}
REGISTER(index_put, IndexPut, kNumbers + kHalves)
REGISTER(index_put_grad, IndexPutGrad, kFloats + kHalves)

// ---- what is not zero

template <class T> struct NotZero {
  const T* x;
  Walk<1> at;
  HOST_DEVICE int64_t operator()(int64_t i) const { return Compute<T>(x[at(i).at[0]]) != Compute<T>(0); }
};
struct KeepPlaces {
  int64_t *places, count, *total;
  HOST_DEVICE void operator()(int64_t i, int64_t before, int64_t value) const {
    places[i] = value ? before : -1;
    if (i == count - 1) total[0] = before + value;
  }
};
// For each place of the mask, repeated to `dims`: how many before it are not zero, or -1 where it is zero.
template <class T> struct Ranks {
  Temporary<int64_t> ranks;
  int64_t* of;
  Ranks(const Context& context, const char* name, const Tensor& mask, const phi::DDim& dims, int64_t* total = nullptr)
      : ranks(context, phi::product(dims)), of(ranks.data) {
    int64_t count = phi::product(dims);
    Temporary<int64_t> sum(context, 1);
    if (count)
      scan<int64_t>(context, name, Split(phi::make_ddim({count}), 0), false,
                    NotZero<T>{read<T>(mask), walk(dims, broadcast_strides(mask.dims(), dims))}, KeepPlaces{of, count, sum.data});
    if (total) *total = count ? number_on_host(context, sum) : 0;
  }
};

// The places of what is not zero, in order. The count decides the output's shape, so the host must wait for it.
template <class T, class X> void NonZero(const X& context, const Tensor& x, Tensor* out) {
  int64_t count = x.numel(), rank = x.dims().size(), found = 0;
  Ranks<T> ranks(context, "nonzero", x, x.dims(), &found);
  out->Resize(phi::make_ddim({found, rank}));
  auto r = write<int64_t>(context, out);
  auto at = contiguous_strides(x.dims());
  Shape shape;
  for (int k = 0; k < rank; ++k) shape.size[k] = x.dims()[k], shape.stride[k] = at[k];
  auto of = ranks.of;
  launch(context, "nonzero", found ? count : 0, DEVICE(int64_t i) {
    if (of[i] < 0) return;
    for (int64_t k = 0; k < rank; ++k) r[of[i] * rank + k] = i / shape.stride[k] % shape.size[k];
  });
}
REGISTER_AMENDED(nonzero, NonZero, kAll + kHalves, gives_indices_first)

inline phi::DDim common_dims(const phi::DDim& a, const phi::DDim& b) {
  auto dims = sizes(a.size() >= b.size() ? a : b);
  const auto& other = a.size() >= b.size() ? b : a;
  for (int k = 1; k <= other.size(); ++k)
    if (dims[dims.size() - k] == 1) dims[dims.size() - k] = other[other.size() - k];
  return phi::make_ddim(dims);
}
template <class T, class X> void MaskedSelect(const X& context, const Tensor& x, const Tensor& mask, Tensor* out) {
  auto dims = common_dims(x.dims(), mask.dims());
  int64_t found = 0;
  Ranks<bool> ranks(context, "masked_select", mask, dims, &found);
  out->Resize(phi::make_ddim({found}));
  auto a = bits(read<T>(x));
  auto r = bits(write<T>(context, out));
  auto of = ranks.of;
  auto at = walk(dims, broadcast_strides(x.dims(), dims));
  launch(context, "masked_select", found ? phi::product(dims) : 0, DEVICE(int64_t i) {
    if (of[i] >= 0) r[of[i]] = a[at(i).at[0]];
  });
}
template <class T, class X>
void MaskedSelectGrad(const X& context, const Tensor& x, const Tensor& mask, const Tensor& dout, Tensor* dx) {
  REQUIRE(common_dims(x.dims(), mask.dims()) == x.dims(), "masked_select_grad of a mask larger than the tensor is not supported on %s",
          device_name());
  Ranks<bool> ranks(context, "masked_select_grad", mask, x.dims());
  auto g = bits(read<T>(dout));
  auto r = bits(write<T>(context, dx));
  auto of = ranks.of;
  launch(context, "masked_select_grad", x.numel(), DEVICE(int64_t i) { r[i] = of[i] < 0 ? 0 : g[of[i]]; });
}
template <class T, class X>
void MaskedFill(const X& context, const Tensor& x, const Tensor& mask, const Tensor& value, Tensor* out) {
  auto dims = common_dims(x.dims(), mask.dims());
  out->Resize(dims);
  auto at = walk(dims, broadcast_strides(x.dims(), dims), broadcast_strides(mask.dims(), dims), broadcast_strides(value.dims(), dims));
  auto a = bits(read<T>(x)), v = bits(read<T>(value));
  auto m = read<bool>(mask);
  auto r = bits(write<T>(context, out));
  launch(context, "masked_fill", phi::product(dims), DEVICE(int64_t i) {
    auto o = at(i);
    r[i] = m[o.at[1]] ? v[o.at[2]] : a[o.at[0]];
  });
}
// The gradient of the tensor where the mask is not set, of the value where it is.
template <class T, class X>
void MaskedFillGrad(const X& context, const Tensor& x, const Tensor& mask, const Tensor& value, const Tensor& dout, Tensor* dx,
                    Tensor* dvalue) {
  auto dims = dout.dims();
  auto at = walk(dims, broadcast_strides(mask.dims(), dims));
  auto g = bits(read<T>(dout));
  auto m = read<bool>(mask);
  // The gradient of the output may be given to dx: the value's is taken first.
  for (Tensor* to : {dvalue, dx}) {
    if (!to) continue;
    bool wanted = to == dvalue;
    if (to->dims() == dims) {
      auto r = bits(write<T>(context, to));
      launch(context, "masked_fill_grad", dout.numel(), DEVICE(int64_t i) { r[i] = m[at(i).at[0]] == wanted ? g[i] : 0; });
      continue;
    }
    Temporary<T> all(context, dout.numel());
    auto r = reinterpret_cast<Bits<T>*>(all.data);
    launch(context, "masked_fill_grad", dout.numel(), DEVICE(int64_t i) { r[i] = m[at(i).at[0]] == wanted ? g[i] : 0; });
    sum_repeated<T>(context, "masked_fill_grad", all.data, dims, to);
  }
}
REGISTER(masked_select, MaskedSelect, kAll + kHalves)
REGISTER(masked_select_grad, MaskedSelectGrad, kFloats + kHalves)
REGISTER(masked_fill, MaskedFill, kAll + kHalves)
REGISTER(masked_fill_grad, MaskedFillGrad, kFloats + kHalves)

// ---- writing a slice

struct Slice {
  std::vector<int64_t> dims, strides;
  int64_t offset = 0;
  std::vector<int64_t> value_dims, value_axes;  // without the dimensions that an integer removed, with those (-1) that None added
};
inline Slice slice_of(const char* name, const phi::DDim& dims, const phi::IntArray& starts, const phi::IntArray& ends,
                      const phi::IntArray& steps, const std::vector<int64_t>& axes, const std::vector<int64_t>& removed,
                      const std::vector<int64_t>& added) {
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
  auto add = [&](int64_t size, int64_t axis) { s.value_dims.push_back(size), s.value_axes.push_back(axis); };
  size_t next = 0;
  for (size_t k = 0, seen = 0; k < s.dims.size(); ++k) {
    if (std::find(removed.begin(), removed.end(), int64_t(k)) != removed.end()) continue;
    for (; next < added.size() && added[next] <= int64_t(seen); ++next) add(1, -1);
    add(s.dims[k], int64_t(k));
    ++seen;
  }
  for (; next < added.size(); ++next) add(1, -1);
  return s;
}
// Broadcast strides of the value over the slice; removed dimensions have size one and need none.
inline std::vector<int64_t> value_strides(const char* name, const Slice& s, phi::DDim value) {
  while (value.size() > int(s.value_dims.size())) {  // leading ones say nothing
    REQUIRE(value[0] == 1, "%s: a value of %d dimensions for a slice of %d", name, value.size(), int(s.value_dims.size()));
    value = phi::slice_ddim(value, 1, value.size());
  }
  auto kept = broadcast_strides(value, phi::make_ddim(s.value_dims));
  std::vector<int64_t> strides(s.dims.size(), 0);
  for (size_t k = 0; k < kept.size(); ++k)
    if (s.value_axes[k] >= 0) strides[s.value_axes[k]] = kept[k];
  return strides;
}
#define SLICE                                                                                                              \
  const phi::IntArray &starts, const phi::IntArray &ends, const phi::IntArray &steps, const std::vector<int64_t>&axes,     \
      const std::vector<int64_t>&removed, const std::vector<int64_t>&added

template <class T>
void set_slice(const Context& context, const char* name, const Tensor& x, const Tensor& value, const Slice& s, Tensor* out) {
  auto a = bits(read<T>(x)), v = bits(read<T>(value));
  auto r = bits(write<T>(context, out));
  copy(context, name, x.numel(), a, r);
  auto dims = phi::make_ddim(s.dims);
  auto at = walk(dims, s.strides, value_strides(name, s, value.dims()));
  int64_t offset = s.offset;
  launch(context, name, phi::product(dims), DEVICE(int64_t i) {
    auto o = at(i);
    r[offset + o.at[0]] = v[o.at[1]];
  });
}
template <class T, class X>
void SetTensorValue(const X& context, const Tensor& x, const Tensor& value, SLICE, Tensor* out) {
  auto s = slice_of("set_value_with_tensor", x.dims(), starts, ends, steps, axes, removed, added);
  set_slice<T>(context, "set_value_with_tensor", x, value, s, out);
}
template <class T, class X>
void SetValue(const X& context, const Tensor& x, SLICE, const std::vector<int64_t>& shape, const std::vector<phi::Scalar>& values,
              Tensor* out) {
  Temporary<T> value(context, phi::make_ddim(shape));
  auto v = reinterpret_cast<Bits<T>*>(value.data);
  for (size_t k = 0; k < values.size(); ++k) {
    auto number = bits_of(values[k].to<T>());
    launch(context, "set_value", 1, DEVICE(int64_t) { v[k] = number; });
  }
  set_slice<T>(context, "set_value", x, value.tensor, slice_of("set_value", x.dims(), starts, ends, steps, axes, removed, added), out);
}
template <class T>
void clear_slice(const Context& context, const char* name, const Tensor& dout, const Slice& s, Tensor* dx) {
  if (!dx) return;
  auto r = bits(write<T>(context, dx));
  copy(context, name, dout.numel(), bits(read<T>(dout)), r);
  auto dims = phi::make_ddim(s.dims);
  auto at = walk(dims, s.strides);
  int64_t offset = s.offset;
  launch(context, name, phi::product(dims), DEVICE(int64_t i) { r[offset + at(i).at[0]] = 0; });
}
template <class T, class X>
void SetValueGrad(const X& context, const Tensor& dout, SLICE, Tensor* dx, Tensor* dvalue) {
  auto s = slice_of("set_value_grad", dout.dims(), starts, ends, steps, axes, removed, added);
  if (dvalue) {
    auto dims = phi::make_ddim(s.dims);
    auto at = walk(dims, s.strides);
    int64_t offset = s.offset;
    Temporary<T> all(context, phi::product(dims));
    auto g = bits(read<T>(dout));
    auto v = reinterpret_cast<Bits<T>*>(all.data);
    launch(context, "set_value_grad", phi::product(dims), DEVICE(int64_t i) { v[i] = g[offset + at(i).at[0]]; });
    sum_repeated<T>(context, "set_value_grad", all.data, phi::make_ddim(s.value_dims), dvalue);
  }
  clear_slice<T>(context, "set_value_grad", dout, s, dx);
}
template <class T, class X> void SetScalarGrad(const X& context, const Tensor& dout, SLICE, Tensor* dx) {
  clear_slice<T>(context, "set_value_with_scalar_grad", dout,
                 slice_of("set_value_with_scalar_grad", dout.dims(), starts, ends, steps, axes, removed, added), dx);
}
REGISTER(set_value, SetValue, kAll + kHalves)
REGISTER(set_value_with_tensor, SetTensorValue, kAll + kHalves)
REGISTER(set_value_grad, SetValueGrad, kFloats + kHalves)
REGISTER(set_value_with_scalar_grad, SetScalarGrad, kFloats + kHalves)

}  // namespace tablerec
