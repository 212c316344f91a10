// Depth-wise convolutions of low planes and of rows: those of a network that reads lines of text.
//
// The tiles of depthwise.cc would be mostly empty there. A thread computes a strip of kRowStrip places of a row straight
// from memory, in reads of 16 bytes: what neighbouring threads read again lies in the first cache.
#include "depthwise.h"
#include "elements.h"
#include "shared.h"

namespace tablerec {

constexpr int kRowStrip = 8, kLowest = 16;  // a plane of at most so many rows is low

// Rows of `width` places, of planes of `height`.
struct Rows {
  int channels, height, width, strips;
  explicit Rows(const Convolution& c)
      : channels(int(c.channels)), height(int(c.height)), width(int(c.width)), strips(width / kRowStrip) {}
  struct Place { int plane, y, first; };
  HOST_DEVICE Place operator()(int64_t i) const {
    uint32_t row = uint32_t(i) / uint32_t(strips), plane = row / uint32_t(height);
    return {int(plane), int(row - plane * uint32_t(height)), int(uint32_t(i) - row * uint32_t(strips)) * kRowStrip};
  }
};

// The strip from `first` on, and kMargin places on each side of it; outside the row are zeros.
template <int kMargin, class T> HOST_DEVICE void read_strip(const T* row, int width, int first, float (&to)[kRowStrip + 2 * kMargin]) {
  constexpr int N = 16 / int(sizeof(T));
  static_assert(kMargin <= N && kRowStrip % N == 0, "one read on each side holds the margin");
#pragma unroll
  for (int k = -1; k <= kRowStrip / N; ++k) {
    if (kMargin == 0 && (k < 0 || k == kRowStrip / N)) continue;
    int from = first + k * N;
    Pack<T, N> pack = {};
    if (from >= 0 && from < width) pack = *reinterpret_cast<const Pack<T, N>*>(row + from);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      int place = k * N + j + kMargin;
      if (place >= 0 && place < kRowStrip + 2 * kMargin) to[place] = float(pack.at[j]);
    }
  }
}

// out = in correlated with w, or with w turned: the input gradient.
template <class T, int KY, int KX>
void correlate_rows(const Context& context, const char* name, const T* in, const T* w, T* out, const Convolution& c, bool turned) {
  Rows rows(c);
  launch(context, name, c.images * c.channels * rows.height * rows.strips, DEVICE(int64_t i) {
    auto at = rows(i);
    const T* plane = in + int64_t(at.plane) * rows.height * rows.width;
    const T* weights = w + at.plane % rows.channels * (KY * KX);
    float sums[kRowStrip] = {};
#pragma unroll
    for (int u = 0; u < KY; ++u) {
      int y = at.y + u - KY / 2;
      if (y < 0 || y >= rows.height) continue;
      float values[kRowStrip + KX - 1];
      read_strip<KX / 2>(plane + y * rows.width, rows.width, at.first, values);
#pragma unroll
      for (int v = 0; v < KX; ++v) {
        int k = u * KX + v;
        float weight = float(weights[turned ? KY * KX - 1 - k : k]);
#pragma unroll
        for (int j = 0; j < kRowStrip; ++j) sums[j] += weight * values[j + v];
      }
    }
    constexpr int N = 16 / int(sizeof(T));
    T* to = out + (int64_t(at.plane) * rows.height + at.y) * rows.width + at.first;
#pragma unroll
    for (int k = 0; k < kRowStrip; k += N) {
      Pack<T, N> pack;
#pragma unroll
      for (int j = 0; j < N; ++j) pack.at[j] = T(sums[k + j]);
      *reinterpret_cast<Pack<T, N>*>(to + k) = pack;
    }
  });
}

// A team sums the products over some images of a channel; then the teams' sums are added.
template <class T, int KY, int KX>
void filter_gradient_rows(const Context& context, const char* name, const T* x, const T* dy, T* dw, const Convolution& c) {
  Rows rows(c);
  int64_t images = c.images, channels = c.channels;
  const int64_t teams = 132 * 16;
  int64_t each = std::max<int64_t>(1, images * channels / teams), chunks = (images + each - 1) / each;
  Temporary<float> memory_of_chunks(context, chunks * channels * KY * KX);
  auto partial = memory_of_chunks.data;
  launch_tiles<kTeam / 32 * KY * KX>(context, name, channels * chunks, DEVICE(int64_t item, Team team, float* memory) {
    int64_t chunk = item / channels, channel = item - chunk * channels, from = chunk * each;
    int64_t here = (images - from < each ? images - from : each) * rows.height * rows.strips;
    float sums[KY * KX] = {};
    for (int64_t i = team.rank; i < here; i += team.size) {
      auto at = rows(i);
      int64_t plane = ((from + at.plane) * channels + channel) * rows.height;
      float g[kRowStrip];
      read_strip<0>(dy + (plane + at.y) * rows.width, rows.width, at.first, g);
#pragma unroll
      for (int u = 0; u < KY; ++u) {
        int y = at.y + u - KY / 2;
        if (y < 0 || y >= rows.height) continue;
        float values[kRowStrip + KX - 1];
        read_strip<KX / 2>(x + (plane + y) * rows.width, rows.width, at.first, values);
#pragma unroll
        for (int v = 0; v < KX; ++v)
#pragma unroll
          for (int j = 0; j < kRowStrip; ++j) sums[u * KX + v] += g[j] * values[j + v];
      }
    }
    sum_over_team(team, sums, memory, partial + item * (KY * KX));
    meet();
  });
  add_chunks(context, partial, chunks, channels * KY * KX, dw);
}

// Whether the output lies as the input lies, in rows of whole strips.
static bool fits(const Convolution& c, std::initializer_list<const void*> addresses) {
  auto ky = c.kernel_height, kx = c.kernel_width;
  bool known = (ky == 3 && kx == 3) || (ky == 5 && kx == 5) || (ky == 1 && kx == 9);
  bool fits = known && c.groups == c.channels && c.out_channels == c.channels && c.stride_y == 1 && c.stride_x == 1 &&
              c.dilation_y == 1 && c.dilation_x == 1 && c.top == ky / 2 && c.left == kx / 2 && c.out_height == c.height &&
              c.out_width == c.width && c.width % kRowStrip == 0 && (ky == 1 || c.height <= kLowest) && c.images > 0 &&
              c.height > 0 && c.width > 0 && c.images * c.channels * c.height * c.width < (int64_t(1) << 31);
  for (auto address : addresses) fits = fits && reinterpret_cast<uintptr_t>(address) % 16 == 0;
  return fits;
}
// Calls f(height of the kernel, width) with both as constants.
template <class F> void with_kernel(const Convolution& c, F f) {
  if (c.kernel_height == 1) f(std::integral_constant<int, 1>(), std::integral_constant<int, 9>());
  else if (c.kernel_height == 3) f(std::integral_constant<int, 3>(), std::integral_constant<int, 3>());
  else f(std::integral_constant<int, 5>(), std::integral_constant<int, 5>());
}

template <class T>
bool depthwise_rows(const Context& context, const char* name, const T* in, const T* w, T* out, const Convolution& c, bool turned) {
  if (!fits(c, {in, out})) return false;
  with_kernel(c, [&](auto y, auto x) {
    correlate_rows<T, decltype(y)::value, decltype(x)::value>(context, name, in, w, out, c, turned);
  });
  return true;
}
template <class T>
bool depthwise_rows_filter_gradient(const Context& context, const char* name, const T* x, const T* dy, T* dw, const Convolution& c) {
  if (!fits(c, {x, dy})) return false;
  with_kernel(c, [&](auto ky, auto kx) {
    filter_gradient_rows<T, decltype(ky)::value, decltype(kx)::value>(context, name, x, dy, dw, c);
  });
  return true;
}

#define INSTANTIATE(T)                                                                                                    \
  template bool depthwise_rows(const Context&, const char*, const T*, const T*, T*, const Convolution&, bool);            \
  template bool depthwise_rows_filter_gradient(const Context&, const char*, const T*, const T*, T*, const Convolution&);
INSTANTIATE(float)
INSTANTIATE(phi::dtype::float16)
INSTANTIATE(phi::dtype::bfloat16)

}  // namespace tablerec
