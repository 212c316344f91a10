// What is not zero, and what a mask chooses.
#include "host.h"
#include "places.h"
#include "register.h"
#include "scan.h"

namespace tablerec {

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

}  // namespace tablerec
