// Indexing by tensors: x[i0, i1, ...].
#include "places.h"
#include "register.h"

namespace tablerec {

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

}  // namespace tablerec
