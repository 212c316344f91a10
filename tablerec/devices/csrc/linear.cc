// A product of matrices with a bias and an activation after it.
#include "elements.h"
#include "products.h"
#include "register.h"

namespace tablerec {

enum class Activation { kNone, kRelu, kGelu };
inline Activation activation_of(const char* name, const std::string& activation) {
  if (activation == "none" || activation.empty()) return Activation::kNone;
  if (activation == "relu" || activation == "relu_grad") return Activation::kRelu;
  REQUIRE(activation == "gelu" || activation == "gelu_grad", "%s with the activation %s is not supported on %s", name, activation,
          device_name());
  return Activation::kGelu;
}
// The approximation by tanh, which is what cuBLAS's own epilogue computes.
template <class C> HOST_DEVICE C activated(Activation activation, C a) {
  if (activation == Activation::kNone) return a;
  if (activation == Activation::kRelu) return a > 0 ? a : C(0);
  return C(0.5) * a * (1 + tanh(C(0.79788456080286535588) * (a + C(0.044715) * a * a * a)));
}
template <class C> HOST_DEVICE C slope_of(Activation activation, C a) {
  if (activation == Activation::kNone) return C(1);
  if (activation == Activation::kRelu) return a > 0 ? C(1) : C(0);
  const C k = C(0.79788456080286535588), c = C(0.044715), t = tanh(k * (a + c * a * a * a));
  return C(0.5) * (1 + t + a * (1 - t * t) * k * (1 + 3 * c * a * a));
}

// As a matrix: all dimensions but the last are rows, or, where it is turned, all but the first are columns.
inline phi::DDim matrix_dims(const phi::DDim& dims, bool turned) {
  int64_t first = turned ? dims[0] : dims[dims.size() - 1], rest = 1;
  for (int k = 0; k < dims.size(); ++k)
    if (k != (turned ? 0 : dims.size() - 1)) rest *= dims[k];
  return turned ? phi::make_ddim({first, rest}) : phi::make_ddim({rest, first});
}

// The gradient of an activation needs what came before it: `before`, where Paddle asks for it.
template <class T, class X>
void LinearActivation(const X& context, const Tensor& x, const Tensor& y, const Tensor& bias, bool turn_x, bool turn_y,
                      const std::string& activation, Tensor* out, Tensor* before) {
  const char* name = "fused_gemm_epilogue";
  using C = Compute<T>;
  auto how = activation_of(name, activation);
  auto p = product(matrix_dims(x.dims(), turn_x), y.dims(), turn_x, turn_y);
  int64_t columns = p.columns;
  REQUIRE(bias.numel() == columns, "%s: a bias of %d for %d columns", name, int(bias.numel()), int(columns));
  auto r = write<T>(context, out);
  multiply(context, name, read<T>(x), read<T>(y), r, p);
  T* kept = nullptr;
  if (before && how != Activation::kNone) {
    before->Resize(out->dims());
    kept = write<T>(context, before);
  }
  auto b = read<T>(bias);
  launch(context, name, out->numel(), DEVICE(int64_t i) {
    C value = C(r[i]) + C(b[i % columns]);
    if (kept) kept[i] = T(value);
    r[i] = T(activated(how, value));
  });
}
template <class T, class X>
void LinearActivationGrad(const X& context, const Tensor& x, const Tensor& y, const OptionalTensor& before, const Tensor& dout, bool turn_x,
                          bool turn_y, const std::string& activation, Tensor* dx, Tensor* dy, Tensor* dbias) {
  const char* name = "fused_gemm_epilogue_grad";
  using C = Compute<T>;
  auto how = activation_of(name, activation);
  REQUIRE(how == Activation::kNone || before, "%s of %s without what came before it", name, activation);
  auto xd = matrix_dims(x.dims(), turn_x), yd = y.dims(), gd = matrix_dims(dout.dims(), false);
  auto g = read<T>(dout);
  Temporary<T> sloped(context, how == Activation::kNone ? 1 : std::max<int64_t>(dout.numel(), 1));
  if (how != Activation::kNone) {
    launch_elements(context, name, dout.numel(), DEVICE(T& r, T w, T a) { r = T(C(w) * slope_of(how, C(a))); }, sloped.data, g,
                    read<T>(*before));
    g = sloped.data;
  }
  if (dbias) sum_to_shape<T>(context, name, g, gd, dbias);
  product_gradients(context, name, xd, read<T>(x), turn_x, yd, read<T>(y), turn_y, gd, g, dx, dy);
}
inline void keeps_a_type_of_its_own(phi::Kernel* kernel) { kernel->OutputAt(1).SetDataType(phi::DataType::UNDEFINED); }
REGISTER_AMENDED(fused_gemm_epilogue, LinearActivation, kFloats + kHalves, keeps_a_type_of_its_own)
REGISTER(fused_gemm_epilogue_grad, LinearActivationGrad, kFloats + kHalves)

}  // namespace tablerec
