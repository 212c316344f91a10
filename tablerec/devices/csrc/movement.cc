// Operators that copy and rearrange elements.
#include "elements.h"
#include "float8.h"
#include "reduce.h"
#include "register.h"

namespace tablerec {

// ---- the infrastructure of strided views: Paddle has no CPU fallback for these

inline std::vector<int64_t> strides_of(const Tensor& tensor) { return phi::vectorize(tensor.strides()); }

template <class T, class X> void Contiguous(const X& context, const Tensor& x, Tensor* out) {
  auto meta = out->meta();
  meta.strides = meta.calc_strides(meta.dims);
  out->set_meta(meta);
  auto at = walk(x.dims(), strides_of(x));
  auto r = write<T>(context, out);
  copy_walk(context, "contiguous", at, bits(read<T>(x)), bits(r));
}
REGISTER(contiguous, Contiguous, kMoved)

template <class B>
void copy_between(const Context& context, int64_t count, const Walk<1>& from, const Walk<1>& to, const B* a, B* r) {
  launch(context, "strided_copy", count, DEVICE(int64_t i) { r[to(i).at[0]] = a[from(i).at[0]]; });
}
template <class T, class X>
void StridedCopy(const X& context, const Tensor& x, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides,
                 int64_t offset, Tensor* out) {
  auto meta = out->meta();
  meta.dims = phi::make_ddim(dims);
  meta.strides = phi::make_ddim(strides);
  meta.offset = offset;
  out->set_meta(meta);
  // The copy pairs elements by their number, so both shapes are walked.
  copy_between(context, x.numel(), walk(x.dims(), strides_of(x)), walk(out->dims(), strides), bits(read<T>(x)),
               out->numel() ? bits(in_kernel_view(out->data<T>())) : nullptr);
}
REGISTER(strided_copy, StridedCopy, kMoved)

template <class T, class X> void Fill(const X& context, const Tensor&, const phi::Scalar& value, Tensor* out) {
  auto r = write<T>(context, out);
  fill_elements(context, "fill", out->numel(), bits_of(value.to<T>()), bits(r));
}
REGISTER(fill, Fill, kMoved)

template <class T, class X> void Assign(const X& context, const Tensor& x, Tensor* out) {
  auto r = write<T>(context, out);
  copy_elements(context, "assign", x.numel(), bits(read<T>(x)), bits(r));
}
REGISTER(assign, Assign, kMoved)

// ---- rearrangement

template <class T>
void permute(const Context& context, const char* name, const Tensor& x, const std::vector<int>& axes, Tensor* out) {
  auto own = strides_of(x);
  std::vector<int64_t> dims, strides;
  for (int axis : axes) {
    dims.push_back(x.dims()[to_axis(axis, x.dims().size())]);
    strides.push_back(own[to_axis(axis, x.dims().size())]);
  }
  auto at = walk(phi::make_ddim(dims), strides);
  auto r = write<T>(context, out);
  copy_walk(context, name, at, bits(read<T>(x)), bits(r));
}
template <class T, class X> void Transpose(const X& context, const Tensor& x, const std::vector<int>& axes, Tensor* out) {
  permute<T>(context, "transpose", x, axes, out);
}
template <class T, class X>
void TransposeGrad(const X& context, const Tensor& dout, const std::vector<int>& axes, Tensor* dx) {
  std::vector<int> inverse(axes.size());
  for (size_t k = 0; k < axes.size(); ++k) inverse[to_axis(axes[k], axes.size())] = k;
  permute<T>(context, "transpose_grad", dout, inverse, dx);
}
REGISTER(transpose, Transpose, kMoved)
REGISTER(transpose_grad, TransposeGrad, kFloats + kHalves)

// Paddle's own gradient of a transposing is a view. Where gradients of several backward passes meet in a parameter, Paddle
// adds memory to memory and does not look at strides: a view would be added to in a wrong order, and nobody would see it.
template <class T, class X>
void ContiguousTransposeGrad(const X& context, const Tensor& dout, const std::vector<int>& axes, Tensor* dx) {
  auto meta = dx->meta();  // a kernel of views has to set the strides itself
  meta.strides = meta.calc_strides(meta.dims);
  dx->set_meta(meta);
  TransposeGrad<T>(context, dout, axes, dx);
}
template <class... T> bool register_transpose_grad_of_views(Types<T...>) {
  (phi::KernelRegistrar(
       phi::RegType::OUTER, "transpose_grad", device_name(), phi::DataLayout::STRIDED, phi::CppTypeToDataType<T>::Type(),
       phi::KernelArgsParseFunctor<decltype(&ContiguousTransposeGrad<T, Context>)>::Parse,
       [](const phi::KernelKey&, phi::Kernel*) {},
       phi::KernelImpl<decltype(&ContiguousTransposeGrad<T, Context>), &ContiguousTransposeGrad<T, Context>>::Compute,
       reinterpret_cast<void*>(
           phi::KernelImpl<decltype(&ContiguousTransposeGrad<T, Context>), &ContiguousTransposeGrad<T, Context>>::VariadicCompute)),
   ...);
  return true;
}
static const bool registered_transpose_grad_of_views = register_transpose_grad_of_views(kFloats + kHalves);

template <class U>
void copy_rows(const Context& context, const char* name, const U* from, U* to, int64_t outer, int64_t part, int64_t whole,
               int64_t offset, bool out_of_whole) {
  int64_t count = outer * part;
  bool small = count < (int64_t(1) << 31);
  launch(context, name, count, DEVICE(int64_t i) {
    int64_t row = small ? int64_t(uint32_t(i) / uint32_t(part)) : i / part;
    int64_t j = row * whole + offset + (i - row * part);
    if (out_of_whole) to[i] = from[j];
    else to[j] = from[i];
  });
}
// Copies the columns from `offset` of [outer, whole] to [outer, part], or back.
template <class B>
void copy_columns(const Context& context, const char* name, const B* from, B* to, int64_t outer, int64_t part,
                  int64_t whole, int64_t offset, bool out_of_whole) {
  // In units as wide as what all rows have in common: 16 bytes where they can.
  auto address = reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to);
  constexpr int64_t N = 16 / sizeof(B);
  if (address % 16 == 0 && part % N == 0 && whole % N == 0 && offset % N == 0)
    return copy_rows(context, name, reinterpret_cast<const Pack<B, N>*>(from), reinterpret_cast<Pack<B, N>*>(to), outer,
                     part / N, whole / N, offset / N, out_of_whole);
  copy_rows(context, name, from, to, outer, part, whole, offset, out_of_whole);
}

template <class T, class X> void Concat(const X& context, const Tensors& x, const phi::Scalar& axis, Tensor* out) {
  auto r = write<T>(context, out);
  Split s(out->dims(), axis.to<int64_t>());
  int at = to_axis(axis.to<int64_t>(), out->dims().size());
  int64_t offset = 0;
  for (auto* part : x) {
    if (!part->numel()) continue;
    int64_t columns = part->dims()[at] * s.inner;
    copy_columns(context, "concat", bits(read<T>(*part)), bits(r), s.outer, columns, s.length * s.inner, offset, false);
    offset += columns;
  }
}
template <class T>
void cut(const Context& context, const char* name, const Tensor& x, int64_t axis, const std::vector<Tensor*>& parts,
         const std::vector<int64_t>& lengths) {
  Split s(x.dims(), axis);
  int64_t offset = 0;
  for (size_t k = 0; k < parts.size(); ++k) {
    int64_t columns = lengths[k] * s.inner;
    if (parts[k]) {
      auto r = write<T>(context, parts[k]);
      copy_columns(context, name, bits(read<T>(x)), bits(r), s.outer, columns, s.length * s.inner, offset, true);
    }
    offset += columns;
  }
}
template <class T, class X>
void ConcatGrad(const X& context, const Tensors& x, const Tensor& dout, const phi::Scalar& axis, std::vector<Tensor*> dx) {
  std::vector<int64_t> lengths;
  for (auto* part : x) lengths.push_back(part->numel() ? part->dims()[to_axis(axis.to<int64_t>(), part->dims().size())] : 0);
  cut<T>(context, "concat_grad", dout, axis.to<int64_t>(), dx, lengths);
}
template <class T>
void split(const Context& context, const char* name, const Tensor& x, int64_t axis, const std::vector<Tensor*>& parts) {
  std::vector<int64_t> lengths;
  for (auto* part : parts) lengths.push_back(part->dims()[to_axis(axis, x.dims().size())]);
  cut<T>(context, name, x, axis, parts, lengths);
}
template <class T, class X>
void SplitBySizes(const X& context, const Tensor& x, const phi::IntArray&, const phi::Scalar& axis, std::vector<Tensor*> parts) {
  split<T>(context, "split", x, axis.to<int64_t>(), parts);
}
template <class T, class X>
void SplitWithNum(const X& context, const Tensor& x, int, const phi::Scalar& axis, std::vector<Tensor*> parts) {
  split<T>(context, "split_with_num", x, axis.to<int64_t>(), parts);
}
REGISTER(concat, Concat, kMoved)
REGISTER(concat_grad, ConcatGrad, kFloats + kHalves)
REGISTER(split, SplitBySizes, kMoved)
REGISTER(split_with_num, SplitWithNum, kMoved)

template <class T, class X> void Stack(const X& context, const Tensors& x, int axis, Tensor* out) {
  auto r = write<T>(context, out);
  Split s(out->dims(), axis);
  for (size_t k = 0; k < x.size(); ++k)
    copy_columns(context, "stack", bits(read<T>(*x[k])), bits(r), s.outer, s.inner, s.length * s.inner, int64_t(k) * s.inner, false);
}
template <class T, class X> void StackGrad(const X& context, const Tensor& dout, int axis, std::vector<Tensor*> dx) {
  cut<T>(context, "stack_grad", dout, axis, dx, std::vector<int64_t>(dx.size(), 1));
}
REGISTER(stack, Stack, kMoved)
REGISTER(stack_grad, StackGrad, kFloats + kHalves)

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

template <class T, class X> void Flip(const X& context, const Tensor& x, const std::vector<int>& axes, Tensor* out) {
  auto strides = contiguous_strides(x.dims());
  int64_t first = 0;
  for (int axis : axes) {
    int k = to_axis(axis, x.dims().size());
    first += (x.dims()[k] - 1) * strides[k];
    strides[k] = -strides[k];
  }
  auto at = walk(x.dims(), strides);
  auto r = write<T>(context, out);
  if (x.numel()) copy_walk(context, "flip", at, bits(read<T>(x)) + first, bits(r));
}
REGISTER(flip, Flip, kAll + kHalves)

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

// [n, c * r * r, h, w] to [n, c, h * r, w * r]: a transposition of six dimensions.
template <class T>
void shuffle_pixels(const Context& context, const char* name, const Tensor& x, const std::vector<int64_t>& dims,
                    const std::vector<int>& axes, Tensor* out) {
  auto own = contiguous_strides(phi::make_ddim(dims));
  std::vector<int64_t> sizes, strides;
  for (int axis : axes) sizes.push_back(dims[axis]), strides.push_back(own[axis]);
  auto r = write<T>(context, out);
  copy_walk(context, name, walk(phi::make_ddim(sizes), strides), bits(read<T>(x)), bits(r));
}
inline void require_channels_first(const char* name, const std::string& layout) {
  REQUIRE(layout == "NCHW", "%s: layout %s is not supported on %s; NCHW is", name, layout, device_name());
}
template <class T, class X>
void PixelShuffle(const X& context, const Tensor& x, int factor, const std::string& layout, Tensor* out) {
  require_channels_first("pixel_shuffle", layout);
  int64_t r = factor, c = x.dims()[1] / (r * r);
  shuffle_pixels<T>(context, "pixel_shuffle", x, {x.dims()[0], c, r, r, x.dims()[2], x.dims()[3]}, {0, 1, 4, 2, 5, 3}, out);
}
template <class T, class X>
void PixelShuffleGrad(const X& context, const Tensor& dout, int factor, const std::string& layout, Tensor* dx) {
  require_channels_first("pixel_shuffle_grad", layout);
  int64_t r = factor, h = dout.dims()[2] / r, w = dout.dims()[3] / r;
  shuffle_pixels<T>(context, "pixel_shuffle_grad", dout, {dout.dims()[0], dout.dims()[1], h, r, w, r}, {0, 1, 3, 5, 2, 4}, dx);
}
REGISTER(pixel_shuffle, PixelShuffle, kFloats + kHalves)
REGISTER(pixel_shuffle_grad, PixelShuffleGrad, kFloats + kHalves)

// Each index moved by an offset: round the end, or out of the array.
struct Shift {
  int rank = 0;
  bool wraps = false;
  int64_t to[kMaxRank] = {}, from[kMaxRank] = {}, offset[kMaxRank] = {};
  // The place in the source of the result's element i, or -1 where there is none.
  HOST_DEVICE int64_t source(int64_t i) const {
    int64_t place = 0, step = 1;
    for (int k = rank - 1; k >= 0; --k) {
      int64_t at = i % to[k] - offset[k];
      i /= to[k];
      if (wraps) at = at < 0 ? at + from[k] : at;
      if (at < 0 || at >= from[k]) return -1;
      place += at * step;
      step *= from[k];
    }
    return place;
  }
};
template <class B>
void copy_shifted(const Context& context, const char* name, const Shift& shift, int64_t count, B fill, const B* a, B* r) {
  launch(context, name, count, DEVICE(int64_t i) {
    int64_t from = shift.source(i);
    r[i] = from < 0 ? fill : a[from];
  });
}
template <class T>
void roll(const Context& context, const char* name, const Tensor& x, const std::vector<int64_t>& shifts,
          const std::vector<int64_t>& axes, int sign, Tensor* out) {
  Shift shift;
  shift.wraps = true;
  shift.rank = axes.empty() ? 1 : x.dims().size();
  for (int k = 0; k < shift.rank; ++k) shift.to[k] = shift.from[k] = axes.empty() ? x.numel() : x.dims()[k];
  for (size_t k = 0; k < shifts.size(); ++k) {
    int at = axes.empty() ? 0 : to_axis(axes[k], x.dims().size());
    if (shift.to[at]) shift.offset[at] = ((shift.offset[at] + sign * shifts[k]) % shift.to[at] + shift.to[at]) % shift.to[at];
  }
  auto r = write<T>(context, out);
  copy_shifted(context, name, shift, x.numel(), Bits<T>(0), bits(read<T>(x)), bits(r));
}
template <class T, class X>
void Roll(const X& context, const Tensor& x, const phi::IntArray& shifts, const std::vector<int64_t>& axes, Tensor* out) {
  roll<T>(context, "roll", x, shifts.GetData(), axes, 1, out);
}
template <class T, class X>
void RollGrad(const X& context, const Tensor&, const Tensor& dout, const phi::IntArray& shifts,
              const std::vector<int64_t>& axes, Tensor* dx) {
  roll<T>(context, "roll_grad", dout, shifts.GetData(), axes, -1, dx);
}
REGISTER(roll, Roll, kAll + kHalves)
REGISTER(roll_grad, RollGrad, kFloats + kHalves)

// What lies on one side of a diagonal, and zeros on the other.
template <class B>
void keep_triangle(const Context& context, const char* name, const phi::DDim& dims, int diagonal, bool lower, const B* a, B* r) {
  int64_t rows = dims[dims.size() - 2], columns = dims[dims.size() - 1];
  launch(context, name, phi::product(dims), DEVICE(int64_t i) {
    int64_t right = i % columns - (i / columns) % rows;
    r[i] = (lower ? right <= diagonal : right >= diagonal) ? a[i] : B(0);
  });
}
#define TRIANGLE(name, Name, types, lower)                                                               \
  template <class T, class X> void Name(const X& context, const Tensor& x, int diagonal, Tensor* out) {  \
    auto r = write<T>(context, out);                                                                     \
    keep_triangle(context, #name, x.dims(), diagonal, lower, bits(read<T>(x)), bits(r));                 \
  }                                                                                                      \
  REGISTER(name, Name, types)
TRIANGLE(tril, Tril, kAll + kHalves, true)
TRIANGLE(triu, Triu, kAll + kHalves, false)
TRIANGLE(tril_grad, TrilGrad, kFloats + kHalves, true)
TRIANGLE(triu_grad, TriuGrad, kFloats + kHalves, false)

// ---- padding

// Paddings stand as Paddle gives them: left, right, top, bottom, front, back.
struct Padding {
  int64_t depth, height, width, out_depth, out_height, out_width, front, top, left;
  Padding(const phi::DDim& d, const std::vector<int64_t>& p)
      : depth(d[2]), height(d[3]), width(d[4]), out_depth(d[2] + p[4] + p[5]), out_height(d[3] + p[2] + p[3]),
        out_width(d[4] + p[0] + p[1]), front(p[4]), top(p[2]), left(p[0]) {}
  // The place in the input of the output's element i, or -1 where it is padding.
  HOST_DEVICE int64_t source(int64_t i) const {
    int64_t w = i % out_width - left, h = (i / out_width) % out_height - top;
    int64_t d = (i / (out_width * out_height)) % out_depth - front, n = i / (out_width * out_height * out_depth);
    bool inside = w >= 0 && w < width && h >= 0 && h < height && d >= 0 && d < depth;
    return inside ? ((n * depth + d) * height + h) * width + w : -1;
  }
  HOST_DEVICE int64_t target(int64_t i) const {
    int64_t w = i % width + left, h = (i / width) % height + top, d = (i / (width * height)) % depth + front;
    int64_t n = i / (width * height * depth);
    bool inside = w >= 0 && w < out_width && h >= 0 && h < out_height && d >= 0 && d < out_depth;
    return inside ? ((n * out_depth + d) * out_height + h) * out_width + w : -1;
  }
};
inline void require_constant_padding(const std::string& mode, const std::string& layout) {
  REQUIRE(mode == "constant" && layout == "NCDHW", "pad3d: mode %s with layout %s is not supported on %s; constant NCDHW is",
          mode, layout, device_name());
}
template <class B>
void move_padded(const Context& context, const char* name, const Padding& p, bool forward, int64_t count, const B* a, B fill, B* r) {
  launch(context, name, count, DEVICE(int64_t i) {
    int64_t from = forward ? p.source(i) : p.target(i);
    r[i] = from < 0 ? fill : a[from];
  });
}
template <class T, class X>
void Pad3d(const X& context, const Tensor& x, const phi::IntArray& paddings, const std::string& mode, double value,
           const std::string& layout, Tensor* out) {
  require_constant_padding(mode, layout);
  Padding p(x.dims(), paddings.GetData());
  out->Resize(phi::make_ddim({x.dims()[0], x.dims()[1], p.out_depth, p.out_height, p.out_width}));
  auto r = write<T>(context, out);
  move_padded(context, "pad3d", p, true, out->numel(), bits(read<T>(x)), bits_of(T(value)), bits(r));
}
template <class T, class X>
void Pad3dGrad(const X& context, const Tensor& x, const Tensor& dout, const phi::IntArray& paddings, const std::string& mode,
               double, const std::string& layout, Tensor* dx) {
  require_constant_padding(mode, layout);
  Padding p(x.dims(), paddings.GetData());
  auto r = write<T>(context, dx);
  move_padded(context, "pad3d_grad", p, false, x.numel(), bits(read<T>(dout)), bits_of(T(0)), bits(r));
}
REGISTER(pad3d, Pad3d, kNumbers + kHalves)
REGISTER(pad3d_grad, Pad3dGrad, kFloats + kHalves)

// Paddings before and after each dimension.
inline Shift padding_shift(const phi::DDim& x, const std::vector<int>& paddings, bool forward) {
  Shift shift;
  shift.rank = x.size();
  for (int k = 0; k < x.size(); ++k) {
    int64_t padded = x[k] + paddings[2 * k] + paddings[2 * k + 1];
    shift.to[k] = forward ? padded : x[k];
    shift.from[k] = forward ? x[k] : padded;
    shift.offset[k] = forward ? paddings[2 * k] : -paddings[2 * k];
  }
  return shift;
}
template <class T, class X>
void Pad(const X& context, const Tensor& x, const std::vector<int>& paddings, const phi::Scalar& value, Tensor* out) {
  auto r = write<T>(context, out);
  copy_shifted(context, "pad", padding_shift(x.dims(), paddings, true), out->numel(), bits_of(value.to<T>()),
               bits(read<T>(x)), bits(r));
}
template <class T, class X>
void PadGrad(const X& context, const Tensor& dout, const std::vector<int>& paddings, const phi::Scalar&, Tensor* dx) {
  auto r = write<T>(context, dx);
  copy_shifted(context, "pad_grad", padding_shift(dx->dims(), paddings, false), dx->numel(), Bits<T>(0), bits(read<T>(dout)),
               bits(r));
}
REGISTER(pad, Pad, kNumbers + kHalves)
REGISTER(pad_grad, PadGrad, kFloats + kHalves)

}  // namespace tablerec
