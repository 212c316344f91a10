// Softmax, of all or of what a causal mask leaves.
#include "register.h"
#include "softmax.h"

namespace tablerec {

// ---- softmax

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

}  // namespace tablerec
