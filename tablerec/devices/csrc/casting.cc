// Elements of another type, and elements of one tensor or another.
#include "elements.h"
#include "float8.h"
#include "reduce.h"
#include "register.h"

namespace tablerec {

template <class From, class To> void cast_to(const Context& context, const Tensor& x, Tensor* out) {
  auto a = read<From>(x);
  auto r = write<To>(context, out);
  launch_elements(context, "cast", x.numel(), DEVICE(To& y, From u) { y = static_cast<To>(Compute<From>(u)); }, r, a);
}
template <class T, class X> void Cast(const X& context, const Tensor& x, phi::DataType type, Tensor* out) {
  switch (type) {
    case phi::DataType::FLOAT32: return cast_to<T, float>(context, x, out);
    case phi::DataType::FLOAT64: return cast_to<T, double>(context, x, out);
    case phi::DataType::INT32: return cast_to<T, int>(context, x, out);
    case phi::DataType::INT64: return cast_to<T, int64_t>(context, x, out);
    case phi::DataType::BOOL: return cast_to<T, bool>(context, x, out);
    case phi::DataType::UINT8: return cast_to<T, uint8_t>(context, x, out);
    case phi::DataType::INT8: return cast_to<T, int8_t>(context, x, out);
    case phi::DataType::INT16: return cast_to<T, int16_t>(context, x, out);
    case phi::DataType::FLOAT16: return cast_to<T, phi::dtype::float16>(context, x, out);
    case phi::DataType::BFLOAT16: return cast_to<T, phi::dtype::bfloat16>(context, x, out);
    case phi::DataType::FLOAT8_E4M3FN: return cast_to<T, phi::dtype::float8_e4m3fn>(context, x, out);
    case phi::DataType::FLOAT8_E5M2: return cast_to<T, phi::dtype::float8_e5m2>(context, x, out);
    default: REQUIRE(false, "cast to %s is not supported on %s", phi::DataTypeToString(type), device_name());
  }
}
REGISTER_AMENDED(cast, Cast, kMoved, gives_another_type)

template <class B>
void choose(const Context& context, const Tensor& condition, const Tensor& x, const Tensor& y, Tensor* out, const B* a,
            const B* b, B* r) {
  auto to = out->dims();
  auto at = walk(to, broadcast_strides(condition.dims(), to), broadcast_strides(x.dims(), to),
                 broadcast_strides(y.dims(), to));
  launch_walk(context, "where", at, DEVICE(bool c, B u, B v) { return c ? u : v; }, r, read<bool>(condition), a, b);
}
template <class T, class X>
void Where(const X& context, const Tensor& condition, const Tensor& x, const Tensor& y, Tensor* out) {
  auto r = write<T>(context, out);
  choose(context, condition, x, y, out, bits(read<T>(x)), bits(read<T>(y)), bits(r));
}
template <class T, class X>
void WhereGrad(const X& context, const Tensor& condition, const Tensor& x, const Tensor& y, const Tensor& dout,
               Tensor* dx, Tensor* dy) {
  using C = Compute<T>;
  auto c = read<bool>(condition);
  auto g = read<T>(dout);
  auto dims = dout.dims();
  auto at = walk(dims, broadcast_strides(condition.dims(), dims), contiguous_strides(dims));
  for (bool chosen : {false, true}) {
    Tensor* to = chosen ? dx : dy;
    if (!to) continue;
    auto body = DEVICE(bool u, T w) { return u == chosen ? w : T(0); };
    if (to->dims() == dims) {
      launch_walk(context, "where_grad", at, body, write<T>(context, to), c, g);
    } else {
      Temporary<T> whole(context, dims);
      launch_walk(context, "where_grad", at, body, whole.data, c, g);
      sum_to_shape<T>(context, "where_grad", whole.data, dims, to);
    }
  }
}
REGISTER(where, Where, kAll + kHalves)
REGISTER(where_grad, WhereGrad, kFloats + kHalves)

}  // namespace tablerec
