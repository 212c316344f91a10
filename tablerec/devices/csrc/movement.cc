// Operators that copy and rearrange elements.
#include "elements.h"
#include "float8.h"
#include "register.h"

namespace tablerec {

// ---- the infrastructure of strided views: Paddle has no CPU fallback for these

inline std::vector<int64_t> strides_of(const Tensor& tensor) { return phi::vectorize(tensor.strides()); }

template <class T, class X> void Contiguous(const X& context, const Tensor& x, Tensor* out) {
  auto meta = out->meta();
  meta.strides = meta.calc_strides(meta.dims);
  out->set_meta(meta);
  auto at = walk(x.dims(), strides_of(x));
  auto r = write<T>(context, out);
  copy_walk(context, "contiguous", at, bits(read<T>(x)), bits(r));
}
REGISTER(contiguous, Contiguous, kMoved)

template <class B>
void copy_between(const Context& context, int64_t count, const Walk<1>& from, const Walk<1>& to, const B* a, B* r) {
  launch(context, "strided_copy", count, DEVICE(int64_t i) { r[to(i).at[0]] = a[from(i).at[0]]; });
}
template <class T, class X>
void StridedCopy(const X& context, const Tensor& x, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides,
                 int64_t offset, Tensor* out) {
  auto meta = out->meta();
  meta.dims = phi::make_ddim(dims);
  meta.strides = phi::make_ddim(strides);
  meta.offset = offset;
  out->set_meta(meta);
  // The copy pairs elements by their number, so both shapes are walked.
  copy_between(context, x.numel(), walk(x.dims(), strides_of(x)), walk(out->dims(), strides), bits(read<T>(x)),
               out->numel() ? bits(in_kernel_view(out->data<T>())) : nullptr);
}
REGISTER(strided_copy, StridedCopy, kMoved)

template <class T, class X> void Fill(const X& context, const Tensor&, const phi::Scalar& value, Tensor* out) {
  auto r = write<T>(context, out);
  fill_elements(context, "fill", out->numel(), bits_of(value.to<T>()), bits(r));
}
REGISTER(fill, Fill, kMoved)

template <class T, class X> void Assign(const X& context, const Tensor& x, Tensor* out) {
  auto r = write<T>(context, out);
  copy_elements(context, "assign", x.numel(), bits(read<T>(x)), bits(r));
}
REGISTER(assign, Assign, kMoved)

// ---- rearrangement

// Axes of all dimensions: Paddle takes fewer of them, and leaves the last ones where they are.
inline std::vector<int> all_axes(std::vector<int> axes, int rank) {
  while (int(axes.size()) < rank) axes.push_back(axes.size());
  return axes;
}
template <class T>
void permute(const Context& context, const char* name, const Tensor& x, const std::vector<int>& some, Tensor* out) {
  auto axes = all_axes(some, x.dims().size());
  auto own = strides_of(x);
  std::vector<int64_t> dims, strides;
  for (int axis : axes) {
    dims.push_back(x.dims()[to_axis(axis, x.dims().size())]);
    strides.push_back(own[to_axis(axis, x.dims().size())]);
  }
  auto at = walk(phi::make_ddim(dims), strides);
  auto r = write<T>(context, out);
  copy_walk(context, name, at, bits(read<T>(x)), bits(r));
}
template <class T, class X> void Transpose(const X& context, const Tensor& x, const std::vector<int>& axes, Tensor* out) {
  permute<T>(context, "transpose", x, axes, out);
}
template <class T, class X>
void TransposeGrad(const X& context, const Tensor& dout, const std::vector<int>& some, Tensor* dx) {
  auto axes = all_axes(some, dout.dims().size());
  std::vector<int> inverse(axes.size());
  for (size_t k = 0; k < axes.size(); ++k) inverse[to_axis(axes[k], axes.size())] = k;
  permute<T>(context, "transpose_grad", dout, inverse, dx);
}
REGISTER(transpose, Transpose, kMoved)
REGISTER(transpose_grad, TransposeGrad, kFloats + kHalves)

// Paddle's own gradient of a transposing is a view. Where gradients of several backward passes meet in a parameter, Paddle
// adds memory to memory and does not look at strides: a view would be added to in a wrong order, and nobody would see it.
template <class T, class X>
void ContiguousTransposeGrad(const X& context, const Tensor& dout, const std::vector<int>& axes, Tensor* dx) {
  auto meta = dx->meta();  // a kernel of views has to set the strides itself
  meta.strides = meta.calc_strides(meta.dims);
  dx->set_meta(meta);
  TransposeGrad<T>(context, dout, axes, dx);
}
template <class... T> bool register_transpose_grad_of_views(Types<T...>) {
  (phi::KernelRegistrar(
       phi::RegType::OUTER, "transpose_grad", device_name(), phi::DataLayout::STRIDED, phi::CppTypeToDataType<T>::Type(),
       phi::KernelArgsParseFunctor<decltype(&ContiguousTransposeGrad<T, Context>)>::Parse,
       [](const phi::KernelKey&, phi::Kernel*) {},
       phi::KernelImpl<decltype(&ContiguousTransposeGrad<T, Context>), &ContiguousTransposeGrad<T, Context>>::Compute,
       reinterpret_cast<void*>(
           phi::KernelImpl<decltype(&ContiguousTransposeGrad<T, Context>), &ContiguousTransposeGrad<T, Context>>::VariadicCompute)),
   ...);
  return true;
}
static const bool registered_transpose_grad_of_views = register_transpose_grad_of_views(kFloats + kHalves);

template <class U>
void copy_rows(const Context& context, const char* name, const U* from, U* to, int64_t outer, int64_t part, int64_t whole,
               int64_t offset, bool out_of_whole) {
  int64_t count = outer * part;
  bool small = count < (int64_t(1) << 31);
  launch(context, name, count, DEVICE(int64_t i) {
    int64_t row = small ? int64_t(uint32_t(i) / uint32_t(part)) : i / part;
    int64_t j = row * whole + offset + (i - row * part);
    if (out_of_whole) to[i] = from[j];
    else to[j] = from[i];
  });
}
// Copies the columns from `offset` of [outer, whole] to [outer, part], or back.
template <class B>
void copy_columns(const Context& context, const char* name, const B* from, B* to, int64_t outer, int64_t part,
                  int64_t whole, int64_t offset, bool out_of_whole) {
  // In units as wide as what all rows have in common: 16 bytes where they can.
  auto address = reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to);
  constexpr int64_t N = 16 / sizeof(B);
  if (address % 16 == 0 && part % N == 0 && whole % N == 0 && offset % N == 0)
    return copy_rows(context, name, reinterpret_cast<const Pack<B, N>*>(from), reinterpret_cast<Pack<B, N>*>(to), outer,
                     part / N, whole / N, offset / N, out_of_whole);
  copy_rows(context, name, from, to, outer, part, whole, offset, out_of_whole);
}

template <class T, class X> void Concat(const X& context, const Tensors& x, const phi::Scalar& axis, Tensor* out) {
  auto r = write<T>(context, out);
  Split s(out->dims(), axis.to<int64_t>());
  int at = to_axis(axis.to<int64_t>(), out->dims().size());
  int64_t offset = 0;
  for (auto* part : x) {
    if (!part->numel()) continue;
    int64_t columns = part->dims()[at] * s.inner;
    copy_columns(context, "concat", bits(read<T>(*part)), bits(r), s.outer, columns, s.length * s.inner, offset, false);
    offset += columns;
  }
}
template <class T>
void cut(const Context& context, const char* name, const Tensor& x, int64_t axis, const std::vector<Tensor*>& parts,
         const std::vector<int64_t>& lengths) {
  Split s(x.dims(), axis);
  int64_t offset = 0;
  for (size_t k = 0; k < parts.size(); ++k) {
    int64_t columns = lengths[k] * s.inner;
    if (parts[k]) {
      auto r = write<T>(context, parts[k]);
      copy_columns(context, name, bits(read<T>(x)), bits(r), s.outer, columns, s.length * s.inner, offset, true);
    }
    offset += columns;
  }
}
template <class T, class X>
void ConcatGrad(const X& context, const Tensors& x, const Tensor& dout, const phi::Scalar& axis, std::vector<Tensor*> dx) {
  std::vector<int64_t> lengths;
  for (auto* part : x) lengths.push_back(part->numel() ? part->dims()[to_axis(axis.to<int64_t>(), part->dims().size())] : 0);
  cut<T>(context, "concat_grad", dout, axis.to<int64_t>(), dx, lengths);
}
template <class T>
void split(const Context& context, const char* name, const Tensor& x, int64_t axis, const std::vector<Tensor*>& parts) {
  std::vector<int64_t> lengths;
  for (auto* part : parts) lengths.push_back(part->dims()[to_axis(axis, x.dims().size())]);
  cut<T>(context, name, x, axis, parts, lengths);
}
template <class T, class X>
void SplitBySizes(const X& context, const Tensor& x, const phi::IntArray&, const phi::Scalar& axis, std::vector<Tensor*> parts) {
  split<T>(context, "split", x, axis.to<int64_t>(), parts);
}
template <class T, class X>
void SplitWithNum(const X& context, const Tensor& x, int, const phi::Scalar& axis, std::vector<Tensor*> parts) {
  split<T>(context, "split_with_num", x, axis.to<int64_t>(), parts);
}
REGISTER(concat, Concat, kMoved)
REGISTER(concat_grad, ConcatGrad, kFloats + kHalves)
REGISTER(split, SplitBySizes, kMoved)
REGISTER(split_with_num, SplitWithNum, kMoved)

// Lays tensors of the same shape side by side along an axis that is new.
template <class T>
void pile(const Context& context, const char* name, const Tensors& x, int axis, Tensor* out) {
  auto r = write<T>(context, out);
  Split s(out->dims(), axis);
  for (size_t k = 0; k < x.size(); ++k)
    copy_columns(context, name, bits(read<T>(*x[k])), bits(r), s.outer, s.inner, s.length * s.inner, int64_t(k) * s.inner, false);
}
// And takes them apart.
template <class T>
void unpile(const Context& context, const char* name, const Tensor& x, int axis, const std::vector<Tensor*>& parts) {
  cut<T>(context, name, x, axis, parts, std::vector<int64_t>(parts.size(), 1));
}
template <class T, class X> void Stack(const X& context, const Tensors& x, int axis, Tensor* out) {
  pile<T>(context, "stack", x, axis, out);
}
template <class T, class X> void StackGrad(const X& context, const Tensor& dout, int axis, std::vector<Tensor*> dx) {
  unpile<T>(context, "stack_grad", dout, axis, dx);
}
template <class T, class X> void Unstack(const X& context, const Tensor& x, int axis, int, std::vector<Tensor*> parts) {
  unpile<T>(context, "unstack", x, axis, parts);
}
template <class T, class X> void UnstackGrad(const X& context, const Tensors& douts, int axis, Tensor* dx) {
  pile<T>(context, "unstack_grad", douts, axis, dx);
}
REGISTER(stack, Stack, kMoved)
REGISTER(stack_grad, StackGrad, kFloats + kHalves)
REGISTER(unstack, Unstack, kMoved)
REGISTER(unstack_grad, UnstackGrad, kFloats + kHalves)

}  // namespace tablerec
