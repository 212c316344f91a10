// Operators that repeat elements, and sum what was repeated.
#include "elements.h"
#include "float8.h"
#include "reduce.h"
#include "register.h"

namespace tablerec {

template <class T>
void expand(const Context& context, const char* name, const Tensor& x, std::vector<int64_t> dims, Tensor* out) {
  int missing = int(dims.size()) - x.dims().size();
  for (size_t k = 0; k < dims.size(); ++k)
    if (dims[k] == -1) dims[k] = int(k) < missing ? 1 : x.dims()[k - missing];
  out->Resize(phi::make_ddim(dims));
  auto at = walk(out->dims(), broadcast_strides(x.dims(), out->dims()));
  auto r = write<T>(context, out);
  copy_walk(context, name, at, bits(read<T>(x)), bits(r));
}
template <class T, class X> void Expand(const X& context, const Tensor& x, const phi::IntArray& shape, Tensor* out) {
  expand<T>(context, "expand", x, shape.GetData(), out);
}
template <class T, class X>
void ExpandAs(const X& context, const Tensor& x, const OptionalTensor&, const std::vector<int64_t>& shape, Tensor* out) {
  expand<T>(context, "expand_as", x, shape, out);
}
template <class T, class X>
void ExpandAsGrad(const X& context, const Tensor&, const Tensor& dout, const std::vector<int64_t>&, Tensor* dx) {
  sum_to_shape<T>(context, "expand_as_grad", read<T>(dout), dout.dims(), dx);
}
template <class T, class X>
void ExpandGrad(const X& context, const Tensor&, const Tensor& dout, const phi::IntArray&, Tensor* dx) {
  sum_to_shape<T>(context, "expand_grad", read<T>(dout), dout.dims(), dx);
}
REGISTER(expand, Expand, kMoved)
REGISTER(expand_grad, ExpandGrad, kFloats + kHalves)
REGISTER(expand_as, ExpandAs, kAll + kHalves)
REGISTER(expand_as_grad, ExpandAsGrad, kFloats + kHalves)

// [a, b] repeated (m, n) times is [m, a, n, b] with strides of zero on m and n.
struct Tiling {
  std::vector<int64_t> dims, strides, source, result;  // `source`: the dims with ones where they are repeated
  Tiling(const phi::DDim& x, std::vector<int64_t> times) {
    auto own = sizes(x);
    while (own.size() < times.size()) own.insert(own.begin(), 1);
    while (times.size() < own.size()) times.insert(times.begin(), 1);
    auto step = contiguous_strides(phi::make_ddim(own));
    for (size_t k = 0; k < own.size(); ++k) {
      result.push_back(own[k] * times[k]);
      if (times[k] != 1) dims.push_back(times[k]), strides.push_back(0), source.push_back(1);
      dims.push_back(own[k]), strides.push_back(step[k]), source.push_back(own[k]);
    }
  }
};
// Sums `dout`, seen with `dims`, to dx, seen with `source`.
template <class T>
void sum_repeats(const Context& context, const char* name, const Tensor& dout, const std::vector<int64_t>& dims,
                 const std::vector<int64_t>& source, Tensor* dx) {
  auto own = dx->dims();
  dx->Resize(phi::make_ddim(source));
  sum_to_shape<T>(context, name, read<T>(dout), phi::make_ddim(dims), dx);
  dx->Resize(own);
}
template <class T, class X> void Tile(const X& context, const Tensor& x, const phi::IntArray& repeats, Tensor* out) {
  Tiling t(x.dims(), repeats.GetData());
  out->Resize(phi::make_ddim(t.result));
  auto r = write<T>(context, out);
  copy_walk(context, "tile", walk(phi::make_ddim(t.dims), t.strides), bits(read<T>(x)), bits(r));
}
template <class T, class X>
void TileGrad(const X& context, const Tensor& x, const Tensor& dout, const phi::IntArray& repeats, Tensor* dx) {
  Tiling t(x.dims(), repeats.GetData());
  sum_repeats<T>(context, "tile_grad", dout, t.dims, t.source, dx);
}
REGISTER(tile_grad, TileGrad, kFloats + kHalves)

template <class T, class X>
void RepeatInterleave(const X& context, const Tensor& x, int repeats, int axis, int64_t, Tensor* out) {
  Split s(x.dims(), axis);
  auto dims = phi::make_ddim({s.outer * s.length, int64_t(repeats), s.inner});
  auto r = write<T>(context, out);
  copy_walk(context, "repeat_interleave", walk(dims, std::vector<int64_t>{s.inner, 0, 1}), bits(read<T>(x)), bits(r));
}
template <class T, class X>
void RepeatInterleaveGrad(const X& context, const Tensor& x, const Tensor& dout, int repeats, int axis, int64_t, Tensor* dx) {
  Split s(x.dims(), axis);
  sum_repeats<T>(context, "repeat_interleave_grad", dout, {s.outer * s.length, repeats, s.inner},
                 {s.outer * s.length, 1, s.inner}, dx);
}
REGISTER(repeat_interleave, RepeatInterleave, kAll + kHalves)
REGISTER(repeat_interleave_grad, RepeatInterleaveGrad, kFloats + kHalves)

REGISTER(tile, Tile, kAll + kHalves)

template <class T, class X> void Meshgrid(const X& context, const Tensors& x, std::vector<Tensor*> out) {
  for (size_t k = 0; k < x.size(); ++k) {
    std::vector<int64_t> dims, strides(out.size(), 0);
    for (auto* axis : x) dims.push_back(axis->numel());
    strides[k] = 1;
    auto at = walk(phi::make_ddim(dims), strides);
    auto r = write<T>(context, out[k]);
    copy_walk(context, "meshgrid", at, bits(read<T>(*x[k])), bits(r));
  }
}
REGISTER(meshgrid, Meshgrid, kNumbers + kHalves)

}  // namespace tablerec
