// Losses and optimizers.
#include "register.h"
#include "shapes.h"

namespace tablerec {

// ---- losses

inline void require_plain(const char* name, bool weighted, bool normalized) {
  REQUIRE(!weighted && !normalized, "%s with pos_weight or normalize is not supported on %s", name, device_name());
}
template <class T, class X>
void SigmoidCrossEntropy(const X& context, const Tensor& x, const Tensor& label, const OptionalTensor& weight, bool normalize,
                         int ignored, Tensor* out) {
  require_plain("sigmoid_cross_entropy_with_logits", bool(weight), normalize);
  auto a = read<T>(x), t = read<T>(label);
  auto r = write<T>(context, out);
  launch(context, "sigmoid_cross_entropy_with_logits", x.numel(), DEVICE(int64_t i) {
    T v = a[i], size = v > 0 ? v : -v;
    r[i] = t[i] == T(ignored) ? T(0) : (v > 0 ? v : T(0)) - v * t[i] + log1p(exp(-size));
  });
}
template <class T, class X>
void SigmoidCrossEntropyGrad(const X& context, const Tensor& x, const Tensor& label, const OptionalTensor& weight,
                             const Tensor& dout, bool normalize, int ignored, Tensor* dx) {
  require_plain("sigmoid_cross_entropy_with_logits_grad", bool(weight), normalize);
  auto a = read<T>(x), t = read<T>(label), g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch(context, "sigmoid_cross_entropy_with_logits_grad", x.numel(), DEVICE(int64_t i) {
    r[i] = t[i] == T(ignored) ? T(0) : g[i] * (1 / (1 + exp(-a[i])) - t[i]);
  });
}
REGISTER(sigmoid_cross_entropy_with_logits, SigmoidCrossEntropy, kFloats)
REGISTER(sigmoid_cross_entropy_with_logits_grad, SigmoidCrossEntropyGrad, kFloats)

template <class T, class X>
void HuberLoss(const X& context, const Tensor& x, const Tensor& label, float delta, Tensor* out, Tensor* residual) {
  auto a = read<T>(x), t = read<T>(label);
  auto r = write<T>(context, out), rest = write<T>(context, residual);
  launch(context, "huber_loss", x.numel(), DEVICE(int64_t i) {
    T d = t[i] - a[i], size = d < 0 ? -d : d;
    rest[i] = d;
    r[i] = size <= delta ? T(0.5) * d * d : T(delta) * (size - T(0.5) * delta);
  });
}
template <class T, class X>
void HuberLossGrad(const X& context, const Tensor& residual, const Tensor& dout, float delta, Tensor* dx, Tensor* dlabel) {
  auto rest = read<T>(residual), g = read<T>(dout);
  auto r = write<T>(context, dx), l = write<T>(context, dlabel);
  launch(context, "huber_loss_grad", residual.numel(), DEVICE(int64_t i) {
    T d = rest[i] > delta ? T(delta) : (rest[i] < -delta ? T(-delta) : rest[i]);
    if (r) r[i] = -d * g[i];
    if (l) l[i] = d * g[i];
  });
}
REGISTER(huber_loss, HuberLoss, kFloats)
REGISTER(huber_loss_grad, HuberLossGrad, kFloats)

// ---- optimizers; no master weights, as parameters are in full precision

template <class T, class X>
void Sgd(const X& context, const Tensor& parameter, const Tensor& rate, const Tensor& gradient, const OptionalTensor&,
         bool multi_precision, Tensor* out, Tensor*) {
  REQUIRE(!multi_precision, "sgd with master weights is not supported on %s", device_name());
  auto p = read<T>(parameter), lr = read<T>(rate), g = read<T>(gradient);
  auto r = write<T>(context, out);
  launch(context, "sgd", parameter.numel(), DEVICE(int64_t i) { r[i] = p[i] - lr[0] * g[i]; });
}
REGISTER(sgd, Sgd, kFloats)

template <class T, class X>
void Momentum(const X& context, const Tensor& parameter, const Tensor& gradient, const Tensor& velocity, const Tensor& rate,
              const OptionalTensor&, float mu, bool nesterov, const std::string& regularization, float coefficient,
              bool multi_precision, float rescale, Tensor* out, Tensor* velocity_out, Tensor*) {
  REQUIRE(!multi_precision, "momentum with master weights is not supported on %s", device_name());
  auto p = read<T>(parameter), g = read<T>(gradient), v = read<T>(velocity), lr = read<T>(rate);
  auto r = write<T>(context, out), rv = write<T>(context, velocity_out);
  T decay = regularization == "l2_decay" ? T(coefficient) : T(0);
  launch(context, "momentum", parameter.numel(), DEVICE(int64_t i) {
    T d = g[i] * rescale + decay * p[i], next = v[i] * mu + d;
    r[i] = p[i] - lr[0] * (nesterov ? d + mu * next : next);
    rv[i] = next;
  });
}
REGISTER(momentum, Momentum, kFloats)

struct AdamTensors {
  const Tensor &parameter, &gradient, &rate, &first, &second, &beta1_power, &beta2_power;
  Tensor *out, *first_out, *second_out, *beta1_power_out, *beta2_power_out;
};
struct AdamNumbers {
  double beta1, beta2, epsilon, decay;
  bool powers_by_caller;
};

// Adam (Kingma and Ba, 2015), with decay apart from the gradient (Loshchilov and Hutter, 2019).
template <class T> void adam(const Context& context, const char* name, const AdamTensors& t, const AdamNumbers& n) {
  auto p = read<T>(t.parameter), g = read<T>(t.gradient), lr = read<T>(t.rate), m = read<T>(t.first), v = read<T>(t.second);
  // Paddle makes the powers of beta on the host, but a loaded state may have them on the device.
  bool on_host = t.beta1_power.place().GetType() == phi::AllocationType::CPU;
  T host1 = on_host ? t.beta1_power.data<T>()[0] : T(0), host2 = on_host ? t.beta2_power.data<T>()[0] : T(0);
  const T *device1 = on_host ? nullptr : read<T>(t.beta1_power), *device2 = on_host ? nullptr : read<T>(t.beta2_power);
  auto r = write<T>(context, t.out), rm = write<T>(context, t.first_out), rv = write<T>(context, t.second_out);
  T beta1 = T(n.beta1), beta2 = T(n.beta2), epsilon = T(n.epsilon), decay = T(n.decay);
  launch(context, name, t.parameter.numel(), DEVICE(int64_t i) {
    T power1 = device1 ? device1[0] : host1, power2 = device2 ? device2[0] : host2, root = sqrt(1 - power2);
    T mean = beta1 * m[i] + (1 - beta1) * g[i], square = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
    rm[i] = mean;
    rv[i] = square;
    r[i] = p[i] * (1 - lr[0] * decay) - lr[0] * root / (1 - power1) * mean / (sqrt(square) + epsilon * root);
  });
  if (n.powers_by_caller) return;
  if (on_host) {
    context.template HostAlloc<T>(t.beta1_power_out)[0] = host1 * beta1;
    context.template HostAlloc<T>(t.beta2_power_out)[0] = host2 * beta2;
    return;
  }
  auto next1 = write<T>(context, t.beta1_power_out), next2 = write<T>(context, t.beta2_power_out);
  launch(context, name, 1, DEVICE(int64_t) {
    T power1 = device1[0] * beta1, power2 = device2[0] * beta2;
    next1[0] = power1;
    next2[0] = power2;
  });
}

template <class T, class X>
void Adam(const X& context, const Tensor& parameter, const Tensor& gradient, const Tensor& rate, const Tensor& first,
          const Tensor& second, const OptionalTensor&, const Tensor& power1, const Tensor& power2, const OptionalTensor&,
          const OptionalTensor& skip, const phi::Scalar& beta1, const phi::Scalar& beta2, const phi::Scalar& epsilon, bool,
          int64_t, bool multi_precision, bool powers_by_caller, bool amsgrad, Tensor* out, Tensor* first_out,
          Tensor* second_out, Tensor*, Tensor* power1_out, Tensor* power2_out, Tensor*) {
  REQUIRE(!amsgrad && !multi_precision && !skip, "adam with amsgrad, master weights or skip_update is not supported on %s", device_name());
  adam<T>(context, "adam", {parameter, gradient, rate, first, second, power1, power2, out, first_out, second_out, power1_out, power2_out},
          {beta1.to<double>(), beta2.to<double>(), epsilon.to<double>(), 0, powers_by_caller});
}
template <class T, class X>
void AdamW(const X& context, const Tensor& parameter, const Tensor& gradient, const Tensor& rate, const Tensor& first,
           const Tensor& second, const OptionalTensor&, const Tensor& power1, const Tensor& power2, const OptionalTensor&,
           const OptionalTensor& skip, const phi::Scalar& beta1, const phi::Scalar& beta2, const phi::Scalar& epsilon,
           float rate_ratio, float coefficient, bool with_decay, bool, int64_t, bool multi_precision, bool powers_by_caller,
           bool amsgrad, Tensor* out, Tensor* first_out, Tensor* second_out, Tensor*, Tensor* power1_out, Tensor* power2_out,
           Tensor*) {
  REQUIRE(!amsgrad && !multi_precision && !skip && rate_ratio == 1.0f,
          "adamw with amsgrad, master weights, skip_update or lr_ratio is not supported on %s", device_name());
  adam<T>(context, "adamw", {parameter, gradient, rate, first, second, power1, power2, out, first_out, second_out, power1_out, power2_out},
          {beta1.to<double>(), beta2.to<double>(), epsilon.to<double>(), with_decay ? coefficient : 0, powers_by_caller});
}
inline void takes_powers_anywhere(phi::Kernel* kernel) {
  for (int k : {6, 7}) kernel->InputAt(k).SetBackend(phi::Backend::ALL_BACKEND);
  for (int k : {4, 5}) kernel->OutputAt(k).SetBackend(phi::Backend::UNDEFINED);
}
REGISTER_AMENDED(adam, Adam, kFloats, takes_powers_anywhere)
REGISTER_AMENDED(adamw, AdamW, kFloats, takes_powers_anywhere)

}  // namespace tablerec
