// What dygraph does by views, as kernels of their own: static graphs ask for these, and would run them on the CPU.
#include "register.h"
#include "shapes.h"

namespace tablerec {

// Where the cut begins in a contiguous tensor; `dims` comes in whole and goes out cut.
inline int64_t cut(const std::vector<int64_t>& axes, const phi::IntArray& starts, const phi::IntArray& ends,
                   std::vector<int64_t>* dims) {
  auto strides = contiguous_strides(phi::make_ddim(*dims));
  int64_t offset = 0;
  for (size_t k = 0; k < axes.size(); ++k) {
    int axis = to_axis(axes[k], dims->size());
    int64_t size = (*dims)[axis], start = starts.GetData()[k], end = ends.GetData()[k];
    start = std::min(std::max<int64_t>(start < 0 ? start + size : start, 0), size);
    end = std::min(std::max<int64_t>(end < 0 ? end + size : end, start), size);
    offset += start * strides[axis];
    (*dims)[axis] = end - start;
  }
  return offset;
}

template <class T, class X>
void Slice(const X& context, const Tensor& x, const std::vector<int64_t>& axes, const phi::IntArray& starts,
           const phi::IntArray& ends, const std::vector<int64_t>&, const std::vector<int64_t>& dropped, Tensor* out) {
  auto dims = sizes(x.dims());
  int64_t offset = cut(axes, starts, ends, &dims);
  auto at = walk(phi::make_ddim(dims), contiguous_strides(x.dims()));
  std::vector<int64_t> kept;
  for (size_t k = 0; k < dims.size(); ++k)
    if (std::find_if(dropped.begin(), dropped.end(), [&](int64_t axis) { return to_axis(axis, dims.size()) == int(k); }) ==
        dropped.end())
      kept.push_back(dims[k]);
  out->Resize(phi::make_ddim(kept));
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  launch(context, "slice", out->numel(), DEVICE(int64_t i) { r[i] = a[offset + at(i).at[0]]; });
}

template <class T, class X>
void SliceGrad(const X& context, const Tensor& x, const Tensor& dout, const std::vector<int64_t>& axes,
               const phi::IntArray& starts, const phi::IntArray& ends, const std::vector<int64_t>&,
               const std::vector<int64_t>&, Tensor* dx) {
  auto dims = sizes(x.dims());
  int64_t offset = cut(axes, starts, ends, &dims);
  auto at = walk(phi::make_ddim(dims), contiguous_strides(x.dims()));
  auto g = read<T>(dout);
  auto r = write<T>(context, dx);
  launch(context, "slice_grad", dx->numel(), DEVICE(int64_t i) { r[i] = T(0); });
  launch(context, "slice_grad", dout.numel(), DEVICE(int64_t i) { r[offset + at(i).at[0]] = g[i]; });
}

// Shapes come inferred. In place nothing is to do.
template <class T> void copy_as(const Context& context, const char* name, const Tensor& x, Tensor* out) {
  auto dims = out->dims();
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  out->Resize(dims);
  if (a != r) launch(context, name, x.numel(), DEVICE(int64_t i) { r[i] = a[i]; });
}
template <class T, class X> void Unsqueeze(const X& context, const Tensor& x, const phi::IntArray&, Tensor* out) {
  copy_as<T>(context, "unsqueeze", x, out);
}
template <class T, class X> void Squeeze(const X& context, const Tensor& x, const phi::IntArray&, Tensor* out) {
  copy_as<T>(context, "squeeze", x, out);
}
template <class T, class X> void ShareData(const X&, const Tensor& x, Tensor* out) { out->ShareDataWith(x); }

REGISTER(slice, Slice, kAll + kHalves)
REGISTER(slice_grad, SliceGrad, kFloats + kHalves)
REGISTER(unsqueeze, Unsqueeze, kAll + kHalves)
REGISTER(squeeze, Squeeze, kAll + kHalves)
REGISTER(share_data, ShareData, kAll + kHalves)

}  // namespace tablerec
