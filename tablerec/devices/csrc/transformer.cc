// What decoders fuse: the gated activation, rotary positions.
#include "backend.h"
#include "register.h"

namespace tablerec {

// ---- silu(gate) * up

// Both in a tensor each, or side by side in the last dimension of one.
template <class T> struct Gated {
  int64_t length, stride, second = 0;
  const T *gate, *up;
  Gated(const Tensor& x, const OptionalTensor& y) : gate(read<T>(x)), up(y ? read<T>(*y) : gate) {
    length = stride = std::max<int64_t>(x.numel(), 1);
    if (y) {
      REQUIRE(x.dims() == y->dims(), "swiglu: the two tensors differ in shape");
      return;
    }
    stride = std::max<int64_t>(x.dims().size() ? x.dims()[x.dims().size() - 1] : 1, 1);
    REQUIRE(stride % 2 == 0 || !x.numel(), "swiglu: the last dimension holds %d elements, which are not two halves", int(stride));
    second = length = std::max<int64_t>(stride / 2, 1);
  }
  HOST_DEVICE int64_t at(int64_t i) const { return i / length * stride + i % length; }
};

template <class T, class X> void SwiGLU(const X& context, const Tensor& x, const OptionalTensor& y, Tensor* out) {
  using C = Compute<T>;
  Gated<T> in(x, y);
  auto r = write<T>(context, out);
  launch(context, "swiglu", out->numel(), DEVICE(int64_t i) {
    int64_t at = in.at(i);
    C a = C(in.gate[at]), b = C(in.up[at + in.second]);
    r[i] = T(a / (C(1) + exp(-a)) * b);
  });
}
template <class T, class X>
void SwiGLUGrad(const X& context, const Tensor& x, const OptionalTensor& y, const Tensor& dout, Tensor* dx, Tensor* dy) {
  using C = Compute<T>;
  Gated<T> in(x, y);
  auto g = read<T>(dout);
  auto to_gate = write<T>(context, dx);
  auto to_up = y ? write<T>(context, dy) : to_gate;
  launch(context, "swiglu_grad", dout.numel(), DEVICE(int64_t i) {
    int64_t at = in.at(i);
    C a = C(in.gate[at]), b = C(in.up[at + in.second]), d = C(g[i]), open = C(1) / (C(1) + exp(-a));
    if (to_up) to_up[at + in.second] = T(d * a * open);
    if (to_gate) to_gate[at] = T(d * b * open * (C(1) + a * (C(1) - open)));
  });
}
REGISTER(swiglu, SwiGLU, kFloats + kHalves)
REGISTER(swiglu_grad, SwiGLUGrad, kFloats + kHalves)

// ---- rotary positions

// The angles of a position: from tables of `rotated` columns, or of frequencies that fall with the column.
template <class T> struct Angles {
  using C = Compute<T>;
  const T *sines, *cosines;
  const int64_t* positions;
  int64_t rotated;
  float base;
  bool pairs_side_by_side, time_first;
  Angles(const OptionalTensor& sine, const OptionalTensor& cosine, const OptionalTensor& position, int64_t size, bool side_by_side,
         bool time_first, float base)
      : sines(read<T>(sine)), cosines(read<T>(cosine)), positions(read<int64_t>(position)), rotated(size), base(base),
        pairs_side_by_side(side_by_side), time_first(time_first) {
    REQUIRE(bool(sine) == bool(cosine), "fused_rotary_position_embedding: sines or cosines alone");
    REQUIRE(sine || side_by_side, "fused_rotary_position_embedding of halves without sines and cosines is not supported on %s", device_name());
    if (sine) rotated = sine->dims()[sine->dims().size() - 1];
    REQUIRE(rotated % 2 == 0 && size % 2 == 0 && rotated <= size,
            "fused_rotary_position_embedding: heads of %d, of which %d are turned, are not supported on %s", int(size), int(rotated),
            device_name());
  }
  HOST_DEVICE C angle(int64_t position, int64_t j) const { return C(position) / C(pow(C(base), C(j / 2 * 2) / C(rotated))); }
  HOST_DEVICE C sine(int64_t position, int64_t j) const {
    return sines ? C(sines[position * rotated + j]) : C(sin(angle(position, j)));
  }
  HOST_DEVICE C cosine(int64_t position, int64_t j) const {
    return cosines ? C(cosines[position * rotated + j]) : C(cos(angle(position, j)));
  }
};

// A tensor of [batch, steps, heads, size] that is turned.
template <class T> struct Turned {
  const T* from = nullptr;
  T* to = nullptr;
  int64_t heads = 1, pairs = 0;
  Turned(const Context& context, const Tensor* x, Tensor* out) {
    if (!x || !out) return;
    from = read<T>(*x), to = write<T>(context, out);
    heads = x->dims()[2], pairs = x->numel() / 2;
  }
};
// Turns each pair of queries, keys and values, or back for the gradient, in one launch. A thread holds both of a pair, so what
// is read may lie where the result does.
template <class T>
void turn(const Context& context, const char* name, const Tensor& like, const Angles<T>& by, bool back, Turned<T> q, Turned<T> k, Turned<T> v) {
  using C = Compute<T>;
  int64_t size = like.dims()[3], inner = like.dims()[1], half = by.rotated / 2;
  int64_t steps = by.time_first ? like.dims()[0] : inner;
  launch(context, name, q.pairs + k.pairs + v.pairs, DEVICE(int64_t i) {
    const T* a = q.from;
    T* r = q.to;
    int64_t heads = q.heads;
    if (i >= q.pairs + k.pairs) i -= q.pairs + k.pairs, a = v.from, r = v.to, heads = v.heads;
    else if (i >= q.pairs) i -= q.pairs, a = k.from, r = k.to, heads = k.heads;
    int64_t pair = i % (size / 2), row = i / (size / 2), outside = row / heads / inner, inside = row / heads % inner;
    int64_t step = by.time_first ? outside : inside, sample = by.time_first ? inside : outside;
    int64_t first = 2 * pair, second = first + 1;
    if (!by.pairs_side_by_side && pair < half) first = pair, second = pair + half;
    C one = C(a[row * size + first]), other = C(a[row * size + second]);
    if (pair < half) {
      int64_t position = by.positions ? by.positions[sample * steps + step] : step;
      C sine = by.sine(position, first), sine_of_other = by.sine(position, second);
      C turned = back ? one * by.cosine(position, first) + other * sine_of_other : one * by.cosine(position, first) - other * sine;
      other = back ? other * by.cosine(position, second) - one * sine : other * by.cosine(position, second) + one * sine_of_other;
      one = turned;
    }
    r[row * size + first] = T(one);
    r[row * size + second] = T(other);
  });
}
inline const Tensor* given(const OptionalTensor& x) { return x ? &*x : nullptr; }

template <class T, class X>
void Rotary(const X& context, const Tensor& q, const OptionalTensor& k, const OptionalTensor& v, const OptionalTensor& sines,
            const OptionalTensor& cosines, const OptionalTensor& positions, bool side_by_side, bool time_first, float base,
            Tensor* new_q, Tensor* new_k, Tensor* new_v) {
  Angles<T> by(sines, cosines, positions, q.dims()[3], side_by_side, time_first, base);
  turn<T>(context, "fused_rotary_position_embedding", q, by, false, {context, &q, new_q}, {context, given(k), new_k},
          {context, given(v), new_v});
}
template <class T, class X>
void RotaryGrad(const X& context, const OptionalTensor& sines, const OptionalTensor& cosines, const OptionalTensor& positions,
                const Tensor& dq, const OptionalTensor& dk, const OptionalTensor& dv, bool side_by_side, bool time_first, float base,
                Tensor* old_q, Tensor* old_k, Tensor* old_v) {
  Angles<T> by(sines, cosines, positions, dq.dims()[3], side_by_side, time_first, base);
  turn<T>(context, "fused_rotary_position_embedding_grad", dq, by, true, {context, &dq, old_q}, {context, given(dk), old_k},
          {context, given(dv), old_v});
}
REGISTER(fused_rotary_position_embedding, Rotary, kFloats + kHalves)
REGISTER(fused_rotary_position_embedding_grad, RotaryGrad, kFloats + kHalves)

}  // namespace tablerec
