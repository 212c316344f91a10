// Operators that move elements to other places: turned, rolled, padded, on one side of a diagonal.
#include "elements.h"
#include "register.h"

namespace tablerec {

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
