// Optimizers. A parameter in half precision may have a master in float: the step is made on the master, and rounded.
// The kernels work in place, on one parameter or on a table of them.
#include "elements.h"
#include "register.h"

namespace tablerec {

inline const auto kReal = kFloats + kHalves;

// A learning rate on the device, in whatever type Paddle keeps it.
struct Rate {
  const void* at;
  phi::DataType type;
  HOST_DEVICE double operator()() const {
    switch (type) {
      case phi::DataType::FLOAT64: return *static_cast<const double*>(at);
      case phi::DataType::FLOAT16: return float(*static_cast<const phi::dtype::float16*>(at));
      case phi::DataType::BFLOAT16: return float(*static_cast<const phi::dtype::bfloat16*>(at));
      default: return *static_cast<const float*>(at);
    }
  }
};
inline Rate rate_of(const Tensor& rate) {
  switch (rate.dtype()) {
    case phi::DataType::FLOAT32: return {read<float>(rate), rate.dtype()};
    case phi::DataType::FLOAT64: return {read<double>(rate), rate.dtype()};
    case phi::DataType::FLOAT16: return {read<phi::dtype::float16>(rate), rate.dtype()};
    case phi::DataType::BFLOAT16: return {read<phi::dtype::bfloat16>(rate), rate.dtype()};
    default:
      REQUIRE(false, "a learning rate of type %s is not supported on %s", phi::DataTypeToString(rate.dtype()), device_name());
      return {};
  }
}

// The elements of a state that an operator changes in place; copied first where Paddle wants them elsewhere.
template <class T> T* in_place(const Context& context, const char* name, const Tensor& from, Tensor* to) {
  if (!to) return nullptr;
  auto a = read<T>(from);
  T* r = write<T>(context, to);
  copy_elements(context, name, from.numel(), a, static_cast<T*>(r));
  return r;
}
template <class T> T* in_place(const Context& context, const char* name, const OptionalTensor& from, Tensor* to) {
  return from ? in_place<T>(context, name, *from, to) : nullptr;
}

// Gradients of a half parameter come in its type, or in float where Paddle keeps master gradients.
inline bool in_float(const Tensor& gradient) { return gradient.dtype() == phi::DataType::FLOAT32; }
template <class T> using OtherGradient = std::conditional_t<std::is_same<T, double>::value, double, float>;

// The step of one element: `next` gives the new value from the old.
template <class T, class C, class F> HOST_DEVICE void step(T& out, C& master_out, T p, C master, bool has_master, F next) {
  C value = next(has_master ? master : C(p));
  out = T(value);
  master_out = value;
}

template <class T, class G> struct SgdRule {
  using C = Compute<T>;
  struct Entry {
    int64_t count;
    T* parameter;
    C* master;
    const G* gradient;
    Rate rate;
  };
  template <int N> HOST_DEVICE void run(const Entry& e, int64_t i, int count) const {
    C lr = C(e.rate());
    auto body = [&](T& out, C& master_out, T p, C master, G g) {
      step(out, master_out, p, master, e.master != nullptr, [&](C value) { return value - lr * C(g); });
    };
    run_neighbours<N>(body, count, Neighbours<N, T>(e.parameter, i, count), Neighbours<N, C>(e.master, i, count),
                      Neighbours<N, const T>(e.parameter, i, count), Neighbours<N, const C>(e.master, i, count),
                      Neighbours<N, const G>(e.gradient, i, count));
  }
};
template <class T, class G>
void sgd(const Context& context, const Tensor& parameter, const Tensor& rate, const Tensor& gradient, const OptionalTensor& master,
         bool multi_precision, Tensor* out, Tensor* master_out) {
  using Rule = SgdRule<T, G>;
  auto m = multi_precision ? in_place<Compute<T>>(context, "sgd", master, master_out) : nullptr;
  auto p = in_place<T>(context, "sgd", parameter, out);
  launch_entries<neighbours<T, Compute<T>>()>(context, "sgd", Rule{},
      std::vector<typename Rule::Entry>{{parameter.numel(), p, m, read<G>(gradient), rate_of(rate)}});
}
template <class T, class X>
void Sgd(const X& context, const Tensor& parameter, const Tensor& rate, const Tensor& gradient, const OptionalTensor& master,
         bool multi_precision, Tensor* out, Tensor* master_out) {
  auto make = in_float(gradient) ? sgd<T, OtherGradient<T>> : sgd<T, T>;
  make(context, parameter, rate, gradient, master, multi_precision, out, master_out);
}

// `V`: the type of the velocity, which is the parameter's where a half parameter has no master.
template <class T, class G, class V> struct MomentumRule {
  using C = Compute<T>;
  struct Entry {
    int64_t count;
    T* parameter;
    C* master;
    V* velocity;
    const G* gradient;
    Rate rate;
    float decay;
  };
  float mu, rescale;
  bool nesterov;
  template <int N> HOST_DEVICE void run(const Entry& e, int64_t i, int count) const {
    C lr = C(e.rate()), by = C(mu), scale = C(rescale), decay = C(e.decay);
    bool ahead = nesterov;
    auto body = [&](T& out, C& master_out, V& velocity_out, T p, C master, V v, G g) {
      step(out, master_out, p, master, e.master != nullptr, [&](C value) {
        C d = C(g) * scale + decay * value, speed = C(v) * by + d;
        velocity_out = V(speed);
        return value - lr * (ahead ? d + by * speed : speed);
      });
    };
    run_neighbours<N>(body, count, Neighbours<N, T>(e.parameter, i, count), Neighbours<N, C>(e.master, i, count),
                      Neighbours<N, V>(e.velocity, i, count), Neighbours<N, const T>(e.parameter, i, count),
                      Neighbours<N, const C>(e.master, i, count), Neighbours<N, const V>(e.velocity, i, count),
                      Neighbours<N, const G>(e.gradient, i, count));
  }
};
struct MomentumTensors {
  const Tensor &parameter, &gradient, &velocity, &rate;
  const Tensor* master;
  float decay;
  Tensor *out, *velocity_out, *master_out;
};
template <class T, class G, class V>
void momentum(const Context& context, const char* name, const std::vector<MomentumTensors>& all, float mu, bool nesterov,
              float rescale) {
  using Rule = MomentumRule<T, G, V>;
  using C = Compute<T>;
  std::vector<typename Rule::Entry> entries;
  for (auto& t : all) {
    auto master = t.master ? in_place<C>(context, name, *t.master, t.master_out) : nullptr;
    auto velocity = in_place<V>(context, name, t.velocity, t.velocity_out);
    auto parameter = in_place<T>(context, name, t.parameter, t.out);
    entries.push_back({t.parameter.numel(), parameter, master, velocity, read<G>(t.gradient), rate_of(t.rate), t.decay});
  }
  launch_entries<neighbours<T, C>()>(context, name, Rule{mu, rescale, nesterov}, entries);
}
// All of a list have the same types.
template <class T>
void momentum_of(const Context& context, const char* name, const std::vector<MomentumTensors>& all, float mu, bool nesterov,
                 float rescale) {
  if (all.empty()) return;
  using C = Compute<T>;
  using G = OtherGradient<T>;
  bool own_velocity = all[0].velocity.dtype() == phi::CppTypeToDataType<T>::Type();
  auto make = in_float(all[0].gradient) ? (own_velocity ? momentum<T, G, T> : momentum<T, G, C>)
                                        : (own_velocity ? momentum<T, T, T> : momentum<T, T, C>);
  make(context, name, all, mu, nesterov, rescale);
}
template <class T, class X>
void Momentum(const X& context, const Tensor& parameter, const Tensor& gradient, const Tensor& velocity, const Tensor& rate,
              const OptionalTensor& master, float mu, bool nesterov, const std::string& regularization, float coefficient,
              bool multi_precision, float rescale, Tensor* out, Tensor* velocity_out, Tensor* master_out) {
  float decay = regularization == "l2_decay" ? coefficient : 0;
  momentum_of<T>(context, "momentum", {{parameter, gradient, velocity, rate, multi_precision ? master.get_ptr() : nullptr,
                                        decay, out, velocity_out, master_out}}, mu, nesterov, rescale);
}
using OptionalTensors = paddle::optional<Tensors>;
template <class T, class X>
void MergedMomentum(const X& context, const Tensors& parameters, const Tensors& gradients, const Tensors& velocities,
                    const Tensors& rates, const OptionalTensors& masters, float mu, bool nesterov,
                    const std::vector<std::string>& regularizations, const std::vector<float>& coefficients,
                    bool multi_precision, float rescale, std::vector<Tensor*> out, std::vector<Tensor*> velocities_out,
                    std::vector<Tensor*> masters_out) {
  std::vector<MomentumTensors> all;
  for (size_t k = 0; k < parameters.size(); ++k) {
    bool decays = k < regularizations.size() && regularizations[k] == "l2_decay";
    bool has_master = multi_precision && masters;
    all.push_back({*parameters[k], *gradients[k], *velocities[k], *rates[rates.size() == 1 ? 0 : k],
                   has_master ? (*masters)[k] : nullptr, decays ? coefficients[k] : 0, out[k], velocities_out[k],
                   has_master ? masters_out[k] : nullptr});
  }
  momentum_of<T>(context, "merged_momentum", all, mu, nesterov, rescale);
}

REGISTER_AMENDED(sgd, Sgd, kReal, takes_other_types)
REGISTER_AMENDED(momentum, Momentum, kReal, takes_other_types)
REGISTER_AMENDED(merged_momentum, MergedMomentum, kReal, takes_other_types)

// Adam (Kingma and Ba, 2015), with decay apart from the gradient (Loshchilov and Hutter, 2019).
template <class T, class G> struct AdamRule {
  using C = Compute<T>;
  struct Entry {
    int64_t count;
    T* parameter;
    C *master, *first, *second;
    const G* gradient;
    Rate rate;
    const C *power1, *power2;  // on the device, or
    C host1, host2;
  };
  C beta1, beta2, epsilon, decay, ratio;
  const bool* skip;
  template <int N> HOST_DEVICE void run(const Entry& e, int64_t i, int count) const {
    if (skip && *skip) return;
    C lr = C(e.rate()) * ratio, power1 = e.power1 ? *e.power1 : e.host1, power2 = e.power2 ? *e.power2 : e.host2;
    C root = sqrt(1 - power2), step_size = lr * root / (1 - power1), kept = 1 - lr * decay, floor = epsilon * root;
    C b1 = beta1, b2 = beta2;
    auto body = [&](T& out, C& master_out, C& first_out, C& second_out, T p, C master, C m, C v, G given) {
      step(out, master_out, p, master, e.master != nullptr, [&](C value) {
        C g = C(given), mean = b1 * m + (1 - b1) * g, square = b2 * v + (1 - b2) * g * g;
        first_out = mean;
        second_out = square;
        return value * kept - step_size * mean / (sqrt(square) + floor);
      });
    };
    run_neighbours<N>(body, count, Neighbours<N, T>(e.parameter, i, count), Neighbours<N, C>(e.master, i, count),
                      Neighbours<N, C>(e.first, i, count), Neighbours<N, C>(e.second, i, count),
                      Neighbours<N, const T>(e.parameter, i, count), Neighbours<N, const C>(e.master, i, count),
                      Neighbours<N, const C>(e.first, i, count), Neighbours<N, const C>(e.second, i, count),
                      Neighbours<N, const G>(e.gradient, i, count));
  }
};
struct AdamTensors {
  const Tensor &parameter, &gradient, &rate, &first, &second, &power1, &power2;
  const Tensor* master;
  Tensor *out, *first_out, *second_out, *power1_out, *power2_out, *master_out;
};
struct AdamNumbers {
  double beta1, beta2, epsilon, decay, ratio;
  bool powers_by_caller;
  const Tensor* skip;
};
inline bool on_host(const Tensor& tensor) { return tensor.place().GetType() == phi::AllocationType::CPU; }

template <class T, class G>
void adam(const Context& context, const char* name, const std::vector<AdamTensors>& all, const AdamNumbers& n) {
  using C = Compute<T>;
  using Rule = AdamRule<T, G>;
  bool skipped = false;
  const bool* skip = nullptr;
  if (n.skip && on_host(*n.skip)) skipped = n.skip->data<bool>()[0];
  else if (n.skip) skip = read<bool>(*n.skip);
  if (skip && std::any_of(all.begin(), all.end(), [](auto& t) { return on_host(t.power1); })) {
    // Powers on the host cannot follow a mark on the device: this one waits.
    Tensor mark;
    phi::Copy(context, *n.skip, phi::CPUPlace(), true, &mark);
    skipped = mark.data<bool>()[0];
    skip = nullptr;
  }
  std::vector<typename Rule::Entry> entries;
  for (auto& t : all) {
    auto master = t.master ? in_place<C>(context, name, *t.master, t.master_out) : nullptr;
    auto first = in_place<C>(context, name, t.first, t.first_out), second = in_place<C>(context, name, t.second, t.second_out);
    auto parameter = in_place<T>(context, name, t.parameter, t.out);
    // Paddle makes the powers of beta on the host, but a loaded state may have them on the device.
    bool host = on_host(t.power1);
    entries.push_back({t.parameter.numel(), parameter, master, first, second, read<G>(t.gradient), rate_of(t.rate),
                       host ? nullptr : read<C>(t.power1), host ? nullptr : read<C>(t.power2),
                       host ? t.power1.template data<C>()[0] : C(0), host ? t.power2.template data<C>()[0] : C(0)});
  }
  C beta1 = C(n.beta1), beta2 = C(n.beta2);
  if (!skipped)
    launch_entries<neighbours<T, C>()>(context, name,
        Rule{beta1, beta2, C(n.epsilon), C(n.decay), C(n.ratio), skip}, entries);
  if (n.powers_by_caller) return;
  for (size_t k = 0; k < all.size(); ++k) {
    auto& t = all[k];
    if (on_host(t.power1)) {
      context.template HostAlloc<C>(t.power1_out)[0] = entries[k].host1 * (skipped ? C(1) : beta1);
      context.template HostAlloc<C>(t.power2_out)[0] = entries[k].host2 * (skipped ? C(1) : beta2);
      continue;
    }
    auto next1 = write<C>(context, t.power1_out), next2 = write<C>(context, t.power2_out);
    auto power1 = entries[k].power1, power2 = entries[k].power2;
    launch(context, name, 1, DEVICE(int64_t) {
      bool stays = skipped || (skip && *skip);
      C one = power1[0] * (stays ? C(1) : beta1), other = power2[0] * (stays ? C(1) : beta2);
      next1[0] = one;
      next2[0] = other;
    });
  }
}
template <class T>
void adam_of(const Context& context, const char* name, const std::vector<AdamTensors>& all, const AdamNumbers& n, bool amsgrad) {
  REQUIRE(!amsgrad, "%s with amsgrad is not supported on %s", name, device_name());
  if (all.empty()) return;
  auto make = in_float(all[0].gradient) ? adam<T, OtherGradient<T>> : adam<T, T>;
  make(context, name, all, n);
}

template <class T, class X>
void Adam(const X& context, const Tensor& parameter, const Tensor& gradient, const Tensor& rate, const Tensor& first,
          const Tensor& second, const OptionalTensor&, const Tensor& power1, const Tensor& power2, const OptionalTensor& master,
          const OptionalTensor& skip, const phi::Scalar& beta1, const phi::Scalar& beta2, const phi::Scalar& epsilon, bool,
          int64_t, bool multi_precision, bool powers_by_caller, bool amsgrad, Tensor* out, Tensor* first_out,
          Tensor* second_out, Tensor*, Tensor* power1_out, Tensor* power2_out, Tensor* master_out) {
  adam_of<T>(context, "adam", {{parameter, gradient, rate, first, second, power1, power2,
                                multi_precision ? master.get_ptr() : nullptr, out, first_out, second_out, power1_out,
                                power2_out, master_out}},
             {beta1.to<double>(), beta2.to<double>(), epsilon.to<double>(), 0, 1, powers_by_caller, skip.get_ptr()}, amsgrad);
}
template <class T, class X>
void AdamW(const X& context, const Tensor& parameter, const Tensor& gradient, const Tensor& rate, const Tensor& first,
           const Tensor& second, const OptionalTensor&, const Tensor& power1, const Tensor& power2, const OptionalTensor& master,
           const OptionalTensor& skip, const phi::Scalar& beta1, const phi::Scalar& beta2, const phi::Scalar& epsilon,
           float rate_ratio, float coefficient, bool with_decay, bool, int64_t, bool multi_precision, bool powers_by_caller,
           bool amsgrad, Tensor* out, Tensor* first_out, Tensor* second_out, Tensor*, Tensor* power1_out, Tensor* power2_out,
           Tensor* master_out) {
  adam_of<T>(context, "adamw", {{parameter, gradient, rate, first, second, power1, power2,
                                 multi_precision ? master.get_ptr() : nullptr, out, first_out, second_out, power1_out,
                                 power2_out, master_out}},
             {beta1.to<double>(), beta2.to<double>(), epsilon.to<double>(), with_decay ? coefficient : 0, rate_ratio,
              powers_by_caller, skip.get_ptr()}, amsgrad);
}

struct AdamLists {
  const Tensors &parameters, &gradients, &rates, &first, &second, &power1, &power2;
  const OptionalTensors& masters;
  const std::vector<Tensor*>&out, &first_out, &second_out, &power1_out, &power2_out, &masters_out;
  std::vector<AdamTensors> pairs(bool multi_precision) const {
    bool has_master = multi_precision && masters;
    std::vector<AdamTensors> all;
    for (size_t k = 0; k < parameters.size(); ++k)
      all.push_back({*parameters[k], *gradients[k], *rates[rates.size() == 1 ? 0 : k], *first[k], *second[k], *power1[k],
                     *power2[k], has_master ? (*masters)[k] : nullptr, out[k], first_out[k], second_out[k], power1_out[k],
                     power2_out[k], has_master ? masters_out[k] : nullptr});
    return all;
  }
};
template <class T, class X>
void MergedAdam(const X& context, const Tensors& parameters, const Tensors& gradients, const Tensors& rates,
                const Tensors& first, const Tensors& second, const OptionalTensors&, const Tensors& power1,
                const Tensors& power2, const OptionalTensors& masters, const phi::Scalar& beta1, const phi::Scalar& beta2,
                const phi::Scalar& epsilon, bool multi_precision, bool powers_by_caller, bool amsgrad,
                std::vector<Tensor*> out, std::vector<Tensor*> first_out, std::vector<Tensor*> second_out,
                std::vector<Tensor*>, std::vector<Tensor*> power1_out, std::vector<Tensor*> power2_out,
                std::vector<Tensor*> masters_out) {
  AdamLists lists{parameters, gradients, rates, first, second, power1, power2, masters, out, first_out, second_out,
                  power1_out, power2_out, masters_out};
  adam_of<T>(context, "merged_adam", lists.pairs(multi_precision),
             {beta1.to<double>(), beta2.to<double>(), epsilon.to<double>(), 0, 1, powers_by_caller, nullptr}, amsgrad);
}
template <class T, class X>
void FusedAdam(const X& context, const Tensors& parameters, const Tensors& gradients, const Tensor& rate, const Tensors& first,
               const Tensors& second, const OptionalTensors&, const Tensors& power1, const Tensors& power2,
               const OptionalTensors& masters, const OptionalTensor& skip, const phi::Scalar& beta1, const phi::Scalar& beta2,
               const phi::Scalar& epsilon, int, float decay, bool apart, bool multi_precision, bool powers_by_caller,
               bool amsgrad, std::vector<Tensor*> out, std::vector<Tensor*> first_out, std::vector<Tensor*> second_out,
               std::vector<Tensor*>, std::vector<Tensor*> power1_out, std::vector<Tensor*> power2_out,
               std::vector<Tensor*> masters_out) {
  REQUIRE(apart || decay == 0, "fused_adam with weight_decay but without use_adamw is not supported on %s", device_name());
  Tensors rates{&rate};
  AdamLists lists{parameters, gradients, rates, first, second, power1, power2, masters, out, first_out, second_out,
                  power1_out, power2_out, masters_out};
  adam_of<T>(context, "fused_adam", lists.pairs(multi_precision),
             {beta1.to<double>(), beta2.to<double>(), epsilon.to<double>(), decay, 1, powers_by_caller, skip.get_ptr()}, amsgrad);
}
inline void takes_powers_anywhere(phi::Kernel* kernel) {
  takes_other_types(kernel);
  for (int k : {6, 7, 9}) kernel->InputAt(k).SetBackend(phi::Backend::ALL_BACKEND);
  for (int k : {4, 5}) kernel->OutputAt(k).SetBackend(phi::Backend::UNDEFINED);
}
inline void takes_lists_of_powers_anywhere(phi::Kernel* kernel) {
  takes_other_types(kernel);
  for (int k : {6, 7}) kernel->InputAt(k).SetBackend(phi::Backend::ALL_BACKEND);
  for (int k : {4, 5}) kernel->OutputAt(k).SetBackend(phi::Backend::UNDEFINED);
}
REGISTER_AMENDED(adam, Adam, kReal, takes_powers_anywhere)
REGISTER_AMENDED(adamw, AdamW, kReal, takes_powers_anywhere)
REGISTER_AMENDED(merged_adam, MergedAdam, kReal, takes_lists_of_powers_anywhere)
REGISTER_AMENDED(fused_adam, FusedAdam, kReal, takes_powers_anywhere)

}  // namespace tablerec
