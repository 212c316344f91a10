// Operators that read or write by rows of indices, and beside an axis.
#include "places.h"
#include "register.h"

namespace tablerec {

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

}  // namespace tablerec
