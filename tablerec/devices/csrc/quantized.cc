// Products with weights of 8 and 4 bits, which are made whole in registers or in tiles.
//
// The layout of a weight of `inputs` x `outputs`: a row for each output, its inputs beside one another, signed, with a
// scale for each output and each group of inputs, [groups, outputs]. In 4 bits a byte holds two neighbouring inputs, the
// even one in its lower half. So 8 bits are [outputs, inputs] as Paddle's shape says; 4 bits are `outputs` rows of
// inputs / 2 bytes, though that shape is [outputs / 2, inputs]. Paddle's layouts for GPUs hold the same numbers plus 128 or
// 8, with rows and bytes permuted for the tensor cores of an architecture. Their shape is the same, so they would be misread here:
// weights are quantized on the device. `arch` is not looked at, as there is one layout; that Paddle's check of the gradient's
// shape asks for 80, 86, 90 or 100 does not concern us.
#include "elements.h"
#include "register.h"
#ifdef TABLEREC_CUDA
#include "libraries.h"
#endif

namespace tablerec {

template <class T> struct Quantized {
  int64_t inputs, outputs, group;  // the inputs that share a scale
  int bits;
  const int8_t* codes;
  const T* scales;
  HOST_DEVICE int code(int64_t output, int64_t input) const {
    int64_t at = output * inputs + input;
    if (bits == 8) return codes[at];
    int both = codes[at / 2];
    return input % 2 ? both >> 4 : int8_t(both << 4) >> 4;
  }
  HOST_DEVICE float whole(int64_t output, int64_t input) const {
    return code(output, input) * float(scales[input / group * outputs + output]);
  }
};

inline int bits_of_weight(const char* name, const std::string& asked) {
  bool eight = asked == "weight_only_int8" || asked == "int8", four = asked == "weight_only_int4" || asked == "int4";
  REQUIRE(eight || four, "%s: %s is not supported on %s, int8 and int4 are", name, asked, device_name());
  return eight ? 8 : 4;
}
inline int64_t group_of_weight(const char* name, int group_size, int64_t inputs) {
  REQUIRE(group_size == -1 || group_size == 64 || group_size == 128, "%s: groups of %d inputs are not supported on %s", name,
          group_size, device_name());
  return group_size == -1 ? std::max<int64_t>(inputs, 1) : group_size;
}
template <class T>
Quantized<T> quantized(const char* name, const Tensor& weight, const Tensor& scale, const std::string& asked, int group_size) {
  REQUIRE(weight.dims().size() == 2 && weight.dtype() == phi::DataType::INT8, "%s: the weight is no matrix of int8", name);
  REQUIRE(scale.dtype() == phi::CppTypeToDataType<T>::Type(), "%s: the scales must have the type of the result", name);
  Quantized<T> w;
  w.bits = bits_of_weight(name, asked);
  w.inputs = weight.dims()[1];
  w.outputs = weight.dims()[0] * (8 / w.bits);
  w.group = group_of_weight(name, group_size, w.inputs);
  int64_t groups = group_size == -1 ? 1 : (w.inputs + w.group - 1) / w.group;
  REQUIRE(scale.numel() == groups * w.outputs, "%s: %d scales for %d groups of %d outputs", name, int(scale.numel()), int(groups),
          int(w.outputs));
  REQUIRE(w.bits == 8 || w.inputs % 2 == 0, "%s: an odd number of inputs in 4 bits", name);
  w.codes = read<int8_t>(weight);
  w.scales = read<T>(scale);
  return w;
}

// ---- quantize: the largest of a group becomes 127 or 7

template <class T> struct Rounding {
  const T *weight, *scales;
  int64_t outputs, group;
  float largest;
  HOST_DEVICE int operator()(int64_t output, int64_t input) const {
    float by = float(scales[input / group * outputs + output]);  // as it was rounded
    float steps = by > 0 ? roundf(float(weight[input * outputs + output]) / by) : 0.0f;
    return int(steps > largest ? largest : steps < -largest ? -largest : steps);
  }
};

template <class T, class X>
void WeightQuantize(const X& context, const Tensor& x, const std::string& algo, int32_t arch, int32_t group_size, Tensor* out, Tensor* scale) {
  const char* name = "weight_quantize";
  REQUIRE(x.dims().size() == 2, "%s: the weight is no matrix", name);
  int bits = bits_of_weight(name, algo);
  int64_t inputs = x.dims()[0], outputs = x.dims()[1], group = group_of_weight(name, group_size, inputs);
  REQUIRE(bits == 8 || (inputs % 2 == 0 && outputs % 2 == 0), "%s: an odd number of inputs or outputs in 4 bits", name);
  float largest = bits == 8 ? 127 : 7;
  auto a = read<T>(x);
  auto codes = write<int8_t>(context, out);
  auto scales = write<T>(context, scale);
  if (!codes) return;
  launch(context, name, scale->numel(), DEVICE(int64_t i) {
    int64_t output = i % outputs, first = i / outputs * group, end = first + group < inputs ? first + group : inputs;
    float most = 0;
    for (int64_t input = first; input < end; ++input) {
      float size = fabsf(float(a[input * outputs + output]));
      most = size > most ? size : most;
    }
    scales[i] = T(most / largest);
  });
  Rounding<T> code{a, scales, outputs, group, largest};
  if (bits == 8)
    launch(context, name, inputs * outputs, DEVICE(int64_t i) { codes[i] = int8_t(code(i / inputs, i % inputs)); });
  else
    launch(context, name, inputs * outputs / 2, DEVICE(int64_t i) {
      int64_t output = i / (inputs / 2), input = i % (inputs / 2) * 2;
      codes[i] = int8_t((code(output, input) & 15) | (code(output, input + 1) << 4));
    });
}
REGISTER(weight_quantize, WeightQuantize, Types<float>() + kHalves)

template <class T, class X>
void WeightDequantize(const X& context, const Tensor& x, const Tensor& scale, const std::string& algo, int32_t group_size, Tensor* out) {
  auto w = quantized<T>("weight_dequantize", x, scale, algo, group_size);
  auto r = write<T>(context, out);
  launch(context, "weight_dequantize", r ? w.inputs * w.outputs : 0, DEVICE(int64_t i) { r[i] = T(w.whole(i % w.outputs, i / w.outputs)); });
}
REGISTER(weight_dequantize, WeightDequantize, Types<float>() + kHalves)

// ---- products

#ifdef TABLEREC_CUDA
// The inputs [first, first + count) of the outputs [from, from + rows), made whole: rows x count.
template <class T>
void make_whole(const Context& context, const char* name, const Quantized<T>& w, int64_t from, int64_t rows, int64_t first, int64_t count, T* to) {
  constexpr int N = 8;
  bool aligned = count % N == 0 && first % N == 0 && w.inputs % N == 0 && reinterpret_cast<uintptr_t>(w.codes) % N == 0;
  if (!aligned) {
    launch(context, name, rows * count, DEVICE(int64_t i) { to[i] = T(w.whole(from + i / count, first + i % count)); });
    return;
  }
  launch(context, name, rows * count / N, DEVICE(int64_t i) {
    int64_t output = from + i * N / count, input = first + i * N % count, at = output * w.inputs + input;
    float by = float(w.scales[input / w.group * w.outputs + output]);  // a group holds whole eights
    Pack<T, N> pack;
    if (w.bits == 8) {
      auto codes = *reinterpret_cast<const Pack<int8_t, 8>*>(w.codes + at);
#pragma unroll
      for (int k = 0; k < N; ++k) pack.at[k] = T(codes.at[k] * by);
    } else {
      uint32_t codes = *reinterpret_cast<const uint32_t*>(w.codes + at / 2);
#pragma unroll
      for (int k = 0; k < N; ++k) pack.at[k] = T((int32_t(codes << (28 - 4 * k)) >> 28) * by);
    }
    auto place = to + i * N;
    if constexpr (sizeof(T) == 2) {
      *reinterpret_cast<Pack<T, N>*>(place) = pack;
    } else {
#pragma unroll
      for (int k = 0; k < N; ++k) place[k] = pack.at[k];
    }
  });
}

constexpr int64_t kTile = int64_t(1) << 23;  // elements that are whole at a time: they stay in the cache between two launches

template <class T>
void product_with_tile(const Context& context, const char* name, cublasOperation_t tile_as, int64_t rows, int64_t columns, int64_t inner,
                       const T* tile, int64_t tile_lead, const T* other, int64_t other_lead, T* out, int64_t out_lead) {
  float one = 1, zero = 0;
  auto compute = std::is_same<T, float>::value && tf32_allowed() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  constexpr auto type = LibraryType<T>::cuda;
  KernelScope scope(name, context.stream());
  auto status = cublas().gemm(cublas_handle(context), tile_as, CUBLAS_OP_N, int(columns), int(rows), int(inner), &one, tile, type,
                              int(tile_lead), 0, other, type, int(other_lead), 0, &zero, out, type, int(out_lead), 0, 1, compute,
                              CUBLAS_GEMM_DEFAULT);
  PADDLE_ENFORCE_EQ(int(status), 0, common::errors::External("%s: cuBLAS failed with status %d", name, int(status)));
}

// out (rows x outputs) = x (rows x inputs) W, by tiles of outputs.
template <class T> void product_by_tiles(const Context& context, const char* name, const T* x, const Quantized<T>& w, int64_t rows, T* out) {
  int64_t each = std::min(w.outputs, std::max<int64_t>(kTile / w.inputs / 8 * 8, 8));
  Temporary<T> tile(context, each * w.inputs);
  for (int64_t from = 0; from < w.outputs; from += each) {
    int64_t here = std::min(each, w.outputs - from);
    make_whole(context, name, w, from, here, 0, w.inputs, tile.data);
    product_with_tile(context, name, CUBLAS_OP_T, rows, here, w.inputs, tile.data, w.inputs, x, w.inputs, out + from, w.outputs);
  }
}
// dx (rows x inputs) = dout (rows x outputs) W^T, by tiles of inputs, so that no sum is cut.
template <class T>
void input_gradient_by_tiles(const Context& context, const char* name, const T* dout, const Quantized<T>& w, int64_t rows, T* dx) {
  int64_t each = std::min(w.inputs, std::max<int64_t>(kTile / w.outputs / 8 * 8, 8));
  Temporary<T> tile(context, each * w.outputs);
  for (int64_t first = 0; first < w.inputs; first += each) {
    int64_t here = std::min(each, w.inputs - first);
    make_whole(context, name, w, 0, w.outputs, first, here, tile.data);
    product_with_tile(context, name, CUBLAS_OP_N, rows, here, w.outputs, tile.data, here, dout, w.outputs, dx + first, w.inputs);
  }
}

// ---- few rows: bound by the reading of the weight, so each byte of it is read once and made whole in registers

constexpr int kFewRows = 32, kWarps = 8, kOutputs = 16, kColumns = 8;

template <class T> struct Numbers;  // 128 + u, less what makes it signed
template <> struct Numbers<phi::dtype::bfloat16> {
  static constexpr uint32_t magic = 0x43004300, one = 0x3f803f80, less8 = 0xc308c308;
};
template <> struct Numbers<phi::dtype::float16> {  // 1024 + u
  static constexpr uint32_t magic = 0x64006400, one = 0x3c003c00, less8 = 0xe408e408, less128 = 0xe480e480;
};
template <class T> __device__ uint32_t plus(uint32_t a, uint32_t b) {  // of two numbers each; exact here
  uint32_t sum;
  if constexpr (std::is_same<T, phi::dtype::bfloat16>::value)
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(Numbers<T>::one), "r"(b));
  else
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(Numbers<T>::one), "r"(b));
  return sum;
}
// d += a (16 x 16) b (16 x 8), spread over a warp.
template <class T> __device__ void multiply_add(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (std::is_same<T, phi::dtype::bfloat16>::value)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// Four codes of 8 bits: the pairs (0, 1) and (2, 3).
template <class T> __device__ void whole_pairs8(uint32_t word, uint32_t (&pair)[2]) {
  word ^= 0x80808080;  // from 0 to 255
  if constexpr (std::is_same<T, phi::dtype::bfloat16>::value) {  // 128 + u does not fit into 8 bits: by way of float
    float number[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) number[k] = __uint_as_float(__byte_perm(word, 0x4b000000, 0x7440 + k)) - 8388736.0f;
#pragma unroll
    for (int k = 0; k < 2; ++k) pair[k] = __byte_perm(__float_as_uint(number[2 * k]), __float_as_uint(number[2 * k + 1]), 0x7632);
  } else {
    pair[0] = plus<T>(__byte_perm(word, 0x64646464, 0x4140), Numbers<T>::less128);
    pair[1] = plus<T>(__byte_perm(word, 0x64646464, 0x4342), Numbers<T>::less128);
  }
}
// Eight codes of 4 bits: the pairs (0, 4), (1, 5), (2, 6), (3, 7).
template <class T> __device__ void whole_pairs4(uint32_t word, uint32_t (&pair)[4]) {
  word ^= 0x88888888;  // from 0 to 15
#pragma unroll
  for (int k = 0; k < 4; ++k) pair[k] = plus<T>(((word >> (4 * k)) & 0x000f000f) | Numbers<T>::magic, Numbers<T>::less8);
}

// A block takes 16 outputs and 8 rows of x, its warps share the inputs. In a warp the four threads of a quad hold one output
// (and the one eight further) and one row of x: each reads `bytes` of a weight's row at once. As the sum over the inputs may
// be taken in any order, what a thread has read serves as its part of the tensor cores' operands as it is.
template <class T, int bits, int bytes>
__global__ void __launch_bounds__(32 * kWarps) few_rows(Quantized<T> w, const T* x, int rows, const T* bias, T* out) {
  constexpr int kEach = bytes * 8 / bits, kPiece = 4 * kEach;  // inputs of a thread, of a warp
  constexpr int kCodes = bytes / 4, kValues = kEach / 2;       // words
  __shared__ float partial[kWarps][32 * 4];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, quad = lane / 4, place = lane % 4;
  int64_t first = int64_t(blockIdx.x) * kOutputs, last = w.outputs - 1;
  int64_t output[2] = {first + quad < last ? first + quad : last, first + quad + 8 < last ? first + quad + 8 : last};
  int row = blockIdx.y * kColumns + quad;
  bool grouped = w.group < w.inputs;
  float total[4] = {};
#pragma unroll 2
  for (int64_t piece = int64_t(warp) * kPiece; piece < w.inputs; piece += kWarps * kPiece) {
    int64_t at = piece + place * kEach;
    bool inside = at < w.inputs;
    Pack<uint32_t, kCodes> codes[2] = {};
    Pack<uint32_t, 4> values[kValues / 4] = {};
    if (inside) {
#pragma unroll
      for (int k = 0; k < 2; ++k)
        codes[k] = *reinterpret_cast<const Pack<uint32_t, kCodes>*>(w.codes + (output[k] * w.inputs + at) * bits / 8);
      if (row < rows) {
#pragma unroll
        for (int k = 0; k < kValues / 4; ++k) values[k] = reinterpret_cast<const Pack<uint32_t, 4>*>(x + row * w.inputs + at)[k];
      }
    }
    float part[4] = {};
#pragma unroll
    for (int k = 0; k < kCodes; ++k) {
      if constexpr (bits == 8) {
        uint32_t upper[2], lower[2];
        whole_pairs8<T>(codes[0].at[k], upper);
        whole_pairs8<T>(codes[1].at[k], lower);
        multiply_add<T>(part, {upper[0], lower[0], upper[1], lower[1]}, values[k / 2].at[k % 2 * 2], values[k / 2].at[k % 2 * 2 + 1]);
      } else {
        uint32_t upper[4], lower[4];
        whole_pairs4<T>(codes[0].at[k], upper);
        whole_pairs4<T>(codes[1].at[k], lower);
        auto& v = values[k].at;  // paired as the codes are
        multiply_add<T>(part, {upper[0], lower[0], upper[1], lower[1]}, __byte_perm(v[0], v[2], 0x5410), __byte_perm(v[0], v[2], 0x7632));
        multiply_add<T>(part, {upper[2], lower[2], upper[3], lower[3]}, __byte_perm(v[1], v[3], 0x5410), __byte_perm(v[1], v[3], 0x7632));
      }
    }
#pragma unroll
    for (int k = 0; k < 4; ++k)
      total[k] += grouped ? part[k] * float(w.scales[piece / w.group * w.outputs + output[k / 2]]) : part[k];
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) partial[warp][lane * 4 + k] = total[k];
  __syncthreads();
  int i = threadIdx.x;
  if (i >= kOutputs * kColumns) return;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kWarps; ++k) sum += partial[k][i];
  int64_t of = first + i / 16 + (i % 4 >= 2 ? 8 : 0);
  int to = blockIdx.y * kColumns + i / 4 % 4 * 2 + i % 2;
  if (of >= w.outputs || to >= rows) return;
  if (!grouped) sum *= float(w.scales[of]);
  out[to * w.outputs + of] = T(bias ? sum + float(bias[of]) : sum);
}

// False where the rows are many, or do not begin at 16 bytes.
template <class T> bool product_of_few_rows(const Context& context, const char* name, const T* x, const Quantized<T>& w, int64_t rows, const T* bias, T* out) {
  auto aligned = [](const void* address) { return reinterpret_cast<uintptr_t>(address) % 16 == 0; };
  if (rows > kFewRows || w.inputs % 16 || !aligned(x) || !aligned(w.codes)) return false;
  KernelScope scope(name, context.stream());
  dim3 blocks(unsigned((w.outputs + kOutputs - 1) / kOutputs), unsigned((rows + kColumns - 1) / kColumns));
  auto stream = stream_of(context);
  bool one_group = w.group >= w.inputs || w.group % 128 == 0;  // in what a warp reads at once
  if (w.bits == 8) few_rows<T, 8, 16><<<blocks, 32 * kWarps, 0, stream>>>(w, x, int(rows), bias, out);
  else if (w.inputs % 32 == 0 && one_group) few_rows<T, 4, 16><<<blocks, 32 * kWarps, 0, stream>>>(w, x, int(rows), bias, out);
  else few_rows<T, 4, 8><<<blocks, 32 * kWarps, 0, stream>>>(w, x, int(rows), bias, out);
  check_launch(name);
  return true;
}
#endif

template <class T, class X>
void WeightOnlyLinear(const X& context, const Tensor& x, const Tensor& weight, const OptionalTensor& bias, const Tensor& weight_scale,
                      const std::string& weight_dtype, int32_t arch, int32_t group_size, Tensor* out) {
  const char* name = "weight_only_linear";
  auto w = quantized<T>(name, weight, weight_scale, weight_dtype, group_size);
  REQUIRE(!bias || (bias->dtype() == x.dtype() && bias->numel() == w.outputs), "%s: the bias has another type or size", name);
  auto a = read<T>(x), b = read<T>(bias);
  auto r = write<T>(context, out);
  if (!r) return;
  int64_t rows = out->numel() / w.outputs;
#ifdef TABLEREC_CUDA
  if constexpr (sizeof(T) == 2)
    if (a && product_of_few_rows(context, name, a, w, rows, b, r)) return;
  if (a) {
    product_by_tiles(context, name, a, w, rows, r);
    if (b) launch(context, "weight_only_linear_bias", out->numel(), DEVICE(int64_t i) { r[i] = T(float(r[i]) + float(b[i % w.outputs])); });
    return;
  }
#endif
  launch(context, name, out->numel(), DEVICE(int64_t i) {
    int64_t output = i % w.outputs, row = i / w.outputs;
    double sum = b ? double(b[output]) : 0;
    for (int64_t input = 0; input < w.inputs; ++input) sum += double(a[row * w.inputs + input]) * double(w.whole(output, input));
    r[i] = T(sum);
  });
}
template <class T, class X>
void WeightOnlyLinearGrad(const X& context, const Tensor& x, const Tensor& weight, const OptionalTensor& bias, const Tensor& weight_scale,
                          const Tensor& dout, const std::string& weight_dtype, int32_t arch, int32_t group_size, Tensor* dx) {
  const char* name = "weight_only_linear_grad";
  auto w = quantized<T>(name, weight, weight_scale, weight_dtype, group_size);
  auto g = read<T>(dout);
  auto r = write<T>(context, dx);
  if (!r) return;
  int64_t rows = dx->numel() / w.inputs;
#ifdef TABLEREC_CUDA
  if (g) {
    input_gradient_by_tiles(context, name, g, w, rows, r);
    return;
  }
#endif
  launch(context, name, dx->numel(), DEVICE(int64_t i) {
    int64_t input = i % w.inputs, row = i / w.inputs;
    double sum = 0;
    for (int64_t output = 0; output < w.outputs; ++output) sum += double(g[row * w.outputs + output]) * double(w.whole(output, input));
    r[i] = T(sum);
  });
}
REGISTER(weight_only_linear, WeightOnlyLinear, Types<float>() + kHalves)
REGISTER(weight_only_linear_grad, WeightOnlyLinearGrad, Types<float>() + kHalves)

}  // namespace tablerec
