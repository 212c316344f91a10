// Sums of all that comes before, along rows; the same on every run.
#pragma once
#include "shapes.h"

namespace tablerec {

#ifdef __CUDACC__
template <class A> __device__ A from_lane_below(A value, int step) {
  static_assert(sizeof(A) % 4 == 0, "shuffled in words of four bytes");
  int words[sizeof(A) / 4];
  memcpy(words, &value, sizeof(A));
  for (size_t k = 0; k < sizeof(A) / 4; ++k) words[k] = __shfl_up_sync(~0u, words[k], step);
  memcpy(&value, words, sizeof(A));
  return value;
}
#endif

// The sum of the values of the team's members of lower rank, and of all of them.
template <class A> HOST_DEVICE A sum_before(const Team& team, A value, A& total) {
#ifdef __CUDA_ARCH__
  if (team.size > 1) {
    __shared__ alignas(16) unsigned char memory[32 * sizeof(A)];
    A* sums = reinterpret_cast<A*>(memory);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    A upto = value;
    for (int step = 1; step < 32; step *= 2) {
      A below = from_lane_below(upto, step);
      if (lane >= step) upto += below;
    }
    A before = from_lane_below(upto, 1);
    if (lane == 0) before = 0;
    if (team.size == 32) {  // several such teams share a block
      total = team.sum(value);
      return before;
    }
    __syncthreads();  // the memory may still be read for the result before this one
    if (lane == 31) sums[warp] = upto;
    __syncthreads();
    A seen = 0;
    for (int w = 0; w < team.size / 32; ++w) {
      if (w == warp) before += seen;
      seen += sums[w];
    }
    total = seen;
    return before;
  }
#endif
  total = value;
  return 0;
}

// Gives sink(place, sum before it, its value) for each place of the rows of `s`, where source(place) is the value.
// Source and Sink are structs, as a DEVICE lambda may not be given on to another.
template <class A, class Source, class Sink>
void scan(const Context& context, const char* name, const Split& s, bool reverse, Source source, Sink sink) {
  int64_t rows = s.rows(), length = s.length;
  if (rows == 0 || length == 0) return;
  if (length <= 16 || (s.inner >= 8 && rows >= 4096)) {  // neighbouring threads read neighbouring elements
    launch(context, name, rows, DEVICE(int64_t row) {
      A before = 0;
      int64_t start = s.start(row);
      for (int64_t j = 0; j < length; ++j) {
        int64_t at = start + (reverse ? length - 1 - j : j) * s.inner;
        A value = source(at);
        sink(at, before, value);
        before += value;
      }
    });
    return;
  }
  // Long rows in pieces: the sum of each, the sums before each, then the places within.
  const int64_t teams = 132 * 8;
  int64_t pieces = std::max<int64_t>(1, std::min((length + 4095) / 4096, (teams + rows - 1) / rows));
  int64_t step = (length + pieces - 1) / pieces;
  Temporary<A> starts(context, rows * pieces);
  auto start_of = starts.data;
  if (pieces > 1) {
    launch_teams(context, name, rows * pieces, step, DEVICE(int64_t item, Team team) {
      int64_t row = item / pieces, from = item % pieces * step, to = from + step < length ? from + step : length;
      A sum = 0;
      for (int64_t j = from + team.rank; j < to; j += team.size) sum += source(s.start(row) + (reverse ? length - 1 - j : j) * s.inner);
      sum = team.sum(sum);
      if (team.rank == 0) start_of[item] = sum;
    });
    launch_teams(context, name, rows, pieces, DEVICE(int64_t row, Team team) {
      A before = 0, total;
      for (int64_t first = 0; first < pieces; first += team.size) {
        int64_t j = first + team.rank;
        A sum = sum_before(team, j < pieces ? start_of[row * pieces + j] : A(0), total);
        if (j < pieces) start_of[row * pieces + j] = before + sum;
        before += total;
      }
    });
  }
  launch_teams(context, name, rows * pieces, std::max<int64_t>(step, 17), DEVICE(int64_t item, Team team) {
    int64_t row = item / pieces, from = item % pieces * step, to = from + step < length ? from + step : length;
    A before = pieces > 1 ? start_of[item] : A(0), total;
    for (int64_t first = from; first < to; first += team.size) {
      int64_t j = first + team.rank, at = s.start(row) + (reverse ? length - 1 - j : j) * s.inner;
      A value = j < to ? source(at) : A(0);
      A sum = sum_before(team, value, total);
      if (j < to) sink(at, before + sum, value);
      before += total;
    }
  });
}

}  // namespace tablerec
