// Writing a slice.
#include "places.h"
#include "register.h"

namespace tablerec {

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

// Kernels over bits: one for each size of element.
template <class B> void set_number(const Context& context, B number, B* to) {
  launch(context, "set_value", 1, DEVICE(int64_t) { *to = number; });
}
template <class B> void write_slice(const Context& context, const char* name, const Slice& s, const Walk<2>& at, const B* value, B* to) {
  int64_t offset = s.offset;
  launch(context, name, at.count(), DEVICE(int64_t i) {
    auto o = at(i);
    to[offset + o.at[0]] = value[o.at[1]];
  });
}
template <class B> void read_slice(const Context& context, const char* name, const Slice& s, const Walk<1>& at, const B* from, B* to) {
  int64_t offset = s.offset;
  launch(context, name, at.count(), DEVICE(int64_t i) { to[i] = from[offset + at(i).at[0]]; });
}
template <class B> void clear_places(const Context& context, const char* name, const Slice& s, const Walk<1>& at, B* to) {
  int64_t offset = s.offset;
  launch(context, name, at.count(), DEVICE(int64_t i) { to[offset + at(i).at[0]] = 0; });
}

template <class T>
void set_slice(const Context& context, const char* name, const Tensor& x, const Tensor& value, const Slice& s, Tensor* out) {
  auto a = bits(read<T>(x)), v = bits(read<T>(value));
  auto r = bits(write<T>(context, out));
  copy(context, name, x.numel(), a, r);
  write_slice(context, name, s, walk(phi::make_ddim(s.dims), s.strides, value_strides(name, s, value.dims())), v, r);
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
  for (size_t k = 0; k < values.size(); ++k) set_number(context, bits_of(values[k].to<T>()), bits(value.data) + k);
  set_slice<T>(context, "set_value", x, value.tensor, slice_of("set_value", x.dims(), starts, ends, steps, axes, removed, added), out);
}
template <class T>
void clear_slice(const Context& context, const char* name, const Tensor& dout, const Slice& s, Tensor* dx) {
  if (!dx) return;
  auto r = bits(write<T>(context, dx));
  copy(context, name, dout.numel(), bits(read<T>(dout)), r);
  clear_places(context, name, s, walk(phi::make_ddim(s.dims), s.strides), r);
}
template <class T, class X>
void SetValueGrad(const X& context, const Tensor& dout, SLICE, Tensor* dx, Tensor* dvalue) {
  auto s = slice_of("set_value_grad", dout.dims(), starts, ends, steps, axes, removed, added);
  if (dvalue) {
    auto at = walk(phi::make_ddim(s.dims), s.strides);
    Temporary<T> all(context, at.count());
    read_slice(context, "set_value_grad", s, at, bits(read<T>(dout)), bits(all.data));
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
