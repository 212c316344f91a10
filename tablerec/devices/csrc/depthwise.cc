// Depth-wise convolutions on tiles in shared memory.
//
// A team of threads brings a tile of a plane, with its margin, to shared memory as float. Each thread then computes
// strips of kStrip places along a row. The threads of a warp take the same strip of successive rows, and rows lie an
// odd number of 16-byte words apart: reads of four floats then meet no bank conflict.
#include "depthwise.h"
#include "shared.h"

namespace tablerec {

constexpr int kTile = 32, kStrip = 8, kStrips = kTile * kTile / kStrip;
constexpr int kPlacePitch = kTile + 4;

// What a tile of kTile x kTile places reads of the plane, for a kernel of K x K and stride S.
template <int K, int S> struct Field {
  static constexpr int side = (kTile - 1) * S + K;
  static constexpr int reach = (kStrip - 1) * S + K, fours = (reach + 3) / 4;  // what a strip reads of a row
  static constexpr int used = (kTile - kStrip) * S + 4 * fours;
  static constexpr int pitch = used % 8 == 4 ? used : used + 4;
  static constexpr int floats = side * pitch;
};

struct alignas(16) Four { float at[4]; };

// Tiles over a plane of `height` x `width` places.
struct Tiles {
  int across, count;
  Tiles(int64_t height, int64_t width)
      : across(int((width + kTile - 1) / kTile)), count(int((height + kTile - 1) / kTile) * across) {}
  HOST_DEVICE int top(int tile) const { return tile / across * kTile; }
  HOST_DEVICE int left(int tile) const { return tile % across * kTile; }
};

// A plane to read from; outside it are zeros, and with `shift` 1 also between its elements.
template <class T> struct Source {
  const T* plane;
  int height, width, shift;
  HOST_DEVICE float operator()(int y, int x) const {
    bool hit = y >= 0 && x >= 0 && (((y | x) >> shift) << shift) == (y | x);
    y >>= shift, x >>= shift;
    return hit && y < height && x < width ? float(plane[int64_t(y) * width + x]) : 0.f;
  }
};

// Brings the kSide x kSide elements from (top, left) on to shared memory.
template <int kSide, int kPitch, class T> HOST_DEVICE void bring(Team team, const Source<T>& from, int top, int left, float* to) {
  constexpr int count = kSide * kSide, flight = 4;  // elements of a thread that are under way at the same time
  for (int i = team.rank; i < count; i += flight * team.size) {
    float values[flight];
#pragma unroll
    for (int k = 0; k < flight; ++k) {
      int j = i + k * team.size;
      values[k] = j < count ? from(top + j / kSide, left + j % kSide) : 0.f;
    }
#pragma unroll
    for (int k = 0; k < flight; ++k) {
      int j = i + k * team.size;
      if (j < count) to[j / kSide * kPitch + j % kSide] = values[k];
    }
  }
}

template <int kFours> HOST_DEVICE void read_fours(const float* from, float* to) {
#pragma unroll
  for (int k = 0; k < kFours; ++k) {
    Four four = reinterpret_cast<const Four*>(from)[k];
#pragma unroll
    for (int j = 0; j < 4; ++j) to[4 * k + j] = four.at[j];
  }
}

// out = in correlated with w, plane by plane. The kernel may be flipped and the input spread: the input gradient.
struct Correlation {
  int64_t planes, channels;
  int height, width, out_height, out_width, top, left, shift;
  bool flipped;
};

template <class T, int K, int S>
void correlate(const Context& context, const char* name, const T* in, const T* w, T* out, Correlation c) {
  constexpr int floats = Field<K, S>::floats + kTile * kPlacePitch + K * K;
  Tiles tiles(c.out_height, c.out_width);
  launch_tiles<floats>(context, name, c.planes * tiles.count, DEVICE(int64_t item, Team team, float* memory) {
    using F = Field<K, S>;
    float *field = memory, *places = memory + F::floats, *kernel = places + kTile * kPlacePitch;
    int64_t plane = item / tiles.count;
    int tile = int(item - plane * tiles.count), top = tiles.top(tile), left = tiles.left(tile);
    const T* weights = w + plane % c.channels * (K * K);
    for (int i = team.rank; i < K * K; i += team.size) kernel[i] = float(weights[c.flipped ? K * K - 1 - i : i]);
    Source<T> source{in + plane * c.height * c.width, c.height, c.width, c.shift};
    bring<F::side, F::pitch>(team, source, top * S - c.top, left * S - c.left, field);
    meet();
    for (int strip = team.rank; strip < kStrips; strip += team.size) {
      int row = strip % kTile, first = strip / kTile * kStrip;
      if (top + row >= c.out_height || left + first >= c.out_width) continue;
      float sums[kStrip] = {};
#pragma unroll
      for (int u = 0; u < K; ++u) {
        float values[4 * F::fours];
        read_fours<F::fours>(field + (row * S + u) * F::pitch + first * S, values);
#pragma unroll
        for (int v = 0; v < K; ++v) {
          float weight = kernel[u * K + v];
#pragma unroll
          for (int j = 0; j < kStrip; ++j) sums[j] += weight * values[j * S + v];
        }
      }
#pragma unroll
      for (int k = 0; k < kStrip / 4; ++k)
        reinterpret_cast<Four*>(places + row * kPlacePitch + first)[k] =
            Four{sums[4 * k], sums[4 * k + 1], sums[4 * k + 2], sums[4 * k + 3]};
    }
    meet();
    for (int i = team.rank; i < kTile * kTile; i += team.size) {
      int row = i / kTile, column = i % kTile;
      if (top + row < c.out_height && left + column < c.out_width)
        out[(plane * c.out_height + top + row) * c.out_width + left + column] = T(places[row * kPlacePitch + column]);
    }
    meet();  // the next item writes to the same memory
  });
}

// A team sums K x K products over several tiles of a channel; a second kernel adds the teams' sums, always in the
// same order.
template <class T, int K, int S>
void filter_gradient(const Context& context, const char* name, const T* x, const T* dy, T* dw, const Convolution& c) {
  constexpr int floats = Field<K, S>::floats + kTile * kPlacePitch;
  static_assert(floats >= kTeam / 32 * K * K, "the sums of the warps lie there too");
  Tiles tiles(c.out_height, c.out_width);
  int64_t channels = c.channels, total = c.images * tiles.count;
  const int64_t teams = 132 * 16, least = 8;  // the sums over a team cost about as much as four tiles
  int64_t each = std::max<int64_t>(std::min(total, least), total * channels / teams), chunks = (total + each - 1) / each;
  Temporary<float> memory_of_chunks(context, chunks * channels * K * K);
  auto partial = memory_of_chunks.data;
  int height = int(c.height), width = int(c.width), out_height = int(c.out_height), out_width = int(c.out_width);
  int margin_y = c.top, margin_x = c.left;
  launch_tiles<floats>(context, name, channels * chunks, DEVICE(int64_t item, Team team, float* memory) {
    using F = Field<K, S>;
    float *field = memory, *places = memory + F::floats;
    int64_t chunk = item / channels, channel = item - chunk * channels;
    int64_t to = (chunk + 1) * each < total ? (chunk + 1) * each : total;
    float sums[K * K] = {};
    for (int64_t j = chunk * each; j < to; ++j) {
      int64_t image = j / tiles.count, plane = image * channels + channel;
      int tile = int(j - image * tiles.count), top = tiles.top(tile), left = tiles.left(tile);
      meet();  // the memory may still be read
      Source<T> source{x + plane * height * width, height, width, 0};
      bring<F::side, F::pitch>(team, source, top * S - margin_y, left * S - margin_x, field);
      Source<T> gradient{dy + plane * out_height * out_width, out_height, out_width, 0};
      bring<kTile, kPlacePitch>(team, gradient, top, left, places);
      meet();
      for (int strip = team.rank; strip < kStrips; strip += team.size) {
        int row = strip % kTile, first = strip / kTile * kStrip;
        if (top + row >= out_height || left + first >= out_width) continue;
        float g[kStrip];
        read_fours<kStrip / 4>(places + row * kPlacePitch + first, g);
#pragma unroll
        for (int u = 0; u < K; ++u) {
          float values[4 * F::fours];
          read_fours<F::fours>(field + (row * S + u) * F::pitch + first * S, values);
#pragma unroll
          for (int v = 0; v < K; ++v)
#pragma unroll
            for (int q = 0; q < kStrip; ++q) sums[u * K + v] += g[q] * values[q * S + v];
        }
      }
    }
    sum_over_team(team, sums, memory, partial + (chunk * channels + channel) * (K * K));
    meet();
  });
  add_chunks(context, partial, chunks, channels * K * K, dw);
}

static bool fits(const Convolution& c) {
  auto k = c.kernel_height;
  return c.images > 0 && c.channels > 0 && c.groups == c.channels && c.out_channels == c.channels && k == c.kernel_width &&
         (k == 3 || k == 5 || k == 7 || k == 9) && c.stride_y == c.stride_x && (c.stride_y == 1 || c.stride_y == 2) &&
         c.dilation_y == 1 && c.dilation_x == 1 && c.height > 0 && c.width > 0 && c.out_height > 0 && c.out_width > 0 &&
         c.height * c.width < (int64_t(1) << 30) && c.out_height * c.out_width < (int64_t(1) << 30);
}

// Calls f(K, S) with both as constants.
template <class F> void with_constants(int64_t kernel, int stride, F f) {
  auto with_kernel = [&](auto s) {
    if (kernel == 3) f(std::integral_constant<int, 3>(), s);
    else if (kernel == 5) f(std::integral_constant<int, 5>(), s);
    else if (kernel == 7) f(std::integral_constant<int, 7>(), s);
    else f(std::integral_constant<int, 9>(), s);
  };
  if (stride == 1) with_kernel(std::integral_constant<int, 1>());
  else with_kernel(std::integral_constant<int, 2>());
}

template <class T>
bool depthwise_forward(const Context& context, const char* name, const T* x, const T* w, T* y, const Convolution& c) {
  if (depthwise_rows(context, name, x, w, y, c, false)) return true;
  if (!fits(c)) return false;
  Correlation how{c.images * c.channels, c.channels, int(c.height), int(c.width), int(c.out_height), int(c.out_width),
                  c.top, c.left, 0, false};
  with_constants(c.kernel_height, c.stride_y, [&](auto k, auto s) {
    correlate<T, decltype(k)::value, decltype(s)::value>(context, name, x, w, y, how);
  });
  return true;
}

template <class T>
bool depthwise_input_gradient(const Context& context, const char* name, const T* dy, const T* w, T* dx, const Convolution& c) {
  if (depthwise_rows(context, name, dy, w, dx, c, true)) return true;
  if (!fits(c)) return false;
  int last = int(c.kernel_height) - 1;
  Correlation how{c.images * c.channels, c.channels, int(c.out_height), int(c.out_width), int(c.height), int(c.width),
                  last - c.top, last - c.left, c.stride_y - 1, true};
  with_constants(c.kernel_height, 1, [&](auto k, auto s) {
    if constexpr (decltype(s)::value == 1) correlate<T, decltype(k)::value, 1>(context, name, dy, w, dx, how);
  });
  return true;
}

template <class T>
bool depthwise_filter_gradient(const Context& context, const char* name, const T* x, const T* dy, T* dw, const Convolution& c) {
  if (depthwise_rows_filter_gradient(context, name, x, dy, dw, c)) return true;
  if (!fits(c)) return false;
  with_constants(c.kernel_height, c.stride_y, [&](auto k, auto s) {
    filter_gradient<T, decltype(k)::value, decltype(s)::value>(context, name, x, dy, dw, c);
  });
  return true;
}

#define INSTANTIATE(T)                                                                                                \
  template bool depthwise_forward(const Context&, const char*, const T*, const T*, T*, const Convolution&);          \
  template bool depthwise_input_gradient(const Context&, const char*, const T*, const T*, T*, const Convolution&);   \
  template bool depthwise_filter_gradient(const Context&, const char*, const T*, const T*, T*, const Convolution&);
INSTANTIATE(float)
INSTANTIATE(phi::dtype::float16)
INSTANTIATE(phi::dtype::bfloat16)

}  // namespace tablerec
