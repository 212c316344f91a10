// What softmax and cross entropy share.
#pragma once
#include "shapes.h"

namespace tablerec {

// Where rows lie side by side (the axis is not the last), neighbours in a warp take neighbouring rows.
inline int64_t softmax_work(const Split& s) { return s.inner >= 8 ? 1 : s.length; }

// The largest element of a row, and the logarithm of the sum of exp(element - largest).
template <class C> struct LogSum {
  C most, log_of_sum;
};
template <class T> HOST_DEVICE LogSum<Compute<T>> log_sum(const T* row, int64_t length, int64_t step, Team team) {
  using C = Compute<T>;
  C most = -std::numeric_limits<C>::infinity(), sum = 0;
  for (int64_t j = team.rank; j < length; j += team.size) most = C(row[j * step]) > most ? C(row[j * step]) : most;
  most = team.max(most);
  for (int64_t j = team.rank; j < length; j += team.size) sum += exp(C(row[j * step]) - most);
  return {most, C(log(team.sum(double(sum))))};
}

}  // namespace tablerec
