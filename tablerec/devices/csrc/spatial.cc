// Pooling, resizing, sampling on a grid. Gradients gather, so that they need no atomics and repeat exactly.
#include "register.h"
#include "shapes.h"

namespace tablerec {

// ---- pooling

struct Pooling {
  int64_t planes, height, width, out_height, out_width;
  int64_t kernel_y, kernel_x, stride_y, stride_x, top, left;
  bool takes_max, adaptive, without_padding;

  struct Window { int64_t from, to, full; };
  HOST_DEVICE Window window(int64_t place, int64_t size, int64_t out_size, int64_t kernel, int64_t stride, int64_t before) const {
    if (adaptive) {
      int64_t from = place * size / out_size, to = ((place + 1) * size + out_size - 1) / out_size;
      return {from, to, to - from};
    }
    int64_t from = place * stride - before, to = from + kernel;
    return {from < 0 ? 0 : from, to > size ? size : to, kernel};
  }
  HOST_DEVICE Window rows(int64_t y) const { return window(y, height, out_height, kernel_y, stride_y, top); }
  HOST_DEVICE Window columns(int64_t x) const { return window(x, width, out_width, kernel_x, stride_x, left); }
  HOST_DEVICE int64_t divisor(Window r, Window c) const {
    return without_padding || adaptive ? (r.to - r.from) * (c.to - c.from) : r.full * c.full;
  }
  // The windows that may hold a place: [from, to).
  HOST_DEVICE Window holders(int64_t place, int64_t size, int64_t out_size, int64_t kernel, int64_t stride, int64_t before) const {
    if (adaptive) return {place * out_size / size, ((place + 1) * out_size + size - 1) / size, 0};
    int64_t first = place + before - kernel + 1;
    int64_t from = first <= 0 ? 0 : (first + stride - 1) / stride, to = (place + before) / stride + 1;
    return {from, to > out_size ? out_size : to, 0};
  }
};

inline Pooling pooling(const char* name, const phi::DDim& x, const phi::DDim& out, const phi::IntArray& kernel,
                       const std::vector<int64_t>& strides, std::vector<int64_t> paddings, bool exclusive,
                       const std::string& layout, const std::string& type, bool global, bool adaptive,
                       const std::string& algorithm) {
  REQUIRE(layout == "NCHW", "%s: layout %s is not supported on %s; NCHW is", name, layout, device_name());
  if (paddings.size() == 2) paddings = {paddings[0], paddings[0], paddings[1], paddings[1]};
  Pooling p;
  p.planes = x[0] * x[1], p.height = x[2], p.width = x[3], p.out_height = out[2], p.out_width = out[3];
  p.kernel_y = kernel[0], p.kernel_x = kernel[1], p.stride_y = strides[0], p.stride_x = strides[1];
  p.top = paddings[0], p.left = paddings[2];
  if (algorithm == "SAME") {
    p.top = std::max<int64_t>((p.out_height - 1) * p.stride_y + p.kernel_y - p.height, 0) / 2;
    p.left = std::max<int64_t>((p.out_width - 1) * p.stride_x + p.kernel_x - p.width, 0) / 2;
  }
  if (algorithm == "VALID" || global) p.top = p.left = 0;
  if (global) p.kernel_y = p.height, p.kernel_x = p.width;
  p.takes_max = type == "max", p.adaptive = adaptive, p.without_padding = exclusive;
  return p;
}

template <class T, class X>
void Pool2d(const X& context, const Tensor& x, const phi::IntArray& kernel, const std::vector<int64_t>& strides,
            const std::vector<int64_t>& paddings, bool, bool exclusive, const std::string& layout, const std::string& type,
            bool global, bool adaptive, const std::string& algorithm, Tensor* out) {
  auto p = pooling("pool2d", x.dims(), out->dims(), kernel, strides, paddings, exclusive, layout, type, global, adaptive, algorithm);
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  // A team for each output: global pooling has few outputs and long windows.
  int64_t work = p.adaptive ? p.height * p.width / std::max<int64_t>(1, p.out_height * p.out_width) : p.kernel_y * p.kernel_x;
  launch_teams(context, "pool2d", out->numel(), work, DEVICE(int64_t i, Team team) {
    auto rows = p.rows(i / p.out_width % p.out_height), columns = p.columns(i % p.out_width);
    const T* plane = a + i / (p.out_width * p.out_height) * p.height * p.width;
    int64_t wide = columns.to - columns.from, count = (rows.to - rows.from) * wide;
    T most = -std::numeric_limits<T>::infinity();
    double sum = 0;
    for (int64_t j = team.rank; j < count; j += team.size) {
      T v = plane[(rows.from + j / wide) * p.width + columns.from + j % wide];
      sum += v;
      most = v > most ? v : most;
    }
    if (p.takes_max) most = team.max(most);
    else sum = team.sum(sum);
    if (team.rank == 0) r[i] = p.takes_max ? most : T(sum / p.divisor(rows, columns));
  });
}

template <class T, class X>
void Pool2dGrad(const X& context, const Tensor& x, const Tensor& out, const Tensor& dout, const phi::IntArray& kernel,
                const std::vector<int64_t>& strides, const std::vector<int64_t>& paddings, bool, bool exclusive,
                const std::string& layout, const std::string& type, bool global, bool adaptive, const std::string& algorithm,
                Tensor* dx) {
  auto p = pooling("pool2d_grad", x.dims(), out.dims(), kernel, strides, paddings, exclusive, layout, type, global, adaptive, algorithm);
  auto a = read<T>(x), y = read<T>(out), g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch(context, "pool2d_grad", x.numel(), DEVICE(int64_t i) {
    int64_t column = i % p.width, row = i / p.width % p.height, plane = i / (p.width * p.height);
    const T* values = a + plane * p.height * p.width;
    auto high = p.holders(row, p.height, p.out_height, p.kernel_y, p.stride_y, p.top);
    auto wide = p.holders(column, p.width, p.out_width, p.kernel_x, p.stride_x, p.left);
    T sum = 0;
    for (int64_t u = high.from; u < high.to; ++u)
      for (int64_t v = wide.from; v < wide.to; ++v) {
        int64_t o = (plane * p.out_height + u) * p.out_width + v;
        auto rows = p.rows(u), columns = p.columns(v);
        if (row < rows.from || row >= rows.to || column < columns.from || column >= columns.to) continue;
        if (!p.takes_max) {
          sum += g[o] / T(p.divisor(rows, columns));
          continue;
        }
        bool first = values[row * p.width + column] == y[o];  // of equal ones the first is the maximum
        for (int64_t h = rows.from; h <= row && first; ++h)
          for (int64_t z = columns.from; z < columns.to && first; ++z)
            if ((h < row || z < column) && values[h * p.width + z] == y[o]) first = false;
        if (first) sum += g[o];
      }
    r[i] = sum;
  });
}
REGISTER(pool2d, Pool2d, kFloats)
REGISTER(pool2d_grad, Pool2dGrad, kFloats)

// ---- nearest neighbour

struct Resizing {
  int64_t height, width, out_height, out_width;
  float ratio_y, ratio_x;  // single precision, as on the CPU: the rounding decides
  HOST_DEVICE int64_t source(int64_t place, float ratio, int64_t size) const {
    int64_t at = int64_t(ratio * place);
    return at < size ? at : size - 1;
  }
};
inline Resizing resizing(const char* name, const Tensor& x, const OptionalTensor& size, const paddle::optional<Tensors>& sizes,
                         const OptionalTensor& scales, const std::string& layout, int out_height, int out_width,
                         const std::vector<double>& scale, bool align_corners) {
  REQUIRE(!size && !scales && !(sizes && sizes->size()), "%s with a size given as a tensor is not supported on %s", name, device_name());
  REQUIRE(layout == "NCHW" && !align_corners, "%s: layout %s, align_corners %d is not supported on %s; NCHW without it is", name,
          layout, align_corners, device_name());
  double scale_y = scale.size() ? scale[0] : 0, scale_x = scale.size() > 1 ? scale[1] : scale_y;
  Resizing r;
  r.height = x.dims()[2], r.width = x.dims()[3];
  r.out_height = scale_y > 0 ? int64_t(r.height * scale_y) : out_height;
  r.out_width = scale_x > 0 ? int64_t(r.width * scale_x) : out_width;
  r.ratio_y = scale_y > 0 ? float(1 / scale_y) : float(r.height) / r.out_height;
  r.ratio_x = scale_x > 0 ? float(1 / scale_x) : float(r.width) / r.out_width;
  return r;
}
template <class T, class X>
void NearestInterp(const X& context, const Tensor& x, const OptionalTensor& size, const paddle::optional<Tensors>& sizes,
                   const OptionalTensor& scales, const std::string& layout, int, int out_height, int out_width,
                   const std::vector<double>& scale, const std::string&, bool align_corners, int, Tensor* out) {
  auto z = resizing("nearest_interp", x, size, sizes, scales, layout, out_height, out_width, scale, align_corners);
  out->Resize(phi::make_ddim({x.dims()[0], x.dims()[1], z.out_height, z.out_width}));
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch(context, "nearest_interp", out->numel(), DEVICE(int64_t i) {
    int64_t row = z.source(i / z.out_width % z.out_height, z.ratio_y, z.height);
    int64_t column = z.source(i % z.out_width, z.ratio_x, z.width);
    r[i] = a[(i / (z.out_width * z.out_height) * z.height + row) * z.width + column];
  });
}
template <class T, class X>
void NearestInterpGrad(const X& context, const Tensor& x, const OptionalTensor& size, const paddle::optional<Tensors>& sizes,
                       const OptionalTensor& scales, const Tensor& dout, const std::string& layout, int, int out_height,
                       int out_width, const std::vector<double>& scale, const std::string&, bool align_corners, int, Tensor* dx) {
  auto z = resizing("nearest_interp_grad", x, size, sizes, scales, layout, out_height, out_width, scale, align_corners);
  auto g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch(context, "nearest_interp_grad", x.numel(), DEVICE(int64_t i) {
    int64_t column = i % z.width, row = i / z.width % z.height;
    const T* plane = g + i / (z.width * z.height) * z.out_height * z.out_width;
    // The outputs that come from here lie about place / ratio; the rounding is settled by asking.
    int64_t first_u = int64_t(row / z.ratio_y) - 1, first_v = int64_t(column / z.ratio_x) - 1;
    T sum = 0;
    for (int64_t u = first_u < 0 ? 0 : first_u; u < z.out_height && z.source(u, z.ratio_y, z.height) <= row; ++u) {
      if (z.source(u, z.ratio_y, z.height) < row) continue;
      for (int64_t v = first_v < 0 ? 0 : first_v; v < z.out_width && z.source(v, z.ratio_x, z.width) <= column; ++v)
        if (z.source(v, z.ratio_x, z.width) == column) sum += plane[u * z.out_width + v];
    }
    r[i] = sum;
  });
}
REGISTER(nearest_interp, NearestInterp, kFloats)
REGISTER(nearest_interp_grad, NearestInterpGrad, kFloats)

// ---- bilinear sampling on a grid

template <class T> struct Sampler {
  int64_t channels, height, width, out_height, out_width;
  bool align_corners;
  // From [-1, 1] to pixels.
  HOST_DEVICE T to_pixels(T at, int64_t size) const {
    return align_corners ? (at + 1) * T(0.5) * (size - 1) : ((at + 1) * size - 1) * T(0.5);
  }
  HOST_DEVICE T slope(int64_t size) const { return align_corners ? T(0.5) * (size - 1) : T(0.5) * size; }
  HOST_DEVICE bool inside(int64_t y, int64_t x) const { return y >= 0 && y < height && x >= 0 && x < width; }
};
template <class T>
Sampler<T> sampler(const char* name, const Tensor& x, const Tensor& grid, const std::string& mode, const std::string& padding,
                   bool align_corners) {
  REQUIRE(mode == "bilinear" && padding == "zeros" && x.dims().size() == 4,
          "%s: mode %s, padding %s in %d dimensions is not supported on %s; bilinear, zeros in 4 is", name, mode, padding,
          x.dims().size(), device_name());
  return {x.dims()[1], x.dims()[2], x.dims()[3], grid.dims()[1], grid.dims()[2], align_corners};
}
template <class T, class X>
void GridSample(const X& context, const Tensor& x, const Tensor& grid, const std::string& mode, const std::string& padding,
                bool align_corners, Tensor* out) {
  auto s = sampler<T>("grid_sample", x, grid, mode, padding, align_corners);
  auto a = read<T>(x), at = read<T>(grid);
  auto r = write<T>(context, out);
  launch(context, "grid_sample", out->numel(), DEVICE(int64_t i) {
    int64_t pixels = s.out_height * s.out_width, image = i / (pixels * s.channels), place = image * pixels + i % pixels;
    const T* plane = a + i / pixels * s.height * s.width;
    T px = s.to_pixels(at[2 * place], s.width), py = s.to_pixels(at[2 * place + 1], s.height);
    int64_t left = int64_t(floor(px)), top = int64_t(floor(py));
    T fx = px - left, fy = py - top, sum = 0;
    for (int u = 0; u < 2; ++u)
      for (int v = 0; v < 2; ++v)
        if (s.inside(top + u, left + v))
          sum += plane[(top + u) * s.width + left + v] * (u ? fy : 1 - fy) * (v ? fx : 1 - fx);
    r[i] = sum;
  });
}
template <class T> HOST_DEVICE void add_atomically(T* to, T value) {
#ifdef __CUDA_ARCH__
  atomicAdd(to, value);
#else
  *to += value;
#endif
}
template <class T, class X>
void GridSampleGrad(const X& context, const Tensor& x, const Tensor& grid, const Tensor& dout, const std::string& mode,
                    const std::string& padding, bool align_corners, Tensor* dx, Tensor* dgrid) {
  auto s = sampler<T>("grid_sample_grad", x, grid, mode, padding, align_corners);
  auto a = read<T>(x), at = read<T>(grid), g = read<T>(dout);
  auto rx = write<T>(context, dx), rg = write<T>(context, dgrid);
  if (rx) launch(context, "grid_sample_grad", x.numel(), DEVICE(int64_t i) { rx[i] = 0; });
  int64_t pixels = s.out_height * s.out_width;
  // Places of a grid may share pixels: the one gradient here that adds atomically.
  launch(context, "grid_sample_grad", grid.numel() / 2, DEVICE(int64_t place) {
    int64_t image = place / pixels;
    T px = s.to_pixels(at[2 * place], s.width), py = s.to_pixels(at[2 * place + 1], s.height);
    int64_t left = int64_t(floor(px)), top = int64_t(floor(py));
    T fx = px - left, fy = py - top, gx = 0, gy = 0;
    for (int64_t c = 0; c < s.channels; ++c) {
      T d = g[(image * s.channels + c) * pixels + place % pixels];
      int64_t plane = (image * s.channels + c) * s.height * s.width;
      for (int u = 0; u < 2; ++u)
        for (int v = 0; v < 2; ++v) {
          if (!s.inside(top + u, left + v)) continue;
          int64_t from = plane + (top + u) * s.width + left + v;
          if (rx) add_atomically(rx + from, T(d * (u ? fy : 1 - fy) * (v ? fx : 1 - fx)));
          gx += d * a[from] * (v ? 1 : -1) * (u ? fy : 1 - fy);
          gy += d * a[from] * (u ? 1 : -1) * (v ? fx : 1 - fx);
        }
    }
    if (rg) {
      rg[2 * place] = gx * s.slope(s.width);
      rg[2 * place + 1] = gy * s.slope(s.height);
    }
  });
}
REGISTER(grid_sample, GridSample, kFloats)
REGISTER(grid_sample_grad, GridSampleGrad, kFloats)

}  // namespace tablerec
