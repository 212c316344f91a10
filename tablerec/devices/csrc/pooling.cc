// Pooling. Gradients gather, so that they need no atomics and repeat exactly.
#include "elements.h"
#include "register.h"
#include "shapes.h"

namespace tablerec {

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

}  // namespace tablerec
