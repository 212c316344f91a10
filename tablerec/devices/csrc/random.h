// Random numbers that a seed and a place decide.
#pragma once
#include "backend.h"

namespace tablerec {

// The i-th number of a stream of uniform numbers in (0, 1) (SplitMix64: Steele, Lea and Flood, 2014).
HOST_DEVICE inline double uniform_number(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return (double(z >> 11) + 0.5) / 9007199254740992.0;
}
inline uint64_t seed_of(const Context& context, int seed) { return seed ? seed : context.GetGenerator()->Random64(); }

// The class whose exponential clock, which runs as fast as it is likely, rings first; without replacement the next ones follow.
struct Ring {
  double time;
  int64_t place;
  HOST_DEVICE Ring operator()(Ring a, Ring b) const {
    return a.time < b.time || (a.time == b.time && a.place < b.place) ? a : b;
  }
};

}  // namespace tablerec
