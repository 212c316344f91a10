// Resizing, and sampling on a grid. Gradients gather where they can, so that they repeat exactly.
#include "accumulate.h"
#include "elements.h"
#include "host.h"
#include "register.h"
#include "shapes.h"

namespace tablerec {

// ---- resizing

// Rounded twice, as on the CPU: a card would contract it to one operation.
HOST_DEVICE inline float product_plus(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(__fmul_rn(a, b), c);
#else
  return a * b + c;
#endif
}

struct Resizing {
  int64_t height, width, out_height, out_width;
  float ratio_y, ratio_x;  // single precision, as on the CPU: the rounding decides
  bool corners, centres;   // align_corners; whether pixels are seen at their centres

  HOST_DEVICE int nearest(int place, float ratio, int size) const {
    int at = corners ? int(product_plus(ratio, float(place), 0.5f)) : int(ratio * float(place));
    return at < size ? at : size - 1;
  }
  // Between which two places an output lies, and how far from the first.
  struct Between {
    int first, second;
    float far;
  };
  HOST_DEVICE Between between(int place, float ratio, int size) const {
    float at = centres ? product_plus(ratio, float(place) + 0.5f, -0.5f) : ratio * float(place);
    if (at < 0) at = 0;
    int first = int(at);
    if (first > size - 1) first = size - 1;
    return {first, first + 1 < size ? first + 1 : size - 1, at - float(first)};
  }
  // The first output, or one before it, that a place goes into: within `reach` of it, seen as `between` sees it.
  HOST_DEVICE int first_user(int place, float ratio, float reach, bool centred) const {
    if (ratio <= 0) return 0;
    float centre = centred ? 0.5f : 0.0f, at = floorf((float(place) - reach + centre) / ratio - centre);
    return at < 0 ? 0 : int(at);
  }
};

// A few numbers that decide a shape; waits for the device where they lie there.
template <class N> std::vector<N> numbers_on_host(const Context& context, const Tensor& tensor) {
  Tensor copied;
  const Tensor* from = &tensor;
  if (tensor.place().GetType() != phi::AllocationType::CPU) {
    phi::Copy(context, tensor, phi::CPUPlace(), true, &copied);
    from = &copied;
  }
  std::vector<N> numbers;
  for (int64_t k = 0; k < from->numel(); ++k) {
    if (from->dtype() == phi::DataType::INT32) numbers.push_back(N(from->data<int>()[k]));
    else if (from->dtype() == phi::DataType::INT64) numbers.push_back(N(from->data<int64_t>()[k]));
    else if (from->dtype() == phi::DataType::FLOAT32) numbers.push_back(N(from->data<float>()[k]));
    else REQUIRE(false, "a size of type %s is not supported on %s", phi::DataTypeToString(from->dtype()), device_name());
  }
  return numbers;
}
inline Resizing resizing(const Context& context, const char* name, const Tensor& x, const OptionalTensor& size,
                         const paddle::optional<Tensors>& sizes, const OptionalTensor& scales, const std::string& layout, int out_height,
                         int out_width, std::vector<double> scale, bool corners, int mode) {
  REQUIRE(layout == "NCHW" && x.dims().size() == 4, "%s: layout %s in %d dimensions is not supported on %s; NCHW in 4 is", name, layout,
          x.dims().size(), device_name());
  Resizing r;
  r.height = x.dims()[2], r.width = x.dims()[3], r.corners = corners, r.centres = mode == 0 && !corners;
  std::vector<int64_t> wanted{out_height, out_width};
  bool by_sizes = sizes && sizes->size();
  if (by_sizes) {
    for (size_t k = 0; k < 2; ++k) wanted[k] = numbers_on_host<int64_t>(context, *sizes->at(k))[0];
    scale.clear();
  } else if (scales) {
    scale = numbers_on_host<double>(context, *scales);
  }
  double scale_y = scale.size() ? scale[0] : 0, scale_x = scale.size() > 1 ? scale[1] : scale_y;
  if (scale_y > 0 && scale_x > 0) wanted = {int64_t(r.height * scale_y), int64_t(r.width * scale_x)};
  if (size && !by_sizes) {
    wanted = numbers_on_host<int64_t>(context, *size);
    scale_y = scale_x = 0;
  }
  r.out_height = wanted[0], r.out_width = wanted[1];
  REQUIRE(r.out_height > 0 && r.out_width > 0, "%s to a size of %d x %d", name, int(r.out_height), int(r.out_width));
  auto ratio = [&](int64_t from, int64_t to, double by) {
    if (to <= 1) return 0.0f;
    if (corners) return float(from - 1) / float(to - 1);
    return by > 0 ? float(1 / by) : float(from) / float(to);
  };
  r.ratio_y = ratio(r.height, r.out_height, scale_y), r.ratio_x = ratio(r.width, r.out_width, scale_x);
  return r;
}
inline void sizes_may_be_on_host(phi::Kernel* kernel) {
  for (int k = 1; k < 4; ++k) kernel->InputAt(k).SetBackend(phi::Backend::ALL_BACKEND);
}

template <class T, class X>
void NearestInterp(const X& context, const Tensor& x, const OptionalTensor& size, const paddle::optional<Tensors>& sizes,
                   const OptionalTensor& scales, const std::string& layout, int, int out_height, int out_width,
                   const std::vector<double>& scale, const std::string&, bool corners, int mode, Tensor* out) {
  auto z = resizing(context, "nearest_interp", x, size, sizes, scales, layout, out_height, out_width, scale, corners, mode);
  out->Resize(phi::make_ddim({x.dims()[0], x.dims()[1], z.out_height, z.out_width}));
  auto a = bits(read<T>(x));
  auto r = bits(write<T>(context, out));
  launch(context, "nearest_interp", out->numel(), DEVICE(int64_t i) {
    int64_t line = i / z.out_width, plane = line / z.out_height;
    int row = z.nearest(int(line - plane * z.out_height), z.ratio_y, int(z.height));
    int column = z.nearest(int(i - line * z.out_width), z.ratio_x, int(z.width));
    r[i] = a[(plane * z.height + row) * z.width + column];
  });
}
template <class T, class X>
void NearestInterpGrad(const X& context, const Tensor& x, const OptionalTensor& size, const paddle::optional<Tensors>& sizes,
                       const OptionalTensor& scales, const Tensor& dout, const std::string& layout, int, int out_height,
                       int out_width, const std::vector<double>& scale, const std::string&, bool corners, int mode, Tensor* dx) {
  auto z = resizing(context, "nearest_interp_grad", x, size, sizes, scales, layout, out_height, out_width, scale, corners, mode);
  auto g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch(context, "nearest_interp_grad", x.numel(), DEVICE(int64_t i) {
    int64_t line = i / z.width, plane = line / z.height;
    int row = int(line - plane * z.height), column = int(i - line * z.width);
    const T* from = g + plane * z.out_height * z.out_width;
    // The outputs that come from here lie about place / ratio; the rounding is settled by asking.
    float reach = z.corners ? 0.5f : 0.0f;
    int first_u = z.first_user(row, z.ratio_y, reach, false), first_v = z.first_user(column, z.ratio_x, reach, false);
    Compute<T> sum = 0;
    for (int u = first_u; u < z.out_height; ++u) {
      int to = z.nearest(u, z.ratio_y, int(z.height));
      if (to > row) break;
      if (to < row) continue;
      for (int v = first_v; v < z.out_width; ++v) {
        int across = z.nearest(v, z.ratio_x, int(z.width));
        if (across > column) break;
        if (across == column) sum += Compute<T>(from[int64_t(u) * z.out_width + v]);
      }
    }
    r[i] = T(sum);
  });
}
template <class T, class X>
void BilinearInterp(const X& context, const Tensor& x, const OptionalTensor& size, const paddle::optional<Tensors>& sizes,
                    const OptionalTensor& scales, const std::string& layout, int, int out_height, int out_width,
                    const std::vector<double>& scale, const std::string&, bool corners, int mode, Tensor* out) {
  using C = Compute<T>;
  auto z = resizing(context, "bilinear_interp", x, size, sizes, scales, layout, out_height, out_width, scale, corners, mode);
  out->Resize(phi::make_ddim({x.dims()[0], x.dims()[1], z.out_height, z.out_width}));
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch(context, "bilinear_interp", out->numel(), DEVICE(int64_t i) {
    int64_t line = i / z.out_width, plane = line / z.out_height;
    auto y = z.between(int(line - plane * z.out_height), z.ratio_y, int(z.height));
    auto x = z.between(int(i - line * z.out_width), z.ratio_x, int(z.width));
    const T *upper = a + (plane * z.height + y.first) * z.width, *lower = a + (plane * z.height + y.second) * z.width;
    C near_x = C(1 - x.far), near_y = C(1 - y.far), far_x = C(x.far), far_y = C(y.far);
    r[i] = T(near_y * (near_x * C(upper[x.first]) + far_x * C(upper[x.second])) +
             far_y * (near_x * C(lower[x.first]) + far_x * C(lower[x.second])));
  });
}
template <class T, class X>
void BilinearInterpGrad(const X& context, const Tensor& x, const OptionalTensor& size, const paddle::optional<Tensors>& sizes,
                        const OptionalTensor& scales, const Tensor& dout, const std::string& layout, int, int out_height,
                        int out_width, const std::vector<double>& scale, const std::string&, bool corners, int mode, Tensor* dx) {
  using C = Compute<T>;
  auto z = resizing(context, "bilinear_interp_grad", x, size, sizes, scales, layout, out_height, out_width, scale, corners, mode);
  auto g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch(context, "bilinear_interp_grad", x.numel(), DEVICE(int64_t i) {
    int64_t line = i / z.width, plane = line / z.height;
    int row = int(line - plane * z.height), column = int(i - line * z.width);
    const T* from = g + plane * z.out_height * z.out_width;
    int first_u = z.first_user(row, z.ratio_y, 1, z.centres), first_v = z.first_user(column, z.ratio_x, 1, z.centres);
    C sum = 0;
    for (int u = first_u; u < z.out_height; ++u) {
      auto y = z.between(u, z.ratio_y, int(z.height));
      if (y.first > row) break;
      if (y.second < row) continue;
      // At the last place both neighbours are one.
      C weight = (y.first == row ? C(1 - y.far) : C(0)) + (y.second == row ? C(y.far) : C(0)), across = 0;
      for (int v = first_v; v < z.out_width; ++v) {
        auto x = z.between(v, z.ratio_x, int(z.width));
        if (x.first > column) break;
        if (x.second < column) continue;
        across += C(from[int64_t(u) * z.out_width + v]) * ((x.first == column ? C(1 - x.far) : C(0)) + (x.second == column ? C(x.far) : C(0)));
      }
      sum += weight * across;
    }
    r[i] = T(sum);
  });
}
REGISTER_AMENDED(nearest_interp, NearestInterp, kFloats + kIntegers + kHalves, sizes_may_be_on_host)
REGISTER_AMENDED(nearest_interp_grad, NearestInterpGrad, kFloats + kHalves, sizes_may_be_on_host)
REGISTER_AMENDED(bilinear_interp, BilinearInterp, kFloats + kHalves, sizes_may_be_on_host)
REGISTER_AMENDED(bilinear_interp_grad, BilinearInterpGrad, kFloats + kHalves, sizes_may_be_on_host)

// ---- sampling on a grid

template <class C> struct Sampler {
  int64_t channels, height, width, out_height, out_width;
  bool align_corners, nearest, border;

  struct Pixel { C at, slope; };
  // From [-1, 1] to pixels, and how fast. A border holds what is beyond it.
  HOST_DEVICE Pixel to_pixels(C at, int64_t size) const {
    C pixel = align_corners ? (at + 1) * C(0.5) * (size - 1) : ((at + 1) * size - 1) * C(0.5);
    C slope = align_corners ? C(0.5) * (size - 1) : C(0.5) * size;
    if (!border) return {pixel, slope};
    if (pixel < 0) return {C(0), C(0)};
    return pixel > C(size - 1) ? Pixel{C(size - 1), C(0)} : Pixel{pixel, slope};
  }
  HOST_DEVICE bool inside(int64_t y, int64_t x) const { return y >= 0 && y < height && x >= 0 && x < width; }
};
template <class T>
Sampler<Compute<T>> sampler(const char* name, const Tensor& x, const Tensor& grid, const std::string& mode, const std::string& padding,
                            bool align_corners) {
  REQUIRE((mode == "bilinear" || mode == "nearest") && (padding == "zeros" || padding == "border") && x.dims().size() == 4,
          "%s: mode %s, padding %s in %d dimensions is not supported on %s; bilinear and nearest, zeros and border in 4 are", name, mode,
          padding, x.dims().size(), device_name());
  return {x.dims()[1], x.dims()[2], x.dims()[3], grid.dims()[1], grid.dims()[2], align_corners, mode == "nearest", padding == "border"};
}
template <class T, class X>
void GridSample(const X& context, const Tensor& x, const Tensor& grid, const std::string& mode, const std::string& padding,
                bool align_corners, Tensor* out) {
  using C = Compute<T>;
  auto s = sampler<T>("grid_sample", x, grid, mode, padding, align_corners);
  auto a = read<T>(x), at = read<T>(grid);
  auto r = write<T>(context, out);
  int64_t pixels = s.out_height * s.out_width;
  launch(context, "grid_sample", out->numel(), DEVICE(int64_t i) {
    int64_t channel = i / pixels, image = channel / s.channels, place = image * pixels + i - channel * pixels;
    const T* plane = a + channel * s.height * s.width;
    C px = s.to_pixels(C(at[2 * place]), s.width).at, py = s.to_pixels(C(at[2 * place + 1]), s.height).at;
    if (s.nearest) {
      int64_t row = int64_t(rint(py)), column = int64_t(rint(px));
      r[i] = s.inside(row, column) ? plane[row * s.width + column] : T(0);
      return;
    }
    int64_t left = int64_t(floor(px)), top = int64_t(floor(py));
    C fx = px - left, fy = py - top, sum = 0;
    for (int u = 0; u < 2; ++u)
      for (int v = 0; v < 2; ++v)
        if (s.inside(top + u, left + v))
          sum += C(plane[(top + u) * s.width + left + v]) * (u ? fy : 1 - fy) * (v ? fx : 1 - fx);
    r[i] = T(sum);
  });
}
template <class T, class X>
void GridSampleGrad(const X& context, const Tensor& x, const Tensor& grid, const Tensor& dout, const std::string& mode,
                    const std::string& padding, bool align_corners, Tensor* dx, Tensor* dgrid) {
  using C = Compute<T>;
  auto s = sampler<T>("grid_sample_grad", x, grid, mode, padding, align_corners);
  auto a = read<T>(x), at = read<T>(grid), g = read<T>(dout);
  Sums<T> sums(context, "grid_sample_grad", dx);
  auto rx = sums.data;
  auto rg = write<T>(context, dgrid);
  int64_t pixels = s.out_height * s.out_width;
  // Places of a grid may share pixels: the one gradient here that adds atomically.
  launch(context, "grid_sample_grad", grid.numel() / 2, DEVICE(int64_t place) {
    int64_t image = place / pixels;
    auto across = s.to_pixels(C(at[2 * place]), s.width), down = s.to_pixels(C(at[2 * place + 1]), s.height);
    C px = s.nearest ? rint(across.at) : across.at, py = s.nearest ? rint(down.at) : down.at;
    int64_t left = int64_t(floor(px)), top = int64_t(floor(py));
    C fx = px - left, fy = py - top, gx = 0, gy = 0;
    int corners = s.nearest ? 1 : 2;
    for (int64_t c = 0; c < s.channels; ++c) {
      C d = C(g[(image * s.channels + c) * pixels + place - image * pixels]);
      int64_t plane = (image * s.channels + c) * s.height * s.width;
      for (int u = 0; u < corners; ++u)
        for (int v = 0; v < corners; ++v) {
          if (!s.inside(top + u, left + v)) continue;
          int64_t from = plane + (top + u) * s.width + left + v;
          if (rx) add_to(rx + from, C(d * (u ? fy : 1 - fy) * (v ? fx : 1 - fx)));
          if (s.nearest || !rg) continue;
          C here = d * C(a[from]);
          gx += here * (v ? 1 : -1) * (u ? fy : 1 - fy);
          gy += here * (u ? 1 : -1) * (v ? fx : 1 - fx);
        }
    }
    if (rg) {
      rg[2 * place] = T(gx * across.slope);
      rg[2 * place + 1] = T(gy * down.slope);
    }
  });
  sums.finish();
}
REGISTER(grid_sample, GridSample, kFloats + kHalves)
REGISTER(grid_sample_grad, GridSampleGrad, kFloats + kHalves)

}  // namespace tablerec
