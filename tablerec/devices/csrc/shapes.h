// Shapes with strides, and walks over several of them at once.
#pragma once
#include "backend.h"

namespace tablerec {

constexpr int kMaxRank = 9;

// Sizes, and the strides of K operands over them. Index 0 is the outermost.
template <int K> struct Walk {
  int rank = 0;
  bool small = true;  // fewer than 2^31 elements: 32-bit division, several times faster on a card
  int64_t size[kMaxRank] = {}, stride[K][kMaxRank] = {};

  struct Offsets { int64_t at[K]; };

  HOST_DEVICE Offsets operator()(int64_t i) const {
    Offsets o = {};
    if (small) {
      for (int k = rank - 1; k > 0; --k) {
        uint32_t next = uint32_t(i) / uint32_t(size[k]), here = uint32_t(i) - next * uint32_t(size[k]);
        for (int j = 0; j < K; ++j) o.at[j] += int64_t(here) * stride[j][k];
        i = next;
      }
    } else {
#pragma unroll 1  // seldom taken, and long: a third of the code of kernels that walk
      for (int k = rank - 1; k > 0; --k) {
        int64_t next = i / size[k], here = i - next * size[k];
        for (int j = 0; j < K; ++j) o.at[j] += here * stride[j][k];
        i = next;
      }
    }
    if (rank)
      for (int j = 0; j < K; ++j) o.at[j] += i * stride[j][0];
    return o;
  }

  int64_t count() const {
    int64_t n = 1;
    for (int k = 0; k < rank; ++k) n *= size[k];
    return n;
  }

  // Drops sizes of one and joins neighbours that lie in memory as one dimension.
  Walk simplified() const {
    Walk s;
    for (int k = 0; k < rank; ++k) {
      if (size[k] == 1) continue;
      bool joins = s.rank > 0;
      for (int j = 0; j < K && joins; ++j) joins = s.stride[j][s.rank - 1] == stride[j][k] * size[k];
      int to = joins ? s.rank - 1 : s.rank++;
      s.size[to] = joins ? s.size[to] * size[k] : size[k];
      for (int j = 0; j < K; ++j) s.stride[j][to] = stride[j][k];
    }
    s.small = s.count() < (int64_t(1) << 31);
    return s;
  }
};

inline std::vector<int64_t> sizes(const phi::DDim& dims) { return phi::vectorize(dims); }

inline std::vector<int64_t> contiguous_strides(const phi::DDim& dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t step = 1;
  for (int k = dims.size() - 1; k >= 0; --k) {
    strides[k] = step;
    step *= dims[k];
  }
  return strides;
}

// Strides of a contiguous operand stretched to `to`: zero where it is repeated.
inline std::vector<int64_t> broadcast_strides(const phi::DDim& from, const phi::DDim& to) {
  auto own = contiguous_strides(from);
  std::vector<int64_t> strides(to.size(), 0);
  int missing = to.size() - from.size();
  for (int k = 0; k < from.size(); ++k)
    if (from[k] != 1) strides[k + missing] = own[k];
  return strides;
}

// A walk in the order of `dims`; one vector of strides for each operand.
template <class... Strides> Walk<sizeof...(Strides)> walk(const phi::DDim& dims, const Strides&... strides) {
  REQUIRE(dims.size() <= kMaxRank, "a tensor of %d dimensions; at most %d are supported", dims.size(), kMaxRank);
  Walk<sizeof...(Strides)> w;
  w.rank = dims.size();
  for (int k = 0; k < w.rank; ++k) {
    w.size[k] = dims[k];
    int j = 0;
    ((w.stride[j++][k] = strides[k]), ...);
  }
  return w.simplified();
}

inline int to_axis(int64_t axis, int rank) { return int(axis < 0 ? axis + rank : axis); }

// A tensor seen as [outer, length, inner] around an axis.
struct Split {
  int64_t outer = 1, length = 1, inner = 1;
  Split(const phi::DDim& dims, int64_t axis) {
    if (!dims.size()) return;
    int at = to_axis(axis, dims.size());
    for (int k = 0; k < at; ++k) outer *= dims[k];
    length = dims[at];
    for (int k = at + 1; k < dims.size(); ++k) inner *= dims[k];
  }
  // Where the row `i` of outer * inner begins; its elements are `inner` apart.
  HOST_DEVICE int64_t start(int64_t i) const { return (i / inner) * length * inner + i % inner; }
  int64_t rows() const { return outer * inner; }
};

}  // namespace tablerec
