// Gradients of operators of two operands.
#include "elements.h"
#include "reduce.h"
#include "register.h"

namespace tablerec {

// Some gradients do not need an operand, and Paddle does not keep it.
template <class T> const T* read_kept(const Tensor& x) { return x.initialized() ? read<T>(x) : nullptr; }

// Gradient of one operand: f(dout, x, y) at each place, summed over the places where it was repeated.
template <class T, class F>
void operand_gradient(const Context& context, const char* name, const Tensor& x, const Tensor& y, const Tensor& dout,
                      Tensor* dx, F f) {
  if (!dx) return;
  using C = Compute<T>;
  auto a = read_kept<T>(x), b = read_kept<T>(y), g = read<T>(dout);
  auto dims = dout.dims();
  auto at = walk(dims, contiguous_strides(dims), broadcast_strides(x.dims(), dims), broadcast_strides(y.dims(), dims));
  auto body = DEVICE(T w, T u, T v) { return T(f(C(w), C(u), C(v))); };
  if (dx->dims() == dims) {
    launch_walk(context, name, at, body, write<T>(context, dx), g, a, b);
  } else {
    Temporary<T> whole(context, dims);
    launch_walk(context, name, at, body, whole.data, g, a, b);
    sum_to_shape<T>(context, name, whole.data, dims, dx);
  }
}

// Gradients of both operands. dx comes last: Paddle may give it the memory of dout.
template <class T, class FX, class FY>
void operand_gradients(const Context& context, const char* name, const Tensor& x, const Tensor& y, const Tensor& dout,
                       Tensor* dx, Tensor* dy, FX fx, FY fy) {
  using C = Compute<T>;
  if (dx && dy && x.dims() == y.dims()) {
    auto a = read_kept<T>(x), b = read_kept<T>(y), g = read<T>(dout);
    auto ra = write<T>(context, dx), rb = write<T>(context, dy);
    launch_elements(context, name, dout.numel(), DEVICE(T& p, T& q, T w, T u, T v) {
      p = T(fx(C(w), C(u), C(v)));
      q = T(fy(C(w), C(u), C(v)));
    }, ra, rb, g, a, b);
    return;
  }
  operand_gradient<T>(context, name, x, y, dout, dy, fy);
  operand_gradient<T>(context, name, x, y, dout, dx, fx);
}

#define BINARY_GRADIENT_FUNCTIONS(Name, gx, gy)                                                       \
  struct Name##X {                                                                                    \
    template <class C> HOST_DEVICE C operator()(C g, C x, C y) const { return gx; }                   \
  };                                                                                                  \
  struct Name##Y {                                                                                    \
    template <class C> HOST_DEVICE C operator()(C g, C x, C y) const { return gy; }                   \
  };
// `gx` and `gy`: the gradients in terms of g (of the output), x and y. The first three operators were given an axis.
#define BINARY_GRADIENT_WITH_AXIS(name, Name, gx, gy)                                                 \
  BINARY_GRADIENT_FUNCTIONS(Name, gx, gy)                                                             \
  template <class T, class X>                                                                         \
  void Name(const X& context, const Tensor& x, const Tensor& y, const Tensor& dout, int, Tensor* dx, Tensor* dy) { \
    operand_gradients<T>(context, #name, x, y, dout, dx, dy, Name##X(), Name##Y());                   \
  }                                                                                                   \
  REGISTER(name, Name, kFloats + kHalves)
#define BINARY_GRADIENT(name, Name, gx, gy)                                                           \
  BINARY_GRADIENT_FUNCTIONS(Name, gx, gy)                                                             \
  template <class T, class X>                                                                         \
  void Name(const X& context, const Tensor& x, const Tensor& y, const Tensor& dout, Tensor* dx, Tensor* dy) { \
    operand_gradients<T>(context, #name, x, y, dout, dx, dy, Name##X(), Name##Y());                   \
  }                                                                                                   \
  REGISTER(name, Name, kFloats + kHalves)

BINARY_GRADIENT_WITH_AXIS(subtract_grad, SubtractGrad, g, -g)
BINARY_GRADIENT_WITH_AXIS(multiply_grad, MultiplyGrad, g * y, g * x)
// Equals share the gradient.
BINARY_GRADIENT(maximum_grad, MaximumGrad, x > y ? g : (x == y ? g / 2 : C(0)), y > x ? g : (x == y ? g / 2 : C(0)))
BINARY_GRADIENT(minimum_grad, MinimumGrad, x < y ? g : (x == y ? g / 2 : C(0)), y < x ? g : (x == y ? g / 2 : C(0)))
BINARY_GRADIENT(elementwise_pow_grad, ElementwisePowGrad, g * y * pow(x, y - 1), g * log(x) * pow(x, y))

BINARY_GRADIENT_FUNCTIONS(DivideGrad, g / y, -g * x / (y * y))
template <class T, class X>
void DivideGrad(const X& context, const Tensor& x, const Tensor& y, const Tensor&, const Tensor& dout, int, Tensor* dx,
                Tensor* dy) {
  operand_gradients<T>(context, "divide_grad", x, y, dout, dx, dy, DivideGradX(), DivideGradY());
}
REGISTER(divide_grad, DivideGrad, kFloats + kHalves)

// A sum passes the gradient on: a copy, and none where Paddle gave dx the memory of dout.
template <class T, class X>
void AddGrad(const X& context, const Tensor&, const Tensor&, const Tensor& dout, int, Tensor* dx, Tensor* dy) {
  auto g = read<T>(dout);
  for (auto* to : {dy, dx}) {
    if (!to) continue;
    if (to->dims() != dout.dims()) sum_to_shape<T>(context, "add_grad", g, dout.dims(), to);
    else copy_elements(context, "add_grad", dout.numel(), bits(g), bits(write<T>(context, to)));
  }
}
REGISTER(add_grad, AddGrad, kFloats + kHalves)

}  // namespace tablerec
