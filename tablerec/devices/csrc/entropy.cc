// Cross entropy of a softmax. Labels are numbers, or, where soft, a share for each class.
#include "elements.h"
#include "register.h"
#include "softmax.h"

namespace tablerec {

struct ClassNumbers {
  const int* narrow = nullptr;
  const int64_t* wide = nullptr;
  int64_t ignored;
  ClassNumbers(const Tensor& label, bool soft, int ignored) : ignored(ignored) {
    if (soft) return;
    if (label.dtype() == phi::DataType::INT32) narrow = read<int>(label);
    else wide = read<int64_t>(label);
  }
  HOST_DEVICE int64_t operator()(int64_t row) const { return narrow ? narrow[row] : wide[row]; }
};

// The largest of a part of a row, and the sum of exp(element - largest).
template <class C> struct PartialSum {
  C most, unused;
  double sum;
  HOST_DEVICE PartialSum operator()(PartialSum a, PartialSum b) const {
    C most = a.most > b.most ? a.most : b.most;
    if (most == -std::numeric_limits<C>::infinity()) return {most, C(0), a.sum + b.sum};
    return {most, C(0), a.sum * double(exp(a.most - most)) + b.sum * double(exp(b.most - most))};
  }
};

// Rows whose classes lie side by side, 16 bytes at a time: two passes over the logits, which softmax may overwrite.
template <class T>
void entropy_of_rows(const Context& context, const T* logits, const T* shares, const ClassNumbers& number, int64_t rows, int64_t length,
                     T* softmax, T* losses) {
  using C = Compute<T>;
  constexpr int N = neighbours<T>();
  int64_t work = (length + N - 1) / N * 4;  // threads for four packs each, as many as a block may have where rows are long
  launch_teams(context, "cross_entropy_with_softmax", rows, work, DEVICE(int64_t row, Team team) {
    const T* a = logits + row * length;
    T* p = softmax + row * length;
    int64_t k = shares ? -1 : number(row);
    bool counts = !shares && k != number.ignored && k >= 0 && k < length;
    C own = counts ? C(a[k]) : C(0);  // read before it may be overwritten
    const C lowest = -std::numeric_limits<C>::infinity();
    C most = lowest, sum = 0;
    for (int64_t j = int64_t(team.rank) * N; j < length; j += int64_t(team.size) * N) {
      int count = length - j < N ? int(length - j) : N;
      auto pack = load<N>(a + j, 1, count);
      C larger = most;
      for (int n = 0; n < N; ++n)
        if (n < count && C(pack.at[n]) > larger) larger = C(pack.at[n]);
      if (larger == lowest) continue;
      sum *= exp(most - larger);
      for (int n = 0; n < N; ++n)
        if (n < count) sum += exp(C(pack.at[n]) - larger);
      most = larger;
    }
    auto total = team.all(PartialSum<C>{most, C(0), double(sum)}, PartialSum<C>());
    C logarithm_of_sum = C(log(total.sum));
    most = total.most;
    C loss = 0;
    for (int64_t j = int64_t(team.rank) * N; j < length; j += int64_t(team.size) * N) {
      int count = length - j < N ? int(length - j) : N;
      auto pack = load<N>(a + j, 1, count), share = load<N>(shares ? shares + row * length + j : nullptr, 1, count);
      for (int n = 0; n < N; ++n) {
        C logarithm = C(pack.at[n]) - most - logarithm_of_sum;
        if (C(share.at[n]) != 0) loss -= C(share.at[n]) * logarithm;
        pack.at[n] = T(exp(logarithm));
      }
      store<N>(p + j, count, pack);
    }
    if (shares) loss = C(team.sum(double(loss)));
    else if (counts) loss = -(own - most - logarithm_of_sum);
    if (team.rank == 0) losses[row] = T(loss);
  });
}

// `use_softmax` false: x holds probabilities already.
template <class T, class X>
void CrossEntropy(const X& context, const Tensor& x, const Tensor& label, bool soft, bool use_softmax, bool, int ignored,
                  int axis, Tensor* softmax, Tensor* loss) {
  using C = Compute<T>;
  Split s(x.dims(), axis);
  auto a = read<T>(x);
  auto p = write<T>(context, softmax), r = write<T>(context, loss);
  const T* shares = soft ? read<T>(label) : nullptr;
  ClassNumbers number(label, soft, ignored);
  if (use_softmax && s.inner == 1) return entropy_of_rows(context, a, shares, number, s.rows(), s.length, p, r);
  launch_teams(context, "cross_entropy_with_softmax", s.rows(), softmax_work(s), DEVICE(int64_t row, Team team) {
    int64_t at = s.start(row), k = soft ? 0 : number(row);
    LogSum<C> total = {0, 0};
    if (use_softmax) total = log_sum(a + at, s.length, s.inner, team);
    C sum = 0;
    for (int64_t j = team.rank; j < s.length; j += team.size) {
      int64_t i = at + j * s.inner;
      C logarithm = use_softmax ? C(a[i]) - total.most - total.log_of_sum : C(0), probability = use_softmax ? exp(logarithm) : C(a[i]);
      C share = soft ? C(shares[i]) : C(j == k && k != number.ignored);
      if (share != 0) sum -= share * (use_softmax ? logarithm : C(log(probability)));
      p[i] = T(probability);
    }
    sum = C(team.sum(double(sum)));
    if (team.rank == 0) r[row] = T(sum);
  });
}

// dx may be the memory of the softmax: a thread writes where it has read.
template <class T, class X>
void CrossEntropyGrad(const X& context, const Tensor& label, const Tensor& softmax, const Tensor& dout, bool soft,
                      bool use_softmax, bool, int ignored, int axis, Tensor* dx) {
  const char* name = "cross_entropy_with_softmax_grad";
  using C = Compute<T>;
  Split s(softmax.dims(), axis);
  auto p = read<T>(softmax), g = read<T>(dout);
  const T* shares = soft ? read<T>(label) : nullptr;
  ClassNumbers number(label, soft, ignored);
  auto r = write<T>(context, dx);
  if (use_softmax && s.inner == 1) {
    constexpr int N = neighbours<T>();
    int64_t length = s.length, packs = (length + N - 1) / N;
    launch(context, name, s.rows() * packs, DEVICE(int64_t i) {
      int64_t row = i / packs, j = (i - row * packs) * N, at = row * length + j, k = shares ? -1 : number(row);
      int count = length - j < N ? int(length - j) : N;
      Pack<T, N> result = {};
      if (shares || k != number.ignored) {
        auto probability = load<N>(p + at, 1, count), share = load<N>(shares ? shares + at : nullptr, 1, count);
        C by = C(g[row]);
        for (int n = 0; n < N; ++n) result.at[n] = T(by * (C(probability.at[n]) - (shares ? C(share.at[n]) : C(j + n == k))));
      }
      store<N>(r + at, count, result);
    });
    return;
  }
  launch(context, name, softmax.numel(), DEVICE(int64_t i) {
    int64_t row = i / (s.length * s.inner) * s.inner + i % s.inner, j = i / s.inner % s.length, k = soft ? 0 : number(row);
    C share = soft ? C(shares[i]) : C(j == k), probability = C(p[i]);
    C slope = use_softmax ? probability - share : share != 0 ? -share / probability : C(0);
    r[i] = !soft && k == number.ignored ? T(0) : T(C(g[row]) * slope);
  });
}
REGISTER(cross_entropy_with_softmax, CrossEntropy, kFloats + kHalves)
REGISTER(cross_entropy_with_softmax_grad, CrossEntropyGrad, kFloats + kHalves)

}  // namespace tablerec
