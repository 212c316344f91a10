// Matrix products: plain loops here, cuBLAS in the CUDA build.
#include "products.h"
#include "register.h"

namespace tablerec {

// ---- matrix products

template <class T, class X>
void Matmul(const X& context, const Tensor& x, const Tensor& y, bool transpose_x, bool transpose_y, Tensor* out) {
  auto p = product(x.dims(), y.dims(), transpose_x, transpose_y);
  multiply(context, "matmul", read<T>(x), read<T>(y), write<T>(context, out), p);
}

template <class T> void scale_in_place(const Context& context, T* data, int64_t count, float by) {
  if (by == 1) return;
  launch(context, "scale", count, DEVICE(int64_t i) { data[i] = T(Compute<T>(data[i]) * Compute<T>(by)); });
}

template <class T, class X>
void MatmulGrad(const X& context, const Tensor& x, const Tensor& y, const Tensor& dout, bool transpose_x, bool transpose_y,
                Tensor* dx, Tensor* dy) {
  // Vectors are rows or columns here; the gradient's shape gets the same ones of size one.
  auto x_dims = phi::vectorize(x.dims()), y_dims = phi::vectorize(y.dims()), g_dims = phi::vectorize(dout.dims());
  bool x_vector = x_dims.size() == 1, y_vector = y_dims.size() == 1;
  if (x_vector) x_dims.insert(x_dims.begin(), 1), transpose_x = false;
  if (y_vector) y_dims.push_back(1), transpose_y = false;
  if (y_vector) g_dims.push_back(1);
  if (x_vector) g_dims.insert(g_dims.end() - 1, 1);
  auto xd = phi::make_ddim(x_dims), yd = phi::make_ddim(y_dims), gd = phi::make_ddim(g_dims);
  product_gradients(context, "matmul_grad", xd, read<T>(x), transpose_x, yd, read<T>(y), transpose_y, gd, read<T>(dout), dx, dy);
}
REGISTER(matmul, Matmul, kFloats + kHalves)
REGISTER(matmul_grad, MatmulGrad, kFloats + kHalves)

template <class T, class X> void Bmm(const X& context, const Tensor& x, const Tensor& y, Tensor* out) {
  multiply(context, "bmm", read<T>(x), read<T>(y), write<T>(context, out), product(x.dims(), y.dims(), false, false));
}
template <class T, class X>
void BmmGrad(const X& context, const Tensor& x, const Tensor& y, const Tensor& dout, Tensor* dx, Tensor* dy) {
  auto xd = x.dims(), yd = y.dims(), gd = dout.dims();
  auto g = read<T>(dout);
  if (dx) multiply_into(context, "bmm_grad", gd, g, false, yd, read<T>(y), true, xd, dx);
  if (dy) multiply_into(context, "bmm_grad", xd, read<T>(x), true, gd, g, false, yd, dy);
}
REGISTER(bmm, Bmm, kFloats + kHalves)
REGISTER(bmm_grad, BmmGrad, kFloats + kHalves)

// out = beta * input + alpha * x y, where the input broadcasts to the product's shape.
template <class T, class X>
void Addmm(const X& context, const Tensor& input, const Tensor& x, const Tensor& y, float beta, float alpha, Tensor* out) {
  auto added = walk(out->dims(), broadcast_strides(input.dims(), out->dims()));
  Temporary<T> whole(context, out->dims());  // `out` may be the memory of `input`
  auto m = whole.data;
  multiply(context, "addmm", read<T>(x), read<T>(y), m, product(x.dims(), y.dims(), false, false));
  auto a = read<T>(input);
  auto r = write<T>(context, out);
  launch(context, "addmm", out->numel(), DEVICE(int64_t i) {
    r[i] = T(Compute<T>(beta) * Compute<T>(a[added(i).at[0]]) + Compute<T>(alpha) * Compute<T>(m[i]));
  });
}
template <class T, class X>
void AddmmGrad(const X& context, const Tensor& input, const Tensor& x, const Tensor& y, const Tensor& dout, float alpha,
               float beta, Tensor* dinput, Tensor* dx, Tensor* dy) {
  auto g = read<T>(dout);
  auto scale = [&](Tensor* gradient, float by) {
    auto r = read<T>(*gradient);
    scale_in_place(context, const_cast<T*>(r), gradient->numel(), by);
  };
  auto xd = x.dims(), yd = y.dims(), gd = dout.dims();
  if (dx) multiply_into(context, "addmm_grad", gd, g, false, yd, read<T>(y), true, xd, dx), scale(dx, alpha);
  if (dy) multiply_into(context, "addmm_grad", xd, read<T>(x), true, gd, g, false, yd, dy), scale(dy, alpha);
  if (dinput) sum_to_shape<T>(context, "addmm_grad", g, gd, dinput), scale(dinput, beta);
}
REGISTER(addmm, Addmm, kFloats + kHalves)
REGISTER(addmm_grad, AddmmGrad, kFloats + kHalves)

}  // namespace tablerec
