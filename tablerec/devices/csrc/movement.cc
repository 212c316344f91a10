// Operators that create, copy and rearrange elements.
#include "elements.h"
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
REGISTER(contiguous, Contiguous, kAll + kHalves)

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
REGISTER(strided_copy, StridedCopy, kAll + kHalves)

template <class T, class X> void Fill(const X& context, const Tensor&, const phi::Scalar& value, Tensor* out) {
  auto r = write<T>(context, out);
  fill_elements(context, "fill", out->numel(), bits_of(value.to<T>()), bits(r));
}
REGISTER(fill, Fill, kAll + kHalves)

// ---- creation

template <class T, class X> void Assign(const X& context, const Tensor& x, Tensor* out) {
  auto r = write<T>(context, out);
  copy_elements(context, "assign", x.numel(), bits(read<T>(x)), bits(r));
}
REGISTER(assign, Assign, kAll + kHalves)

template <class T, class X>
void Full(const X& context, const phi::IntArray& shape, const phi::Scalar& value, phi::DataType, Tensor* out) {
  out->Resize(phi::make_ddim(shape.GetData()));
  auto r = write<T>(context, out);
  fill_elements(context, "full", out->numel(), bits_of(value.to<T>()), bits(r));
}
REGISTER(full, Full, kAll + kHalves)

template <class T, class X>
void FullLike(const X& context, const Tensor&, const phi::Scalar& value, phi::DataType, Tensor* out) {
  auto r = write<T>(context, out);
  fill_elements(context, "full_like", out->numel(), bits_of(value.to<T>()), bits(r));
}
inline void only_the_shape_of_the_first(phi::Kernel* kernel) { kernel->InputAt(0).SetBackend(phi::Backend::ALL_BACKEND); }
REGISTER_AMENDED(full_like, FullLike, kAll + kHalves, only_the_shape_of_the_first)

template <class T, class X>
void Arange(const X& context, const Tensor& start, const Tensor& end, const Tensor& step, Tensor* out) {
  using C = Compute<T>;
  C first = C(start.data<T>()[0]), last = C(end.data<T>()[0]), by = C(step.data<T>()[0]);
  REQUIRE(by != C(0), "arange with a step of zero");
  int64_t count = std::max<int64_t>(0, int64_t(std::ceil((double(last) - double(first)) / double(by))));
  out->Resize(phi::make_ddim({count}));
  auto r = write<T>(context, out);
  launch(context, "arange_tensor", count, DEVICE(int64_t i) { r[i] = T(first + C(i) * by); });
}
inline void takes_bounds_on_the_host(phi::Kernel* kernel) {
  for (int k = 0; k < 3; ++k) kernel->InputAt(k).SetBackend(phi::Backend::CPU);
}
REGISTER_AMENDED(arange_tensor, Arange, kNumbers + kHalves, takes_bounds_on_the_host)

// The i-th number of a stream of uniform numbers in (0, 1) (SplitMix64: Steele, Lea and Flood, 2014).
HOST_DEVICE inline double uniform_number(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return (double(z >> 11) + 0.5) / 9007199254740992.0;
}
inline uint64_t seed_of(const Context& context, int seed) { return seed ? seed : context.GetGenerator()->Random64(); }

template <class T, class X>
void Uniform(const X& context, const phi::IntArray& shape, phi::DataType, const phi::Scalar& least, const phi::Scalar& most,
             int given_seed, Tensor* out) {
  out->Resize(phi::make_ddim(shape.GetData()));
  auto r = write<T>(context, out);
  double low = least.to<double>(), high = most.to<double>();
  uint64_t seed = seed_of(context, given_seed);
  launch(context, "uniform", out->numel(), DEVICE(int64_t i) { r[i] = T(low + (high - low) * uniform_number(seed, i)); });
}
template <class T, class X>
void Gaussian(const X& context, const phi::IntArray& shape, float mean, float std, int given_seed, phi::DataType, Tensor* out) {
  out->Resize(phi::make_ddim(shape.GetData()));
  auto r = write<T>(context, out);
  uint64_t seed = seed_of(context, given_seed);
  launch(context, "gaussian", out->numel(), DEVICE(int64_t i) {  // Box and Muller's transform
    double radius = sqrt(-2 * log(uniform_number(seed, 2 * i)));
    r[i] = T(mean + std * radius * cos(6.283185307179586 * uniform_number(seed, 2 * i + 1)));
  });
}
REGISTER(uniform, Uniform, kFloats + kHalves)
REGISTER(gaussian, Gaussian, kFloats + kHalves)

// ---- rearrangement

template <class T>
void permute(const Context& context, const char* name, const Tensor& x, const std::vector<int>& axes, Tensor* out) {
  auto own = contiguous_strides(x.dims());
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
REGISTER(transpose, Transpose, kAll + kHalves)
REGISTER(transpose_grad, TransposeGrad, kFloats + kHalves)

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
REGISTER(concat, Concat, kAll + kHalves)
REGISTER(concat_grad, ConcatGrad, kFloats + kHalves)
REGISTER(split, SplitBySizes, kAll + kHalves)
REGISTER(split_with_num, SplitWithNum, kAll + kHalves)

template <class T, class X> void Stack(const X& context, const Tensors& x, int axis, Tensor* out) {
  auto r = write<T>(context, out);
  Split s(out->dims(), axis);
  for (size_t k = 0; k < x.size(); ++k)
    copy_columns(context, "stack", bits(read<T>(*x[k])), bits(r), s.outer, s.inner, s.length * s.inner, int64_t(k) * s.inner, false);
}
template <class T, class X> void StackGrad(const X& context, const Tensor& dout, int axis, std::vector<Tensor*> dx) {
  cut<T>(context, "stack_grad", dout, axis, dx, std::vector<int64_t>(dx.size(), 1));
}
REGISTER(stack, Stack, kAll + kHalves)
REGISTER(stack_grad, StackGrad, kFloats + kHalves)

template <class T, class X> void Expand(const X& context, const Tensor& x, const phi::IntArray& shape, Tensor* out) {
  auto dims = shape.GetData();
  int missing = int(dims.size()) - x.dims().size();
  for (size_t k = 0; k < dims.size(); ++k)
    if (dims[k] == -1) dims[k] = int(k) < missing ? 1 : x.dims()[k - missing];
  out->Resize(phi::make_ddim(dims));
  auto at = walk(out->dims(), broadcast_strides(x.dims(), out->dims()));
  auto r = write<T>(context, out);
  copy_walk(context, "expand", at, bits(read<T>(x)), bits(r));
}
template <class T, class X>
void ExpandGrad(const X& context, const Tensor&, const Tensor& dout, const phi::IntArray&, Tensor* dx) {
  sum_to_shape<T>(context, "expand_grad", read<T>(dout), dout.dims(), dx);
}
REGISTER(expand, Expand, kAll + kHalves)
REGISTER(expand_grad, ExpandGrad, kFloats + kHalves)

template <class T, class X> void Tile(const X& context, const Tensor& x, const phi::IntArray& repeats, Tensor* out) {
  auto times = repeats.GetData();
  auto own = phi::vectorize(x.dims());
  while (own.size() < times.size()) own.insert(own.begin(), 1);
  while (times.size() < own.size()) times.insert(times.begin(), 1);
  // [a, b] repeated (m, n) times is [m, a, n, b] with strides of zero on m and n.
  auto step = contiguous_strides(phi::make_ddim(own));
  std::vector<int64_t> dims, strides, final_dims;
  for (size_t k = 0; k < own.size(); ++k) {
    final_dims.push_back(own[k] * times[k]);
    if (times[k] != 1) dims.push_back(times[k]), strides.push_back(0);
    dims.push_back(own[k]), strides.push_back(step[k]);
  }
  out->Resize(phi::make_ddim(final_dims));
  auto at = walk(phi::make_ddim(dims), strides);
  auto r = write<T>(context, out);
  copy_walk(context, "tile", at, bits(read<T>(x)), bits(r));
}
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

}  // namespace tablerec
