// What is not zero, and what a mask chooses.
#include "host.h"
#include "places.h"
#include "register.h"
#include "scan.h"

namespace tablerec {

// All kernels of this file see elements as bits of their size B.
template <class B> struct NotZero {
  const B* x;
  B not_zero;
  Walk<1> at;
  HOST_DEVICE int64_t operator()(int64_t i) const { return (x[at(i).at[0]] & not_zero) != 0; }
};
struct KeepPlaces {
  int64_t *places, count, *total;
  HOST_DEVICE void operator()(int64_t i, int64_t before, int64_t value) const {
    places[i] = value ? before : -1;
    if (i == count - 1) total[0] = before + value;
  }
};
// For each place of the mask, repeated to `dims`: how many before it are not zero, or -1 where it is zero.
struct Ranks {
  Temporary<int64_t> ranks;
  int64_t* of;
  template <class B>
  Ranks(const Context& context, const char* name, const phi::DDim& from, const B* mask, B not_zero, const phi::DDim& dims,
        int64_t* total = nullptr)
      : ranks(context, phi::product(dims)), of(ranks.data) {
    int64_t count = phi::product(dims);
    Temporary<int64_t> sum(context, 1);
    if (count)
      scan<int64_t>(context, name, Split(phi::make_ddim({count}), 0), false,
                    NotZero<B>{mask, not_zero, walk(dims, broadcast_strides(from, dims))}, KeepPlaces{of, count, sum.data});
    if (total) *total = count ? number_on_host(context, sum) : 0;
  }
};
inline Ranks ranks_of(const Context& context, const char* name, const Tensor& mask, const phi::DDim& dims, int64_t* total = nullptr) {
  return Ranks(context, name, mask.dims(), bits(read<bool>(mask)), bits_not_zero<bool>(), dims, total);
}

inline void write_places(const Context& context, const Shape& shape, int64_t count, int64_t rank, const int64_t* rank_of, int64_t* to) {
  launch(context, "nonzero", count, DEVICE(int64_t i) {
    if (rank_of[i] < 0) return;
    for (int64_t k = 0; k < rank; ++k) to[rank_of[i] * rank + k] = i / shape.stride[k] % shape.size[k];
  });
}
template <class B>
void write_selected(const Context& context, const Walk<1>& at, int64_t count, const int64_t* rank_of, const B* from, B* to) {
  launch(context, "masked_select", count, DEVICE(int64_t i) {
    if (rank_of[i] >= 0) to[rank_of[i]] = from[at(i).at[0]];
  });
}
template <class B> void write_back(const Context& context, int64_t count, const int64_t* rank_of, const B* from, B* to) {
  launch(context, "masked_select_grad", count, DEVICE(int64_t i) { to[i] = rank_of[i] < 0 ? 0 : from[rank_of[i]]; });
}
template <class B>
void write_filled(const Context& context, const Walk<3>& at, int64_t count, const B* from, const bool* mask, const B* value, B* to) {
  launch(context, "masked_fill", count, DEVICE(int64_t i) {
    auto o = at(i);
    to[i] = mask[o.at[1]] ? value[o.at[2]] : from[o.at[0]];
  });
}
template <class B>
void write_where(const Context& context, const Walk<1>& at, int64_t count, const bool* mask, bool wanted, const B* from, B* to) {
  launch(context, "masked_fill_grad", count, DEVICE(int64_t i) { to[i] = mask[at(i).at[0]] == wanted ? from[i] : 0; });
}

// The places of what is not zero, in order. The count decides the output's shape, so the host must wait for it.
template <class T, class X> void NonZero(const X& context, const Tensor& x, Tensor* out) {
  int64_t count = x.numel(), rank = x.dims().size(), found = 0;
  Ranks ranks(context, "nonzero", x.dims(), bits(read<T>(x)), bits_not_zero<T>(), x.dims(), &found);
  out->Resize(phi::make_ddim({found, rank}));
  auto at = contiguous_strides(x.dims());
  Shape shape;
  for (int k = 0; k < rank; ++k) shape.size[k] = x.dims()[k], shape.stride[k] = at[k];
  write_places(context, shape, found ? count : 0, rank, ranks.of, write<int64_t>(context, out));
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
  auto ranks = ranks_of(context, "masked_select", mask, dims, &found);
  out->Resize(phi::make_ddim({found}));
  auto r = bits(write<T>(context, out));
  write_selected(context, walk(dims, broadcast_strides(x.dims(), dims)), found ? phi::product(dims) : 0, ranks.of, bits(read<T>(x)), r);
}
template <class T, class X>
void MaskedSelectGrad(const X& context, const Tensor& x, const Tensor& mask, const Tensor& dout, Tensor* dx) {
  REQUIRE(common_dims(x.dims(), mask.dims()) == x.dims(), "masked_select_grad of a mask larger than the tensor is not supported on %s",
          device_name());
  auto ranks = ranks_of(context, "masked_select_grad", mask, x.dims());
  write_back(context, x.numel(), ranks.of, bits(read<T>(dout)), bits(write<T>(context, dx)));
}
template <class T, class X>
void MaskedFill(const X& context, const Tensor& x, const Tensor& mask, const Tensor& value, Tensor* out) {
  auto dims = common_dims(x.dims(), mask.dims());
  out->Resize(dims);
  auto at = walk(dims, broadcast_strides(x.dims(), dims), broadcast_strides(mask.dims(), dims), broadcast_strides(value.dims(), dims));
  auto r = bits(write<T>(context, out));
  write_filled(context, at, phi::product(dims), bits(read<T>(x)), read<bool>(mask), bits(read<T>(value)), r);
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
      write_where(context, at, dout.numel(), m, wanted, g, bits(write<T>(context, to)));
      continue;
    }
    Temporary<T> all(context, dout.numel());
    write_where(context, at, dout.numel(), m, wanted, g, bits(all.data));
    sum_repeated<T>(context, "masked_fill_grad", all.data, dims, to);
  }
}
REGISTER(masked_select, MaskedSelect, kAll + kHalves)
REGISTER(masked_select_grad, MaskedSelectGrad, kFloats + kHalves)
REGISTER(masked_fill, MaskedFill, kAll + kHalves)
REGISTER(masked_fill_grad, MaskedFillGrad, kFloats + kHalves)

}  // namespace tablerec
