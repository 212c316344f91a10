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

// Pieces that lie beside one another in the rows of a whole, [outer, width]; each is [outer, its columns].
template <class B> struct Piece {
  B* at;
  int64_t columns, offset;
};
constexpr int kPieces = 8;  // in one launch
template <class B> struct Pieces {
  B* at[kPieces] = {};
  int64_t first[kPieces + 1] = {}, offset[kPieces] = {};  // columns of the pieces before it; its place in the whole
};
template <class B, class U>
void copy_units(const Context& context, const char* name, U* whole, int64_t outer, int64_t width, const Piece<B>* pieces, int n_pieces,
                bool out_of_whole) {
  constexpr int64_t N = sizeof(U) / sizeof(B);
  Pieces<U> some;
  for (int k = 0; k < kPieces; ++k) {
    bool there = k < n_pieces;
    some.at[k] = there ? reinterpret_cast<U*>(pieces[k].at) : nullptr;
    some.first[k + 1] = some.first[k] + (there ? pieces[k].columns / N : 0);
    some.offset[k] = there ? pieces[k].offset / N : 0;
  }
  int64_t columns = some.first[kPieces], count = outer * columns;
  width /= N;
  bool small = count < (int64_t(1) << 31);
  launch(context, name, count, DEVICE(int64_t i) {
    int64_t row = small ? int64_t(uint32_t(i) / uint32_t(columns)) : i / columns, column = i - row * columns;
    U* piece = some.at[0];
    int64_t before = 0, own = some.first[1], offset = some.offset[0];
#pragma unroll
    for (int k = 1; k < kPieces; ++k)
      if (column >= some.first[k]) piece = some.at[k], before = some.first[k], own = some.first[k + 1] - before, offset = some.offset[k];
    U *here = piece + row * own + column - before, *there = whole + row * width + offset + column - before;
    if (out_of_whole) *here = *there;
    else *there = *here;
  });
}
// Copies pieces into the rows of a whole, or out of it.
template <class B>
void copy_pieces(const Context& context, const char* name, B* whole, int64_t outer, int64_t width, const std::vector<Piece<B>>& pieces,
                 bool out_of_whole) {
  // In units as wide as what all have in common: 16 bytes where they can.
  constexpr int64_t N = 16 / sizeof(B);
  for (size_t k = 0; k < pieces.size(); k += kPieces) {
    int n_pieces = int(std::min<size_t>(kPieces, pieces.size() - k));
    auto places = reinterpret_cast<uintptr_t>(whole) % 16 + uintptr_t(width % N);
    for (int j = 0; j < n_pieces; ++j) {
      const auto& piece = pieces[k + j];
      places += reinterpret_cast<uintptr_t>(piece.at) % 16 + uintptr_t(piece.columns % N + piece.offset % N);
    }
    if (places) copy_units(context, name, whole, outer, width, &pieces[k], n_pieces, out_of_whole);
    else copy_units(context, name, reinterpret_cast<Pack<B, N>*>(whole), outer, width, &pieces[k], n_pieces, out_of_whole);
  }
}
// To copy from: what is read is not written.
template <class T> auto source(const Tensor& x) {
  auto from = bits(read<T>(x));
  return const_cast<std::remove_const_t<std::remove_pointer_t<decltype(from)>>*>(from);
}

// Lays tensors of [outer, columns of its own] beside one another.
template <class T> void join(const Context& context, const char* name, const Tensors& x, const Split& s, const std::vector<int64_t>& lengths, Tensor* out) {
  auto r = bits(write<T>(context, out));
  std::vector<Piece<std::remove_pointer_t<decltype(r)>>> pieces;
  int64_t offset = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    if (x[k]->numel()) pieces.push_back({source<T>(*x[k]), lengths[k] * s.inner, offset});
    offset += lengths[k] * s.inner;
  }
  copy_pieces(context, name, r, s.outer, s.length * s.inner, pieces, false);
}
template <class Parts> std::vector<int64_t> lengths_of(const Parts& x, int64_t axis) {
  std::vector<int64_t> lengths;
  for (auto* part : x) lengths.push_back(part->numel() ? part->dims()[to_axis(axis, part->dims().size())] : 0);
  return lengths;
}
template <class T, class X> void Concat(const X& context, const Tensors& x, const phi::Scalar& axis, Tensor* out) {
  join<T>(context, "concat", x, Split(out->dims(), axis.to<int64_t>()), lengths_of(x, axis.to<int64_t>()), out);
}
template <class T>
void cut(const Context& context, const char* name, const Tensor& x, int64_t axis, const std::vector<Tensor*>& parts,
         const std::vector<int64_t>& lengths) {
  Split s(x.dims(), axis);
  auto whole = source<T>(x);
  std::vector<Piece<std::remove_pointer_t<decltype(whole)>>> pieces;
  int64_t offset = 0;
  for (size_t k = 0; k < parts.size(); ++k) {
    int64_t columns = lengths[k] * s.inner;
    if (parts[k]) {
      auto r = bits(write<T>(context, parts[k]));
      if (columns) pieces.push_back({r, columns, offset});
    }
    offset += columns;
  }
  copy_pieces(context, name, whole, s.outer, s.length * s.inner, pieces, true);
}
template <class T, class X>
void ConcatGrad(const X& context, const Tensors& x, const Tensor& dout, const phi::Scalar& axis, std::vector<Tensor*> dx) {
  cut<T>(context, "concat_grad", dout, axis.to<int64_t>(), dx, lengths_of(x, axis.to<int64_t>()));
}
template <class T>
void split(const Context& context, const char* name, const Tensor& x, int64_t axis, const std::vector<Tensor*>& parts) {
  cut<T>(context, name, x, axis, parts, lengths_of(parts, axis));
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
  join<T>(context, name, x, Split(out->dims(), axis), std::vector<int64_t>(x.size(), 1), out);
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
