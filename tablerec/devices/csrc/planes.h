// Norms over planes: batch norm, group norm, instance norm.
#pragma once
#include "normalization.h"

namespace tablerec {

// [images, channels, pixels]. A statistic is of a channel over all images, or, where `per_statistic` is not zero, of so
// many planes in a row.
struct Planes {
  int64_t images, channels, pixels, per_statistic = 0;
  explicit Planes(const phi::DDim& d) : images(d[0]), channels(d[1]), pixels(1) {
    for (int k = 2; k < d.size(); ++k) pixels *= d[k];
  }
  Planes(int64_t images, int64_t channels, int64_t pixels) : images(images), channels(channels), pixels(pixels) {}
  int64_t count() const { return images * pixels; }
};

// Which channel and statistic a pack belongs to.
struct PlaneOf {
  int64_t packs, channels, per_statistic;  // packs in a plane
  bool small;
  PlaneOf(const Planes& shape, int width)
      : packs(shape.pixels / width), channels(shape.channels), per_statistic(shape.per_statistic),
        small(shape.images * shape.channels * packs < (int64_t(1) << 31)) {}
  struct At { int64_t channel, statistic; };
  HOST_DEVICE At operator()(int64_t i) const {
    if (small) {
      uint32_t plane = uint32_t(i) / uint32_t(packs), channel = plane % uint32_t(channels);
      return {channel, per_statistic ? plane / uint32_t(per_statistic) : channel};
    }
    int64_t plane = i / packs, channel = plane % channels;
    return {channel, per_statistic ? plane / per_statistic : channel};
  }
};

// Two sums over each channel: `rule.of(channel)` gives what adds a pack to them, `finish(channel, sums)` takes them.
template <class T, int V, class Rule, class Finish>
void sum_channels(const Context& context, const char* name, const Planes& shape, Rule rule, Finish finish) {
  using C = Compute<T>;
  int64_t packs = shape.pixels / V, length = shape.images * packs, channels = shape.channels;
  bool small = length < (int64_t(1) << 31);
  const int64_t teams = 132 * 16, piece = 1024;
  int64_t pieces = std::min((length + piece - 1) / piece, (teams + channels - 1) / std::max<int64_t>(channels, 1));
  pieces = channels < teams ? std::max<int64_t>(pieces, 1) : 1;
  int64_t step = (length + pieces - 1) / pieces;
  bool whole = pieces == 1;
  Temporary<uint8_t> memory(context, whole ? 1 : channels * pieces * int64_t(sizeof(TwoSums)));
  auto partial = reinterpret_cast<TwoSums*>(memory.data);
  launch_teams(context, name, channels * pieces, step, DEVICE(int64_t item, Team team) {
    int64_t k = item / pieces, from = (item - k * pieces) * step, to = from + step < length ? from + step : length;
    auto channel = rule.of(k);
    TwoSums sums = {0, 0};
    for (int64_t j = from + team.rank; j < to;) {
      C first = 0, second = 0;
      for (int run = 0; run < 32 && j < to; ++run, j += team.size) {
        int64_t image = small ? uint32_t(j) / uint32_t(packs) : j / packs;
        channel.add((image * channels + k) * packs + (j - image * packs), first, second);
      }
      sums = TwoSums()(sums, TwoSums{double(first), double(second)});
    }
    sums = team.all(sums, TwoSums());
    if (team.rank) return;
    if (whole) finish(k, sums);
    else partial[item] = sums;
  });
  if (whole) return;
  launch_teams(context, name, channels, pieces, DEVICE(int64_t k, Team team) {
    TwoSums sums = {0, 0};
    for (int64_t j = team.rank; j < pieces; j += team.size) sums = TwoSums()(sums, partial[k * pieces + j]);
    sums = team.all(sums, TwoSums());
    if (team.rank == 0) finish(k, sums);
  });
}

// Sum and sum of squares about the channel's first element, which keeps large means exact.
template <class T, int V> struct MomentsRule {
  using C = Compute<T>;
  const T* x;
  int64_t pixels;
  struct Channel {
    const T* x;
    C shift;
    HOST_DEVICE void add(int64_t at, C& first, C& second) const {
      auto pack = read_pack<T, V>(x, at);
      for (int v = 0; v < V; ++v) {
        C d = C(pack.at[v]) - shift;
        first += d;
        second += d * d;
      }
    }
  };
  HOST_DEVICE Channel of(int64_t k) const { return {x, C(x[k * pixels])}; }
};

// Calls finish(channel, mean, variance); the variance is that of the sample, not of n - 1.
template <class T, class Finish> struct FromMoments {
  const T* x;
  int64_t pixels, count;
  Finish finish;
  HOST_DEVICE void operator()(int64_t k, TwoSums sums) const {
    double shift = sums.first / count, spread = sums.second / count - shift * shift;
    finish(k, shift + double(Compute<T>(x[k * pixels])), spread < 0 ? 0 : spread);
  }
};
template <class T, class Finish>
void moments(const Context& context, const char* name, const T* x, const Planes& shape, Finish finish) {
  FromMoments<T, Finish> from{x, shape.pixels, shape.count(), finish};
  with_width<T>(pack_width<T>(shape.pixels, {x}), [&](auto width) {
    constexpr int V = decltype(width)::value;
    sum_channels<T, V>(context, name, shape, MomentsRule<T, V>{x, shape.pixels}, from);
  });
}

template <class T, int V>
void normalize_packs(const Context& context, const char* name, const Planes& shape, const T* x, Statistics<Compute<T>> given,
                     Parameters<T> scale, Parameters<T> bias, T* y) {
  using C = Compute<T>;
  PlaneOf plane(shape, V);
  launch(context, name, shape.images * shape.channels * plane.packs, DEVICE(int64_t i) {
    auto at = plane(i);
    C center = given.mean[at.statistic], factor = given.inverse(at.statistic) * scale(at.channel, C(1)), shift = bias(at.channel, C(0));
    auto pack = read_pack<T, V>(x, i);
    for (int v = 0; v < V; ++v) pack.at[v] = T((C(pack.at[v]) - center) * factor + shift);
    reinterpret_cast<Pack<T, V>*>(y)[i] = pack;
  });
}
template <class T>
void normalize(const Context& context, const char* name, const Planes& shape, const T* x, Statistics<Compute<T>> given,
               Parameters<T> scale, Parameters<T> bias, T* y) {
  with_width<T>(pack_width<T>(shape.pixels, {x, y}), [&](auto width) {
    normalize_packs<T, decltype(width)::value>(context, name, shape, x, given, scale, bias, y);
  });
}

// Sum of dy, and of dy times the normalized x.
template <class T, int V> struct GradientRule {
  using C = Compute<T>;
  const T *x, *dy;
  Statistics<C> given;
  int64_t per_statistic;
  struct Channel {
    const T *x, *dy;
    C mean, inverse;
    HOST_DEVICE void add(int64_t at, C& first, C& second) const {
      auto pack = read_pack<T, V>(x, at), gradient = read_pack<T, V>(dy, at);
      for (int v = 0; v < V; ++v) {
        C g = C(gradient.at[v]);
        first += g;
        second += g * ((C(pack.at[v]) - mean) * inverse);
      }
    }
  };
  HOST_DEVICE Channel of(int64_t k) const {
    int64_t statistic = per_statistic ? k / per_statistic : k;
    return {x, dy, given.mean[statistic], given.inverse(statistic)};
  }
};
template <class T, class Finish>
void gradient_sums(const Context& context, const char* name, const Planes& shape, const T* x, const T* dy,
                   Statistics<Compute<T>> given, Finish finish) {
  with_width<T>(pack_width<T>(shape.pixels, {x, dy}), [&](auto width) {
    constexpr int V = decltype(width)::value;
    sum_channels<T, V>(context, name, shape, GradientRule<T, V>{x, dy, given, shape.per_statistic}, finish);
  });
}

// The means, over what shares a statistic, of dy * scale and of dy * scale times the normalized x.
template <class C> struct Means {
  C *plain, *product;
};

template <class T, int V>
void input_gradient_packs(const Context& context, const char* name, const Planes& shape, const T* x, const T* dy,
                          Statistics<Compute<T>> given, Parameters<T> scale, Means<Compute<T>> means, T* dx) {
  using C = Compute<T>;
  PlaneOf plane(shape, V);
  launch(context, name, shape.images * shape.channels * plane.packs, DEVICE(int64_t i) {
    auto at = plane(i);
    C center = given.mean[at.statistic], inverse = given.inverse(at.statistic), factor = scale(at.channel, C(1));
    C plain = means.plain[at.statistic], product = means.product[at.statistic];
    auto pack = read_pack<T, V>(x, i), gradient = read_pack<T, V>(dy, i);
    for (int v = 0; v < V; ++v)
      pack.at[v] = T(inverse * (factor * C(gradient.at[v]) - plain - (C(pack.at[v]) - center) * inverse * product));
    reinterpret_cast<Pack<T, V>*>(dx)[i] = pack;
  });
}
template <class T>
void input_gradient(const Context& context, const char* name, const Planes& shape, const T* x, const T* dy,
                    Statistics<Compute<T>> given, Parameters<T> scale, Means<Compute<T>> means, T* dx) {
  with_width<T>(pack_width<T>(shape.pixels, {x, dy, dx}), [&](auto width) {
    input_gradient_packs<T, decltype(width)::value>(context, name, shape, x, dy, given, scale, means, dx);
  });
}

inline void require_channels_first(const char* name, const std::string& layout) {
  REQUIRE(layout == "NCHW" || layout == "AnyLayout", "%s: layout %s is not supported on %s; NCHW is", name, layout, device_name());
}

}  // namespace tablerec
