// Pooling, resizing, sampling on a grid. Gradients gather, so that they need no atomics and repeat exactly.
#include "accumulate.h"
#include "elements.h"
#include "host.h"
#include "register.h"
#include "shapes.h"

namespace tablerec {

// ---- pooling

struct Pooling {
  int64_t height, width, out_height, out_width;
  int64_t channels;  // beside one another at each place: those of NHWC; 1 in NCHW, where planes follow each other
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
  // The elements of a window.
  int64_t work() const {
    return adaptive ? height * width / std::max<int64_t>(1, out_height * out_width) : kernel_y * kernel_x;
  }
  // Where an element lies, of the pictures or planes: of the input, or of the output.
  struct Place { int64_t image, row, column, channel; };
  HOST_DEVICE Place place(int64_t i, int64_t high, int64_t wide) const {
    int64_t pixel = i / channels, line = pixel / wide, image = line / high;
    return {image, line - image * high, pixel - line * wide, i - pixel * channels};
  }
  HOST_DEVICE Place in(int64_t i) const { return place(i, height, width); }
  HOST_DEVICE Place out(int64_t i) const { return place(i, out_height, out_width); }
  HOST_DEVICE int64_t first(Place at) const { return at.image * height * width * channels + at.channel; }
  HOST_DEVICE int64_t output(Place at, int64_t row, int64_t column) const {
    return ((at.image * out_height + row) * out_width + column) * channels + at.channel;
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
  bool last = layout == "NHWC";
  REQUIRE(last || layout == "NCHW", "%s: layout %s is not supported on %s; NCHW and NHWC are", name, layout, device_name());
  if (paddings.size() == 2) paddings = {paddings[0], paddings[0], paddings[1], paddings[1]};
  Pooling p;
  int y = last ? 1 : 2, across = y + 1;
  p.height = x[y], p.width = x[across], p.out_height = out[y], p.out_width = out[across], p.channels = last ? x[3] : 1;
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

// The elements of a window that a member of a team takes, without a division for each.
struct InWindow {
  int row, column, high, wide, row_step, column_step;
  HOST_DEVICE InWindow(Pooling::Window rows, Pooling::Window columns, const Team& team)
      : row(0), column(0), high(int(rows.to - rows.from)), wide(int(columns.to - columns.from)), row_step(0), column_step(0) {
    if (wide <= 0) high = 0;  // wholly in the padding
    if (high <= 0) return;
    row = team.rank / wide, column = team.rank - row * wide;
    row_step = team.size / wide, column_step = team.size - row_step * wide;
  }
  HOST_DEVICE bool inside() const { return row < high; }
  HOST_DEVICE void advance() {
    row += row_step, column += column_step;
    if (column >= wide) column -= wide, ++row;
  }
};

// A window's largest element, the first of equal ones, as on the CPU; what is not a number is passed over.
template <class C> struct Peak {
  C value;
  int64_t place;  // within the plane; -1: none yet
};
template <class C> struct LargerPeak {
  HOST_DEVICE Peak<C> operator()(Peak<C> a, Peak<C> b) const {
    if (a.place < 0 || b.place < 0) return a.place < 0 ? b : a;
    return a.value > b.value || (a.value == b.value && a.place < b.place) ? a : b;
  }
};
template <class T> HOST_DEVICE Peak<Compute<T>> find_peak(const Pooling& p, const T* a, int64_t i, const Team& team) {
  using C = Compute<T>;
  auto here = p.out(i);
  auto rows = p.rows(here.row), columns = p.columns(here.column);
  const T* values = a + p.first(here);
  int64_t start = rows.from * p.width + columns.from;
  Peak<C> peak{-std::numeric_limits<C>::infinity(), -1};
  for (InWindow at(rows, columns, team); at.inside(); at.advance()) {
    int64_t place = start + at.row * p.width + at.column;
    C v = C(values[place * p.channels]);
    if (peak.place < 0 || v > peak.value) peak = {v, place};
  }
  return team.all(peak, LargerPeak<C>());
}

template <class T, class X>
void Pool2d(const X& context, const Tensor& x, const phi::IntArray& kernel, const std::vector<int64_t>& strides,
            const std::vector<int64_t>& paddings, bool, bool exclusive, const std::string& layout, const std::string& type,
            bool global, bool adaptive, const std::string& algorithm, Tensor* out) {
  auto p = pooling("pool2d", x.dims(), out->dims(), kernel, strides, paddings, exclusive, layout, type, global, adaptive, algorithm);
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  if (p.takes_max) {
    launch_teams(context, "pool2d", out->numel(), p.work(), DEVICE(int64_t i, Team team) {
      auto peak = find_peak(p, a, i, team);
      if (team.rank == 0) r[i] = T(peak.value);
    });
    return;
  }
  // A team for each output: global pooling has few outputs and long windows.
  launch_teams(context, "pool2d", out->numel(), p.work(), DEVICE(int64_t i, Team team) {
    auto here = p.out(i);
    auto rows = p.rows(here.row), columns = p.columns(here.column);
    const T* from = a + p.first(here) + (rows.from * p.width + columns.from) * p.channels;
    double sum = 0;
    for (InWindow at(rows, columns, team); at.inside(); at.advance())
      sum += double(Compute<T>(from[(at.row * p.width + at.column) * p.channels]));
    sum = team.sum(sum);
    if (team.rank == 0) r[i] = T(Compute<T>(sum / p.divisor(rows, columns)));
  });
}

// Each place gathers from the windows that chose it.
template <class T>
void give_to_peaks(const Context& context, const char* name, const Pooling& p, const int* peaks, const T* g, T* r, int64_t count) {
  launch(context, name, count, DEVICE(int64_t i) {
    auto here = p.in(i);
    int64_t row = here.row, column = here.column;
    auto high = p.holders(row, p.height, p.out_height, p.kernel_y, p.stride_y, p.top);
    auto wide = p.holders(column, p.width, p.out_width, p.kernel_x, p.stride_x, p.left);
    int place = int(row * p.width + column);
    Compute<T> sum = 0;
    for (int64_t u = high.from; u < high.to; ++u)
      for (int64_t v = wide.from; v < wide.to; ++v) {
        int64_t o = p.output(here, u, v);
        if (peaks[o] == place) sum += Compute<T>(g[o]);
      }
    r[i] = T(sum);
  });
}
template <class T, class X>
void Pool2dGrad(const X& context, const Tensor& x, const Tensor& out, const Tensor& dout, const phi::IntArray& kernel,
                const std::vector<int64_t>& strides, const std::vector<int64_t>& paddings, bool, bool exclusive,
                const std::string& layout, const std::string& type, bool global, bool adaptive, const std::string& algorithm,
                Tensor* dx) {
  using C = Compute<T>;
  auto p = pooling("pool2d_grad", x.dims(), out.dims(), kernel, strides, paddings, exclusive, layout, type, global, adaptive, algorithm);
  auto a = read<T>(x), g = read<T>(dout);
  auto r = write<T>(context, dx);
  if (p.takes_max) {
    Temporary<int> memory(context, out.numel());
    auto peaks = memory.data;
    launch_teams(context, "pool2d_grad", out.numel(), p.work(), DEVICE(int64_t i, Team team) {
      auto peak = find_peak(p, a, i, team);
      if (team.rank == 0) peaks[i] = int(peak.place);
    });
    give_to_peaks(context, "pool2d_grad", p, peaks, g, r, x.numel());
    return;
  }
  launch(context, "pool2d_grad", x.numel(), DEVICE(int64_t i) {
    auto here = p.in(i);
    int64_t row = here.row, column = here.column;
    auto high = p.holders(row, p.height, p.out_height, p.kernel_y, p.stride_y, p.top);
    auto wide = p.holders(column, p.width, p.out_width, p.kernel_x, p.stride_x, p.left);
    C sum = 0;
    for (int64_t u = high.from; u < high.to; ++u)
      for (int64_t v = wide.from; v < wide.to; ++v) {
        auto rows = p.rows(u), columns = p.columns(v);
        if (row < rows.from || row >= rows.to || column < columns.from || column >= columns.to) continue;
        sum += C(g[p.output(here, u, v)]) / C(p.divisor(rows, columns));
      }
    r[i] = T(sum);
  });
}
REGISTER(pool2d, Pool2d, kFloats + kHalves)
REGISTER(pool2d_grad, Pool2dGrad, kFloats + kHalves)

inline Pooling max_pooling(const char* name, const phi::DDim& x, const phi::DDim& out, const std::vector<int>& kernel,
                           const std::vector<int>& strides, const std::vector<int>& paddings, bool global, bool adaptive) {
  return pooling(name, x, out, phi::IntArray(std::vector<int64_t>(kernel.begin(), kernel.end())), {strides.begin(), strides.end()},
                 {paddings.begin(), paddings.end()}, true, "NCHW", "max", global, adaptive, "EXPLICIT");
}
template <class T, class X>
void MaxPool2dWithIndex(const X& context, const Tensor& x, const std::vector<int>& kernel, const std::vector<int>& strides,
                        const std::vector<int>& paddings, bool global, bool adaptive, bool, Tensor* out, Tensor* mask) {
  auto p = max_pooling("max_pool2d_with_index", x.dims(), out->dims(), kernel, strides, paddings, global, adaptive);
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  auto peaks = write<int>(context, mask);
  launch_teams(context, "max_pool2d_with_index", out->numel(), p.work(), DEVICE(int64_t i, Team team) {
    auto peak = find_peak(p, a, i, team);
    if (team.rank) return;
    r[i] = T(peak.value);
    peaks[i] = int(peak.place);
  });
}
template <class T, class X>
void MaxPool2dWithIndexGrad(const X& context, const Tensor& x, const Tensor& mask, const Tensor& dout, const std::vector<int>& kernel,
                            const std::vector<int>& strides, const std::vector<int>& paddings, bool global, bool adaptive, bool,
                            Tensor* dx) {
  auto p = max_pooling("max_pool2d_with_index_grad", x.dims(), dout.dims(), kernel, strides, paddings, global, adaptive);
  auto r = write<T>(context, dx);
  give_to_peaks(context, "max_pool2d_with_index_grad", p, read<int>(mask), read<T>(dout), r, x.numel());
}
inline void gives_places(phi::Kernel* kernel) { kernel->OutputAt(1).SetDataType(phi::DataType::INT32); }
REGISTER_AMENDED(max_pool2d_with_index, MaxPool2dWithIndex, kFloats + kHalves, gives_places)
REGISTER(max_pool2d_with_index_grad, MaxPool2dWithIndexGrad, kFloats + kHalves)

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
