// Operators that read or write along an axis where indices say, and rows of a table.
#include "host.h"
#include "places.h"
#include "register.h"
#include "scan.h"

namespace tablerec {

template <class T, class X>
void Gather(const X& context, const Tensor& x, const Tensor& index, const phi::Scalar& axis, Tensor* out) {
  AlongAxis places(x, index, axis.to<int64_t>());
  take(context, "gather", places.size(), places, bits(read<T>(x)), bits(write<T>(context, out)));
}
template <class T, class X>
void GatherGrad(const X& context, const Tensor& x, const Tensor& index, const Tensor& dout, const phi::Scalar& axis, Tensor* dx) {
  AlongAxis places(x, index, axis.to<int64_t>());
  add_back<T>(context, "gather_grad", places.size(), places, dout, dx);
}
template <class T, class X> void IndexSelect(const X& context, const Tensor& x, const Tensor& index, int axis, Tensor* out) {
  AlongAxis places(x, index, axis);
  take(context, "index_select", places.size(), places, bits(read<T>(x)), bits(write<T>(context, out)));
}
template <class T, class X>
void IndexSelectGrad(const X& context, const Tensor& x, const Tensor& index, const Tensor& dout, int axis, Tensor* dx) {
  AlongAxis places(x, index, axis);
  add_back<T>(context, "index_select_grad", places.size(), places, dout, dx);
}
template <class T, class X>
void IndexAdd(const X& context, const Tensor& x, const Tensor& index, const Tensor& value, int axis, Tensor* out) {
  AlongAxis places(x, index, axis);
  Sums<T> sums(context, "index_add", out, read<T>(x));
  add_at(context, "index_add", places.size(), places, read<T>(value), sums.data);
  sums.finish();
}
template <class T, class X>
void IndexAddGrad(const X& context, const Tensor& index, const Tensor& value, const Tensor& dout, int axis, Tensor* dx, Tensor* dvalue) {
  AlongAxis places(dout, index, axis);
  auto g = bits(read<T>(dout));
  if (dvalue) take(context, "index_add_grad", places.size(), places, g, bits(write<T>(context, dvalue)));
  if (dx) copy(context, "index_add_grad", dout.numel(), g, bits(write<T>(context, dx)));
}
REGISTER(gather, Gather, kAll + kHalves)
REGISTER(gather_grad, GatherGrad, kFloats + kHalves)
REGISTER(index_select, IndexSelect, kNumbers + kBool + kHalves)
REGISTER(index_select_grad, IndexSelectGrad, kFloats + kHalves)
REGISTER(index_add, IndexAdd, kNumbers + kHalves)
REGISTER(index_add_grad, IndexAddGrad, kFloats + kHalves)

// ---- rows of a table

// The padding's row gives zeros and has no gradient; -1 is no padding.
template <class T, class X> void Embedding(const X& context, const Tensor& ids, const Tensor& weight, int64_t padding, Tensor* out) {
  auto places = by_rows(weight, ids);
  auto w = bits(read<T>(weight));
  auto r = bits(write<T>(context, out));
  launch(context, "embedding", ids.numel() * places.inner, DEVICE(int64_t i) {
    r[i] = padding >= 0 && places.indices.at(i / places.inner, places.rows) == padding ? 0 : w[places(i)];
  });
}
template <class T, class X>
void EmbeddingGrad(const X& context, const Tensor& ids, const Tensor& weight, const Tensor& dout, int64_t padding, Tensor* dweight) {
  auto places = by_rows(weight, ids);
  auto g = read<T>(dout);
  Sums<T> sums(context, "embedding_grad", dweight);
  auto to = sums.data;
  launch(context, "embedding_grad", ids.numel() * places.inner, DEVICE(int64_t i) {
    if (padding < 0 || places.indices.at(i / places.inner, places.rows) != padding) add_to(to + places(i), Compute<T>(g[i]));
  });
  sums.finish();
}
REGISTER(embedding, Embedding, kFloats + kHalves)
REGISTER(embedding_grad, EmbeddingGrad, kFloats + kHalves)

// Each slice along an axis as often as its number says.
struct RepeatCounts {
  Indices counts;
  HOST_DEVICE int64_t operator()(int64_t j) const { return counts.narrow ? counts.narrow[j] : counts.wide[j]; }
};
struct EndOfRepeats {
  int64_t* ends;
  HOST_DEVICE void operator()(int64_t j, int64_t before, int64_t count) const { ends[j] = before + count; }
};
// Where a place of the repeated tensor lies in the one that is repeated.
struct Repeated {
  Split s;
  const int64_t* ends;
  int64_t total;
  HOST_DEVICE int64_t operator()(int64_t i) const {
    int64_t row = i / s.inner, outer = row / total, k = row - outer * total, low = 0, high = s.length - 1;
    while (low < high) {
      int64_t middle = (low + high) / 2;
      if (ends[middle] > k) high = middle;
      else low = middle + 1;
    }
    return (outer * s.length + low) * s.inner + (i - row * s.inner);
  }
  int64_t size() const { return s.outer * total * s.inner; }
};
inline void ends_of_repeats(const Context& context, const char* name, const Tensor& repeats, int64_t length, int64_t* ends) {
  REQUIRE(repeats.numel() == length, "%s: %d numbers for %d slices", name, int(repeats.numel()), int(length));
  scan<int64_t>(context, name, Split(phi::make_ddim({length}), 0), false, RepeatCounts{Indices(repeats)}, EndOfRepeats{ends});
}
template <class T, class X>
void RepeatInterleave(const X& context, const Tensor& x, const Tensor& repeats, int axis, int64_t output_size, Tensor* out) {
  const char* name = "repeat_interleave_with_tensor_index";
  Split s(x.dims(), axis);
  Temporary<int64_t> ends(context, s.length);
  ends_of_repeats(context, name, repeats, s.length, ends.data);
  if (output_size < 0 && s.length) {  // the last of the ends, which the host must know
    Temporary<int64_t> last(context, 1);
    auto from = ends.data;
    auto to = last.data;
    int64_t at = s.length - 1;
    launch(context, name, 1, DEVICE(int64_t) { to[0] = from[at]; });
    output_size = number_on_host(context, last);
  }
  auto dims = x.dims();
  dims[to_axis(axis, dims.size())] = output_size = std::max<int64_t>(output_size, 0);
  out->Resize(dims);
  Repeated places{s, ends.data, output_size};
  take(context, name, places.size(), places, bits(read<T>(x)), bits(write<T>(context, out)));
}
template <class T, class X>
void RepeatInterleaveGrad(const X& context, const Tensor& x, const Tensor& repeats, const Tensor& dout, int axis, int64_t, Tensor* dx) {
  const char* name = "repeat_interleave_with_tensor_index_grad";
  Split s(x.dims(), axis);
  Temporary<int64_t> ends(context, s.length);
  ends_of_repeats(context, name, repeats, s.length, ends.data);
  Repeated places{s, ends.data, dout.dims()[to_axis(axis, x.dims().size())]};
  add_back<T>(context, name, places.size(), places, dout, dx);
}
REGISTER(repeat_interleave_with_tensor_index, RepeatInterleave, kNumbers + kHalves)
REGISTER(repeat_interleave_with_tensor_index_grad, RepeatInterleaveGrad, kFloats + kHalves)

}  // namespace tablerec
