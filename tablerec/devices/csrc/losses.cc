// Losses, and their scaling in mixed precision.
#include "elements.h"
#include "register.h"

namespace tablerec {

inline const auto kReal = kFloats + kHalves;

// `weight`, where given, is one for each element: 1 + (pos_weight - 1) * label.
template <class C> struct Entropy {
  C ignored;
  bool weighted;
  HOST_DEVICE C operator()(C v, C t, C w) const {
    C rest = log1p(exp(v > 0 ? -v : v)) + (v > 0 ? C(0) : -v);
    return t == ignored ? C(0) : (1 - t) * v + (weighted ? w : C(1)) * rest;
  }
  HOST_DEVICE C gradient(C v, C t, C w) const {
    C s = 1 / (1 + exp(v));
    return t == ignored ? C(0) : 1 - t - (weighted ? w : C(1)) * s;
  }
};
template <class T, class X>
void SigmoidCrossEntropy(const X& context, const Tensor& x, const Tensor& label, const OptionalTensor& weight, bool normalize,
                         int ignored, Tensor* out) {
  REQUIRE(!normalize, "sigmoid_cross_entropy_with_logits with normalize is not supported on %s", device_name());
  using C = Compute<T>;
  Entropy<C> entropy{C(ignored), bool(weight)};
  auto r = write<T>(context, out);
  launch_elements(context, "sigmoid_cross_entropy_with_logits", x.numel(), DEVICE(T& y, T v, T t, T w) {
    y = T(entropy(C(v), C(t), C(w)));
  }, r, read<T>(x), read<T>(label), read<T>(weight));
}
template <class T, class X>
void SigmoidCrossEntropyGrad(const X& context, const Tensor& x, const Tensor& label, const OptionalTensor& weight,
                             const Tensor& dout, bool normalize, int ignored, Tensor* dx) {
  REQUIRE(!normalize, "sigmoid_cross_entropy_with_logits_grad with normalize is not supported on %s", device_name());
  using C = Compute<T>;
  Entropy<C> entropy{C(ignored), bool(weight)};
  auto r = write<T>(context, dx);
  launch_elements(context, "sigmoid_cross_entropy_with_logits_grad", x.numel(), DEVICE(T& y, T v, T t, T w, T g) {
    y = T(C(g) * entropy.gradient(C(v), C(t), C(w)));
  }, r, read<T>(x), read<T>(label), read<T>(weight), read<T>(dout));
}
REGISTER(sigmoid_cross_entropy_with_logits, SigmoidCrossEntropy, kReal)
REGISTER(sigmoid_cross_entropy_with_logits_grad, SigmoidCrossEntropyGrad, kReal)

template <class T, class X> void BceLoss(const X& context, const Tensor& x, const Tensor& label, Tensor* out) {
  using C = Compute<T>;
  auto r = write<T>(context, out);
  launch_elements(context, "bce_loss", x.numel(), DEVICE(T& y, T v, T t) {
    C yes = log(C(v)), no = log1p(-C(v));
    y = T((C(t) - 1) * (no > C(-100) ? no : C(-100)) - C(t) * (yes > C(-100) ? yes : C(-100)));
  }, r, read<T>(x), read<T>(label));
}
template <class T, class X>
void BceLossGrad(const X& context, const Tensor& x, const Tensor& label, const Tensor& dout, Tensor* dx) {
  using C = Compute<T>;
  auto r = write<T>(context, dx);
  launch_elements(context, "bce_loss_grad", x.numel(), DEVICE(T& y, T v, T t, T g) {
    C width = (1 - C(v)) * C(v);
    y = T(C(g) * (C(v) - C(t)) / (width > C(1e-12) ? width : C(1e-12)));
  }, r, read<T>(x), read<T>(label), read<T>(dout));
}
REGISTER(bce_loss, BceLoss, kReal)
REGISTER(bce_loss_grad, BceLossGrad, kReal)

template <class T, class X>
void HuberLoss(const X& context, const Tensor& x, const Tensor& label, float delta, Tensor* out, Tensor* residual) {
  using C = Compute<T>;
  auto r = write<T>(context, out), rest = write<T>(context, residual);
  launch_elements(context, "huber_loss", x.numel(), DEVICE(T& y, T& difference, T v, T t) {
    C d = C(t) - C(v), size = d < 0 ? -d : d;
    difference = T(d);
    y = T(size <= C(delta) ? C(0.5) * d * d : C(delta) * (size - C(0.5) * C(delta)));
  }, r, rest, read<T>(x), read<T>(label));
}
template <class T, class X>
void HuberLossGrad(const X& context, const Tensor& residual, const Tensor& dout, float delta, Tensor* dx, Tensor* dlabel) {
  using C = Compute<T>;
  auto r = write<T>(context, dx), l = write<T>(context, dlabel);
  launch_elements(context, "huber_loss_grad", residual.numel(), DEVICE(T& p, T& q, T rest, T g) {
    C d = C(rest) > C(delta) ? C(delta) : (C(rest) < C(-delta) ? C(-delta) : C(rest));
    p = T(-d * C(g));
    q = T(d * C(g));
  }, r, l, read<T>(residual), read<T>(dout));
}
REGISTER(huber_loss, HuberLoss, kReal)
REGISTER(huber_loss_grad, HuberLossGrad, kReal)

inline void require_no_reduction(const char* name, const std::string& reduction) {
  REQUIRE(reduction == "none", "%s with reduction %s inside the kernel is not supported on %s", name, reduction, device_name());
}
template <class T, class X>
void KlDivLoss(const X& context, const Tensor& x, const Tensor& label, const std::string& reduction, bool log_target, Tensor* out) {
  require_no_reduction("kldiv_loss", reduction);
  using C = Compute<T>;
  auto r = write<T>(context, out);
  launch_elements(context, "kldiv_loss", x.numel(), DEVICE(T& y, T v, T t) {
    C u = C(t);
    y = T(log_target ? exp(u) * (u - C(v)) : (u > 0 ? u * (log(u) - C(v)) : C(0)));
  }, r, read<T>(x), read<T>(label));
}
template <class T, class X>
void KlDivLossGrad(const X& context, const Tensor&, const Tensor& label, const Tensor& dout, const std::string& reduction,
                   bool log_target, Tensor* dx) {
  require_no_reduction("kldiv_loss_grad", reduction);
  using C = Compute<T>;
  auto r = write<T>(context, dx);
  launch_elements(context, "kldiv_loss_grad", label.numel(), DEVICE(T& y, T t, T g) {
    C u = C(t);
    y = T(-C(g) * (log_target ? exp(u) : (u > 0 ? u : C(0))));
  }, r, read<T>(label), read<T>(dout));
}
REGISTER(kldiv_loss, KlDivLoss, kReal)
REGISTER(kldiv_loss_grad, KlDivLossGrad, kReal)

// x: [n, classes, ...] log-probabilities, label: [n, ...]. A weight for each class; the mean divides by their sum.
struct Labels {
  int64_t classes, inner, ignored;
  HOST_DEVICE int64_t place(int64_t i, int64_t label) const { return ((i / inner) * classes + label) * inner + i % inner; }
  Labels(const phi::DDim& dims, int64_t ignored) : classes(dims[dims.size() == 1 ? 0 : 1]), inner(1), ignored(ignored) {
    for (int k = 2; k < dims.size(); ++k) inner *= dims[k];
  }
};
template <class T, class X>
void NllLoss(const X& context, const Tensor& x, const Tensor& label, const OptionalTensor& weight, int64_t ignored,
             const std::string& reduction, Tensor* out, Tensor* total) {
  using C = Compute<T>;
  Labels labels(x.dims(), ignored);
  int64_t count = label.numel();
  bool mean = reduction == "mean";
  auto a = read<T>(x), w = read<T>(weight);
  auto t = read<int64_t>(label);
  auto r = write<T>(context, out), sum = write<T>(context, total);
  if (reduction == "none") {
    launch(context, "nll_loss", count, DEVICE(int64_t i) {
      int64_t own = t[i];
      r[i] = own == labels.ignored ? T(0) : T(-C(a[labels.place(i, own)]) * (w ? C(w[own]) : C(1)));
    });
    if (sum) fill_elements(context, "nll_loss", 1, Bits<T>(0), bits(sum));
    return;
  }
  launch_teams(context, "nll_loss", 1, count, DEVICE(int64_t, Team team) {
    double loss = 0, weights = 0;
    for (int64_t i = team.rank; i < count; i += team.size) {
      int64_t own = t[i];
      if (own == labels.ignored) continue;
      double by = w ? double(C(w[own])) : 1;
      loss -= by * double(C(a[labels.place(i, own)]));
      weights += by;
    }
    loss = team.sum(loss);
    weights = team.sum(weights);
    if (team.rank) return;
    if (sum) *sum = T(weights);
    *r = T(mean && weights != 0 ? loss / weights : loss);
  });
}
template <class T, class X>
void NllLossGrad(const X& context, const Tensor& x, const Tensor& label, const OptionalTensor& weight, const Tensor& total,
                 const Tensor& dout, int64_t ignored, const std::string& reduction, Tensor* dx) {
  using C = Compute<T>;
  Labels labels(x.dims(), ignored);
  bool mean = reduction == "mean", each = reduction == "none";
  auto w = read<T>(weight), g = read<T>(dout), sum = mean ? read<T>(total) : nullptr;
  auto t = read<int64_t>(label);
  auto r = write<T>(context, dx);
  launch(context, "nll_loss_grad", x.numel(), DEVICE(int64_t i) {
    int64_t of_class = (i / labels.inner) % labels.classes, row = i / (labels.inner * labels.classes);
    int64_t item = row * labels.inner + i % labels.inner;
    bool hit = t[item] == of_class && of_class != labels.ignored;
    C value = hit ? -C(g[each ? item : 0]) * (w ? C(w[of_class]) : C(1)) : C(0);
    r[i] = T(hit && sum && C(*sum) != C(0) ? value / C(*sum) : value);
  });
}
REGISTER(nll_loss, NllLoss, kReal)
REGISTER(nll_loss_grad, NllLossGrad, kReal)

template <class T, class X>
void LabelSmooth(const X& context, const Tensor& label, const OptionalTensor& prior, float epsilon, Tensor* out) {
  using C = Compute<T>;
  auto a = read<T>(label), p = read<T>(prior);
  auto r = write<T>(context, out);
  int64_t classes = label.dims().size() ? label.dims()[label.dims().size() - 1] : 1;
  launch(context, "label_smooth", label.numel(), DEVICE(int64_t i) {
    r[i] = T(C(1 - epsilon) * C(a[i]) + (p ? C(epsilon) * C(p[i % classes]) : C(epsilon / classes)));
  });
}
template <class T, class X> void LabelSmoothGrad(const X& context, const Tensor& dout, float epsilon, Tensor* dlabel) {
  using C = Compute<T>;
  auto r = write<T>(context, dlabel);
  launch_elements(context, "label_smooth_grad", dout.numel(), DEVICE(T& y, T g) { y = T(C(1 - epsilon) * C(g)); }, r,
                  read<T>(dout));
}
REGISTER(label_smooth, LabelSmooth, kReal)
REGISTER(label_smooth_grad, LabelSmoothGrad, kReal)

// ---- loss scaling

template <class T> struct UnscaleRule {
  using C = Compute<T>;
  struct Entry {
    int64_t count;
    const T* from;
    T* to;
  };
  const C* scale;
  bool* found;
  template <int N> HOST_DEVICE void run(const Entry& e, int64_t i, int count) const {
    C by = 1 / *scale;
    bool infinite = false;
    auto body = [&](T& out, T given) {
      C value = C(given);
      infinite = infinite || !(value - value == C(0));
      out = T(value * by);
    };
    run_neighbours<N>(body, count, Neighbours<N, T>(e.to, i, count), Neighbours<N, const T>(e.from, i, count));
    if (infinite) *found = true;  // all who write write the same
  }
};
template <class T, class X>
void CheckFiniteAndUnscale(const X& context, const Tensors& x, const Tensor& scale, std::vector<Tensor*> out, Tensor* found) {
  using Rule = UnscaleRule<T>;
  bool* mark = write<bool>(context, found);
  fill_elements(context, "check_finite_and_unscale", 1, false, mark);
  std::vector<typename Rule::Entry> entries;
  for (size_t k = 0; k < x.size(); ++k) {
    auto from = read<T>(*x[k]);
    entries.push_back({x[k]->numel(), from, write<T>(context, out[k])});
  }
  launch_entries<neighbours<T>()>(context, "check_finite_and_unscale", Rule{read<Compute<T>>(scale), mark}, entries);
}

template <class T> struct ClearRule {
  struct Entry {
    int64_t count;
    const T* from;
    T* to;
  };
  const bool* found;
  template <int N> HOST_DEVICE void run(const Entry& e, int64_t i, int count) const {
    bool clear = *found;
    auto body = [&](T& out, T given) { out = clear ? T(0) : given; };
    run_neighbours<N>(body, count, Neighbours<N, T>(e.to, i, count), Neighbours<N, const T>(e.from, i, count));
  }
};
template <class T, class X>
void UpdateLossScaling(const X& context, const Tensors& x, const Tensor& found, const Tensor& scale, const Tensor& good,
                       const Tensor& bad, int steps_to_grow, int steps_to_shrink, float growth, float shrinkage,
                       const phi::Scalar& stop, std::vector<Tensor*> out, Tensor* scale_out, Tensor* good_out, Tensor* bad_out) {
  using C = Compute<T>;
  using Rule = ClearRule<T>;
  auto mark = read<bool>(found);
  std::vector<typename Rule::Entry> entries;
  for (size_t k = 0; k < x.size(); ++k) {
    auto from = read<T>(*x[k]);
    entries.push_back({x[k]->numel(), from, write<T>(context, out[k])});
  }
  launch_entries<neighbours<T>()>(context, "update_loss_scaling", Rule{mark}, entries);
  if (stop.to<bool>()) return;
  auto s = read<C>(scale);
  auto g = read<int>(good), b = read<int>(bad);
  auto rs = write<C>(context, scale_out);
  auto rg = write<int>(context, good_out), rb = write<int>(context, bad_out);
  launch(context, "update_loss_scaling", 1, DEVICE(int64_t) {
    C now = *s;
    int good_steps = *mark ? 0 : *g + 1, bad_steps = *mark ? *b + 1 : 0;
    if (bad_steps == steps_to_shrink) {
      now = now * C(shrinkage) < 1 ? C(1) : now * C(shrinkage);
      bad_steps = 0;
    } else if (good_steps == steps_to_grow) {
      C larger = now * C(growth);
      now = larger - larger == C(0) ? larger : now;
      good_steps = 0;
    }
    *rs = now;
    *rg = good_steps;
    *rb = bad_steps;
  });
}
REGISTER_AMENDED(check_finite_and_unscale, CheckFiniteAndUnscale, kReal, takes_other_types)
REGISTER_AMENDED(update_loss_scaling, UpdateLossScaling, kReal, takes_other_types)

}  // namespace tablerec
