// Softmax, of all or of what a causal mask leaves, and cross entropy.
#include "register.h"
#include "shapes.h"

namespace tablerec {

// ---- softmax

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

template <class T, class X> void Softmax(const X& context, const Tensor& x, int axis, Tensor* out) {
  using C = Compute<T>;
  Split s(x.dims(), axis);
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch_teams(context, "softmax", s.rows(), softmax_work(s), DEVICE(int64_t row, Team team) {
    int64_t at = s.start(row);
    C most = -std::numeric_limits<C>::infinity(), sum = 0;
    for (int64_t j = team.rank; j < s.length; j += team.size) most = C(a[at + j * s.inner]) > most ? C(a[at + j * s.inner]) : most;
    most = team.max(most);
    for (int64_t j = team.rank; j < s.length; j += team.size) sum += exp(C(a[at + j * s.inner]) - most);
    C scale = C(1 / team.sum(double(sum)));
    for (int64_t j = team.rank; j < s.length; j += team.size) r[at + j * s.inner] = T(exp(C(a[at + j * s.inner]) - most) * scale);
  });
}
template <class T, class X> void SoftmaxGrad(const X& context, const Tensor& out, const Tensor& dout, int axis, Tensor* dx) {
  using C = Compute<T>;
  Split s(out.dims(), axis);
  auto y = read<T>(out), g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch_teams(context, "softmax_grad", s.rows(), softmax_work(s), DEVICE(int64_t row, Team team) {
    int64_t at = s.start(row);
    C sum = 0;
    for (int64_t j = team.rank; j < s.length; j += team.size) sum += C(y[at + j * s.inner]) * C(g[at + j * s.inner]);
    C mean = C(team.sum(double(sum)));
    for (int64_t j = team.rank; j < s.length; j += team.size)
      r[at + j * s.inner] = T(C(y[at + j * s.inner]) * (C(g[at + j * s.inner]) - mean));
  });
}
template <class T, class X> void LogSoftmax(const X& context, const Tensor& x, int axis, Tensor* out) {
  using C = Compute<T>;
  Split s(x.dims(), axis);
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch_teams(context, "log_softmax", s.rows(), softmax_work(s), DEVICE(int64_t row, Team team) {
    int64_t at = s.start(row);
    LogSum<C> total = log_sum(a + at, s.length, s.inner, team);
    for (int64_t j = team.rank; j < s.length; j += team.size)
      r[at + j * s.inner] = T(C(a[at + j * s.inner]) - total.most - total.log_of_sum);
  });
}
template <class T, class X> void LogSoftmaxGrad(const X& context, const Tensor& out, const Tensor& dout, int axis, Tensor* dx) {
  using C = Compute<T>;
  Split s(out.dims(), axis);
  auto y = read<T>(out), g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch_teams(context, "log_softmax_grad", s.rows(), softmax_work(s), DEVICE(int64_t row, Team team) {
    int64_t at = s.start(row);
    C sum = 0;
    for (int64_t j = team.rank; j < s.length; j += team.size) sum += C(g[at + j * s.inner]);
    sum = C(team.sum(double(sum)));
    for (int64_t j = team.rank; j < s.length; j += team.size)
      r[at + j * s.inner] = T(C(g[at + j * s.inner]) - exp(C(y[at + j * s.inner])) * sum);
  });
}
REGISTER(softmax, Softmax, kFloats + kHalves)
REGISTER(softmax_grad, SoftmaxGrad, kFloats + kHalves)
REGISTER(log_softmax, LogSoftmax, kFloats + kHalves)
REGISTER(log_softmax_grad, LogSoftmaxGrad, kFloats + kHalves)

// ---- softmax of what a causal mask leaves: in each row, the places up to the row's own

inline int64_t causal_length(const Tensor& x) {
  int rank = x.dims().size();
  REQUIRE(rank >= 2 && x.dims()[rank - 1] == x.dims()[rank - 2], "fused_softmax_mask_upper_triangle of rows that are not as many as places");
  return std::max<int64_t>(x.dims()[rank - 1], 1);
}
template <class T, class X> void CausalSoftmax(const X& context, const Tensor& x, Tensor* out) {
  using C = Compute<T>;
  int64_t n = causal_length(x);
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch_teams(context, "fused_softmax_mask_upper_triangle", x.numel() / n, n, DEVICE(int64_t row, Team team) {
    int64_t seen = row % n + 1;
    LogSum<C> total = log_sum(a + row * n, seen, int64_t(1), team);
    for (int64_t j = team.rank; j < n; j += team.size)
      r[row * n + j] = j < seen ? T(exp(C(a[row * n + j]) - total.most - total.log_of_sum)) : T(0);
  });
}
template <class T, class X> void CausalSoftmaxGrad(const X& context, const Tensor& out, const Tensor& dout, Tensor* dx) {
  using C = Compute<T>;
  int64_t n = causal_length(out);
  auto y = read<T>(out), g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch_teams(context, "fused_softmax_mask_upper_triangle_grad", out.numel() / n, n, DEVICE(int64_t row, Team team) {
    int64_t at = row * n, seen = row % n + 1;
    C sum = 0;
    for (int64_t j = team.rank; j < seen; j += team.size) sum += C(y[at + j]) * C(g[at + j]);
    C mean = C(team.sum(double(sum)));
    for (int64_t j = team.rank; j < n; j += team.size) r[at + j] = j < seen ? T(C(y[at + j]) * (C(g[at + j]) - mean)) : T(0);
  });
}
REGISTER(fused_softmax_mask_upper_triangle, CausalSoftmax, kFloats + kHalves)
REGISTER(fused_softmax_mask_upper_triangle_grad, CausalSoftmaxGrad, kFloats + kHalves)

// ---- cross entropy of a softmax. Labels are numbers, or, where soft, a share for each class

struct Labels {
  const int* narrow = nullptr;
  const int64_t* wide = nullptr;
  int64_t ignored;
  Labels(const Tensor& label, bool soft, int ignored) : ignored(ignored) {
    if (soft) return;
    if (label.dtype() == phi::DataType::INT32) narrow = read<int>(label);
    else wide = read<int64_t>(label);
  }
  HOST_DEVICE int64_t operator()(int64_t row) const { return narrow ? narrow[row] : wide[row]; }
};

// `use_softmax` false: x holds probabilities already.
template <class T, class X>
void CrossEntropy(const X& context, const Tensor& x, const Tensor& label, bool soft, bool use_softmax, bool, int ignored,
                  int axis, Tensor* softmax, Tensor* loss) {
  using C = Compute<T>;
  Split s(x.dims(), axis);
  auto a = read<T>(x);
  auto p = write<T>(context, softmax), r = write<T>(context, loss);
  const T* shares = soft ? read<T>(label) : nullptr;
  Labels number(label, soft, ignored);
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
template <class T, class X>
void CrossEntropyGrad(const X& context, const Tensor& label, const Tensor& softmax, const Tensor& dout, bool soft,
                      bool use_softmax, bool, int ignored, int axis, Tensor* dx) {
  using C = Compute<T>;
  Split s(softmax.dims(), axis);
  auto p = read<T>(softmax), g = read<T>(dout);
  const T* shares = soft ? read<T>(label) : nullptr;
  Labels number(label, soft, ignored);
  auto r = write<T>(context, dx);
  launch(context, "cross_entropy_with_softmax_grad", softmax.numel(), DEVICE(int64_t i) {
    int64_t row = i / (s.length * s.inner) * s.inner + i % s.inner, j = i / s.inner % s.length, k = soft ? 0 : number(row);
    C share = soft ? C(shares[i]) : C(j == k), probability = C(p[i]);
    C slope = use_softmax ? probability - share : share != 0 ? -share / probability : C(0);
    r[i] = !soft && k == number.ignored ? T(0) : T(C(g[row]) * slope);
  });
}
REGISTER(cross_entropy_with_softmax, CrossEntropy, kFloats + kHalves)
REGISTER(cross_entropy_with_softmax_grad, CrossEntropyGrad, kFloats + kHalves)

}  // namespace tablerec
