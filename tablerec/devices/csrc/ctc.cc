// Connectionist temporal classification: Graves et al., 2006, "Labelling unsegmented sequence data with recurrent neural
// networks", in logarithms.
//
// The logits [steps, samples, classes] are read once for the rows' normalizers and once for the gradient; all else is as
// small as the labels. A label of L classes has S = 2 L + 1 states: blanks at the even ones, its classes at the odd ones.
#include <limits>

#include "elements.h"
#include "register.h"
#include "shared.h"

namespace tablerec {

template <class C> HOST_DEVICE C log_of_zero() { return -std::numeric_limits<C>::infinity(); }

// log(exp(a) + exp(b) + exp(c)).
template <class C> HOST_DEVICE C log_sum(C a, C b, C c) {
  C most = a > b ? a : b;
  most = most > c ? most : c;
  return most == log_of_zero<C>() ? most : most + C(log(exp(a - most) + exp(b - most) + exp(c - most)));
}

// The logarithm of a sum of exponentials, as its largest exponent and the sum relative to that.
template <class C> struct Exponentials {
  C most, sum;
  HOST_DEVICE void add(C value) {
    if (value > most) sum = sum * C(exp(most - value)) + 1, most = value;
    else if (value != log_of_zero<C>()) sum += C(exp(value - most));
  }
  HOST_DEVICE Exponentials operator()(Exponentials a, Exponentials b) const {
    C larger = a.most > b.most ? a.most : b.most;
    return {larger, a.relative_to(larger) + b.relative_to(larger)};
  }
  HOST_DEVICE C relative_to(C larger) const { return most == log_of_zero<C>() ? sum : sum * C(exp(most - larger)); }
  HOST_DEVICE C logarithm() const { return most + C(log(sum)); }
};

struct Alignments {
  int64_t steps, samples, classes, width;  // `width`: places for a label's classes
  int blank;
  const int* labels;
  const int64_t *step_counts, *label_counts;

  int64_t states() const { return 2 * width + 1; }
  HOST_DEVICE int label(int64_t sample, int64_t k) const { return labels[sample * width + k]; }
  HOST_DEVICE bool known(int label) const { return label >= 0 && label < classes && label != blank; }
  // Whether a path may enter a state from the one two before it.
  HOST_DEVICE bool skips(int64_t sample, int64_t state) const {
    return state % 2 && state > 2 && label(sample, state / 2) != label(sample, state / 2 - 1);
  }
  // Where a row of something for each sample and step begins.
  HOST_DEVICE int64_t row(int64_t sample, int64_t step, int64_t length) const { return (sample * steps + step) * length; }
  HOST_DEVICE bool within(int64_t sample) const {
    return step_counts[sample] >= 0 && step_counts[sample] <= steps && label_counts[sample] >= 0 && label_counts[sample] <= width;
  }
};

// Of each row of logits the normalizer, and the log-probabilities of the label's classes and, after them, of the blank.
template <class T>
void emissions(const Context& context, const Alignments& a, const T* logits, T* normalizers, T* emitted) {
  int64_t width = a.width;
  launch_teams(context, "warpctc", a.steps * a.samples, a.classes, DEVICE(int64_t row, Team team) {
    int64_t sample = row % a.samples, step = row / a.samples;
    if (step >= a.step_counts[sample]) return;
    constexpr int N = neighbours<T>();
    const T* x = logits + row * a.classes;
    Exponentials<T> all{log_of_zero<T>(), T(0)};
    for (int64_t j = int64_t(team.rank) * N; j < a.classes; j += int64_t(team.size) * N) {
      int count = a.classes - j < N ? int(a.classes - j) : N;
      auto pack = load<N>(x + j, 1, count);
      for (int k = 0; k < N; ++k)
        if (k < count) all.add(pack.at[k]);
    }
    T normalizer = team.all(all, Exponentials<T>()).logarithm();
    if (team.rank == 0) normalizers[row] = normalizer;
    T* to = emitted + a.row(sample, step, width + 1);
    for (int64_t k = team.rank; k <= width; k += team.size) {
      bool blank = k == width;
      if (!blank && k >= a.label_counts[sample]) continue;
      int own = blank ? a.blank : a.label(sample, k);
      to[k] = blank || a.known(own) ? x[own] - normalizer : log_of_zero<T>();
    }
  });
}

// For each step and state the log-probability of all ways to it (its emission included), and from it to the end; for
// each sample that of the label, or log 0 where there is no gradient. A label that needs more steps costs nothing.
template <class T>
void paths(const Context& context, const Alignments& a, const T* emitted, T* before, T* after, T* totals, T* loss) {
  int64_t width = a.width, states = a.states();
  launch_tiles<1>(context, "warpctc_paths", 2 * a.samples, DEVICE(int64_t item, Team team, float*) {
    int64_t sample = item / 2, steps = a.step_counts[sample], length = a.label_counts[sample], own = 2 * length + 1;
    const bool forward = item % 2 == 0, within = a.within(sample);
    int64_t needed = 0;
    for (int64_t k = team.rank; within && k < length; k += team.size)
      needed += 1 + (k > 0 && a.label(sample, k) == a.label(sample, k - 1));
    needed = team.sum(needed);
    const T* e = emitted + a.row(sample, 0, width + 1);
    auto emission = [&](int64_t step, int64_t state) { return e[step * (width + 1) + (state % 2 ? state / 2 : width)]; };
    const bool possible = within && steps > 0 && needed <= steps;
    for (int64_t count = 0; possible && count < steps; ++count) {
      int64_t step = forward ? count : steps - 1 - count;
      T* here = (forward ? before : after) + a.row(sample, step, states);
      for (int64_t s = team.rank; s < own; s += team.size) {
        if (forward) {
          const T* last = here - states;
          here[s] = emission(step, s) + (count == 0 ? (s < 2 ? T(0) : log_of_zero<T>())
                                                    : log_sum(last[s], s > 0 ? last[s - 1] : log_of_zero<T>(),
                                                              a.skips(sample, s) ? last[s - 2] : log_of_zero<T>()));
        } else {
          const T* next = here + states;
          auto onward = [&](int64_t to, bool there) { return there ? next[to] + emission(step + 1, to) : log_of_zero<T>(); };
          here[s] = count == 0 ? (s + 2 >= own ? T(0) : log_of_zero<T>())
                               : log_sum(onward(s, true), onward(s + 1, s + 1 < own),
                                         onward(s + 2, s + 2 < own && a.skips(sample, s + 2)));
        }
      }
      meet();
    }
    if (!forward || team.rank) return;
    T total = log_of_zero<T>();
    if (possible) {
      const T* last = before + a.row(sample, steps - 1, states);
      total = log_sum(last[own - 1], own > 1 ? last[own - 2] : total, total);
    }
    totals[sample] = total;
    loss[sample] = possible || !within ? -total : T(0);
  });
}

// What a step's logits add to the loss's gradient: their softmax less the posterior of each class.
template <class T>
void logits_gradient(const Context& context, const Alignments& a, const T* logits, const T* normalizers, const T* before,
                     const T* after, const T* totals, T* gradient) {
  launch_teams(context, "warpctc_softmax", a.steps * a.samples, a.classes, DEVICE(int64_t row, Team team) {
    constexpr int N = neighbours<T>();
    int64_t sample = row % a.samples, step = row / a.samples;
    const bool moves = step < a.step_counts[sample] && totals[sample] > log_of_zero<T>();
    T normalizer = moves ? normalizers[row] : T(0);
    for (int64_t j = int64_t(team.rank) * N; j < a.classes; j += int64_t(team.size) * N) {
      int count = a.classes - j < N ? int(a.classes - j) : N;
      Pack<T, N> pack = {};
      if (moves) pack = load<N>(logits + row * a.classes + j, 1, count);
      for (int k = 0; k < N; ++k) pack.at[k] = moves ? T(exp(pack.at[k] - normalizer)) : T(0);
      store<N>(gradient + row * a.classes + j, count, pack);
    }
  });
  int64_t states = a.states();
  launch_teams(context, "warpctc_posterior", a.steps * a.samples, states, DEVICE(int64_t row, Team team) {
    int64_t sample = row % a.samples, step = row / a.samples, length = a.label_counts[sample];
    T total = totals[sample];
    if (step >= a.step_counts[sample] || !(total > log_of_zero<T>())) return;
    const T *to = before + a.row(sample, step, states), *from = after + a.row(sample, step, states);
    T* r = gradient + row * a.classes;
    T blank = 0;
    for (int64_t k = team.rank; k <= length; k += team.size) blank += T(exp(to[2 * k] + from[2 * k] - total));
    blank = team.sum(blank);
    if (team.rank == 0) r[a.blank] -= blank;
    // A class that comes several times is summed where it comes first: always in the same order.
    for (int64_t k = team.rank; k < length; k += team.size) {
      int own = a.label(sample, k);
      bool first = true;
      for (int64_t j = 0; first && j < k; ++j) first = a.label(sample, j) != own;
      if (!first) continue;
      T sum = 0;
      for (int64_t j = k; j < length; ++j)
        if (a.label(sample, j) == own) sum += T(exp(to[2 * j + 1] + from[2 * j + 1] - total));
      r[own] -= sum;
    }
  });
}

// logits: [steps, samples, classes], labels: [samples, places]. The gradient of a unit loss is kept for the gradient.
template <class T, class X>
void WarpCtc(const X& context, const Tensor& logits, const Tensor& labels, const OptionalTensor& step_counts,
             const OptionalTensor& label_counts, int blank, bool norm_by_times, Tensor* loss, Tensor* gradient) {
  REQUIRE(step_counts && label_counts, "warpctc without lengths is not supported on %s", device_name());
  REQUIRE(logits.dims().size() == 3 && labels.dims().size() == 2, "warpctc wants logits of three dimensions and labels of two");
  auto d = logits.dims();
  REQUIRE(blank >= 0 && blank < d[2], "warpctc: the blank %d is none of the %d classes", blank, int(d[2]));
  Alignments a{d[0], d[1], d[2], labels.dims()[1], blank, read<int>(labels), read<int64_t>(step_counts), read<int64_t>(label_counts)};
  REQUIRE(labels.dims()[0] == a.samples && step_counts->numel() == a.samples && label_counts->numel() == a.samples,
          "warpctc: %d samples, but not as many labels and lengths", int(a.samples));
  loss->Resize(phi::make_ddim({a.samples, 1}));
  gradient->Resize(d);
  auto r = write<T>(context, loss), g = write<T>(context, gradient);
  int64_t rows = a.steps * a.samples;
  Temporary<T> normalizers(context, rows), emitted(context, rows * (a.width + 1)), totals(context, a.samples);
  Temporary<T> before(context, rows * a.states()), after(context, rows * a.states());
  emissions(context, a, read<T>(logits), normalizers.data, emitted.data);
  paths(context, a, emitted.data, before.data, after.data, totals.data, r);
  logits_gradient(context, a, read<T>(logits), normalizers.data, before.data, after.data, totals.data, g);
}
template <class T, class X>
void WarpCtcGrad(const X& context, const Tensor&, const OptionalTensor& step_counts, const Tensor& gradient,
                 const Tensor& dloss, int blank, bool norm_by_times, Tensor* dlogits) {
  auto d = gradient.dims();
  auto by = read<T>(dloss);
  Temporary<T> scaled(context, norm_by_times ? d[1] : 0);
  if (norm_by_times) {
    REQUIRE(step_counts, "warpctc_grad without lengths is not supported on %s", device_name());
    auto count = read<int64_t>(step_counts);
    auto to = scaled.data;
    launch(context, "warpctc_grad", d[1], DEVICE(int64_t i) { to[i] = count[i] > 0 ? by[i] / T(count[i]) : T(0); });
    by = to;
  }
  std::vector<int64_t> own = {0, 1, 0};
  auto r = write<T>(context, dlogits);
  launch_walk(context, "warpctc_grad", walk(d, contiguous_strides(d), own), DEVICE(T g, T scale) { return g * scale; }, r,
              read<T>(gradient), by);
}
REGISTER(warpctc, WarpCtc, kFloats)
REGISTER(warpctc_grad, WarpCtcGrad, kFloats)

}  // namespace tablerec
