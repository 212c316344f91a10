// Operators that create: constants, ranges, random numbers.
#include "elements.h"
#include "float8.h"
#include "random.h"
#include "register.h"

namespace tablerec {

// ---- constants and ranges

template <class T, class X>
void Full(const X& context, const phi::IntArray& shape, const phi::Scalar& value, phi::DataType, Tensor* out) {
  out->Resize(phi::make_ddim(shape.GetData()));
  auto r = write<T>(context, out);
  fill_elements(context, "full", out->numel(), bits_of(value.to<T>()), bits(r));
}
REGISTER(full, Full, kMoved)

template <class T, class X>
void FullLike(const X& context, const Tensor&, const phi::Scalar& value, phi::DataType, Tensor* out) {
  auto r = write<T>(context, out);
  fill_elements(context, "full_like", out->numel(), bits_of(value.to<T>()), bits(r));
}
inline void only_the_shape_of_the_first(phi::Kernel* kernel) { kernel->InputAt(0).SetBackend(phi::Backend::ALL_BACKEND); }
REGISTER_AMENDED(full_like, FullLike, kMoved, only_the_shape_of_the_first)

template <class T> void fill_range(const Context& context, const char* name, T start, T end, T step, Tensor* out) {
  using C = Compute<T>;
  C first = C(start), last = C(end), by = C(step);
  REQUIRE(by != C(0), "arange with a step of zero");
  int64_t count = std::max<int64_t>(0, int64_t(std::ceil((double(last) - double(first)) / double(by))));
  out->Resize(phi::make_ddim({count}));
  auto r = write<T>(context, out);
  launch(context, name, count, DEVICE(int64_t i) { r[i] = T(first + C(i) * by); });
}
template <class T, class X>
void ArangeTensor(const X& context, const Tensor& start, const Tensor& end, const Tensor& step, Tensor* out) {
  fill_range<T>(context, "arange_tensor", start.data<T>()[0], end.data<T>()[0], step.data<T>()[0], out);
}
template <class T, class X>
void Arange(const X& context, const phi::Scalar& start, const phi::Scalar& end, const phi::Scalar& step, Tensor* out) {
  fill_range<T>(context, "arange", start.to<T>(), end.to<T>(), step.to<T>(), out);
}
inline void takes_bounds_on_the_host(phi::Kernel* kernel) {
  for (int k = 0; k < 3; ++k) kernel->InputAt(k).SetBackend(phi::Backend::CPU);
}
REGISTER_AMENDED(arange_tensor, ArangeTensor, kNumbers + kHalves, takes_bounds_on_the_host)
REGISTER(arange, Arange, kNumbers + kHalves)

template <class T, class X>
void Linspace(const X& context, const Tensor& start, const Tensor& stop, const Tensor& number, phi::DataType, Tensor* out) {
  int64_t count = number.dtype() == phi::DataType::INT64 ? number.data<int64_t>()[0] : number.data<int>()[0];
  REQUIRE(count > 0, "linspace of %d numbers", int(count));
  out->Resize(phi::make_ddim({count}));
  double first = double(Compute<T>(start.data<T>()[0])), last = double(Compute<T>(stop.data<T>()[0]));
  double step = count > 1 ? (last - first) / double(count - 1) : 0;
  auto r = write<T>(context, out);
  launch(context, "linspace", count, DEVICE(int64_t i) {  // from the nearer end
    r[i] = T(i < count / 2 || count == 1 ? first + step * i : last - step * (count - 1 - i));
  });
}
REGISTER_AMENDED(linspace, Linspace, kNumbers + kHalves, takes_bounds_on_the_host)

// Numbers that are known on the host.
template <class T>
void upload(const Context& context, const char* name, const std::vector<T>& values, const phi::DDim& dims, Tensor* out) {
  KernelScope scope(name, context.stream());
  Tensor host;
  host.Resize(dims);
  T* to = context.template HostAlloc<T>(&host);
  for (size_t k = 0; k < values.size(); ++k) to[k] = values[k];
  phi::Copy(context, host, context.GetPlace(), true, out);
}
template <class T, class X>
void AssignValue(const X& context, const std::vector<int>& shape, phi::DataType, const std::vector<phi::Scalar>& values, Tensor* out) {
  std::vector<T> numbers;
  for (auto& value : values) numbers.push_back(value.to<T>());
  auto dims = phi::make_ddim(shape);
  REQUIRE(phi::product(dims) == int64_t(numbers.size()), "assign_value: %d values for %d elements", int(numbers.size()), int(phi::product(dims)));
  if (numbers.size() > 1) return upload<T>(context, "assign_value", numbers, dims, out);
  out->Resize(dims);
  auto r = write<T>(context, out);
  if (!numbers.empty()) fill_elements(context, "assign_value", 1, bits_of(T(numbers[0])), bits(r));
}
REGISTER(assign_value, AssignValue, kNumbers + kHalves + kBool)

template <class T, class X>
void Eye(const X& context, const phi::Scalar& rows, const phi::Scalar& columns, phi::DataType, Tensor* out) {
  int64_t width = columns.to<int64_t>() < 0 ? rows.to<int64_t>() : columns.to<int64_t>();
  out->Resize(phi::make_ddim({rows.to<int64_t>(), width}));
  auto r = write<T>(context, out);
  launch(context, "eye", out->numel(), DEVICE(int64_t i) { r[i] = T(i / width == i % width); });
}
REGISTER(eye, Eye, kNumbers + kHalves)

// Of integers, always in float.
template <class T, class X> void OneHot(const X& context, const Tensor& x, const phi::Scalar& classes, Tensor* out) {
  int64_t width = classes.to<int64_t>();
  auto dims = sizes(x.dims());
  dims.push_back(width);
  out->Resize(phi::make_ddim(dims));
  auto a = read<T>(x);
  auto r = write<float>(context, out);
  launch(context, "one_hot", out->numel(), DEVICE(int64_t i) { r[i] = a[i / width] == i % width ? 1.0f : 0.0f; });
}
inline void gives_float(phi::Kernel* kernel) { kernel->OutputAt(0).SetDataType(phi::DataType::FLOAT32); }
REGISTER_AMENDED(one_hot, OneHot, kIntegers, gives_float)

// ---- random numbers

template <class T, class X>
void Uniform(const X& context, const phi::IntArray& shape, phi::DataType, const phi::Scalar& least, const phi::Scalar& most,
             int given_seed, Tensor* out) {
  out->Resize(phi::make_ddim(shape.GetData()));
  auto r = write<T>(context, out);
  double low = least.to<double>(), high = most.to<double>();
  uint64_t seed = seed_of(context, given_seed);
  launch(context, "uniform", out->numel(), DEVICE(int64_t i) { r[i] = T(low + (high - low) * uniform_number(seed, i)); });
}
// Box and Muller's transform
HOST_DEVICE inline double normal_number(uint64_t seed, uint64_t i) {
  return sqrt(-2 * log(uniform_number(seed, 2 * i))) * cos(6.283185307179586 * uniform_number(seed, 2 * i + 1));
}
template <class T, class X>
void Gaussian(const X& context, const phi::IntArray& shape, float mean, float std, int given_seed, phi::DataType, Tensor* out) {
  out->Resize(phi::make_ddim(shape.GetData()));
  auto r = write<T>(context, out);
  uint64_t seed = seed_of(context, given_seed);
  launch(context, "gaussian", out->numel(), DEVICE(int64_t i) { r[i] = T(mean + std * normal_number(seed, i)); });
}
// Drawn again until it lies within [low, high], in units of the deviation.
template <class T, class X>
void TruncatedGaussian(const X& context, const std::vector<int>& shape, float mean, float std, int given_seed, float low,
                       float high, phi::DataType, Tensor* out) {
  out->Resize(phi::make_ddim(shape));
  auto r = write<T>(context, out);
  uint64_t seed = seed_of(context, given_seed);
  int64_t count = out->numel();
  launch(context, "truncated_gaussian_random", count, DEVICE(int64_t i) {
    double number = 0;
    for (int64_t k = 0; k < 1000; ++k) {
      number = normal_number(seed, i + k * count);
      if (number >= low && number <= high) break;
    }
    r[i] = T(mean + std * (number < low ? low : (number > high ? high : number)));
  });
}
template <class T, class X>
void UniformInPlace(const X& context, const Tensor&, float low, float high, int given_seed, int diagonal, int, float, Tensor* out) {
  REQUIRE(diagonal <= 0, "uniform_inplace with a diagonal is not supported on %s", device_name());
  auto r = write<T>(context, out);
  uint64_t seed = seed_of(context, given_seed);
  launch(context, "uniform_inplace", out->numel(), DEVICE(int64_t i) {
    r[i] = T(low + (double(high) - low) * uniform_number(seed, i));
  });
}
template <class T, class X>
void Randint(const X& context, int low, int high, const phi::IntArray& shape, phi::DataType, Tensor* out) {
  REQUIRE(low < high, "randint of the empty range [%d, %d)", low, high);
  out->Resize(phi::make_ddim(shape.GetData()));
  auto r = write<T>(context, out);
  uint64_t seed = seed_of(context, 0);
  double width = double(high) - double(low);
  launch(context, "randint", out->numel(), DEVICE(int64_t i) { r[i] = T(low + int64_t(width * uniform_number(seed, i))); });
}
template <class T, class X> void Bernoulli(const X& context, const Tensor& x, Tensor* out) {
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  uint64_t seed = seed_of(context, 0);
  launch(context, "bernoulli", x.numel(), DEVICE(int64_t i) { r[i] = T(uniform_number(seed, i) < double(Compute<T>(a[i]))); });
}
// Shuffled on the host (Fisher and Yates).
template <class T, class X> void Randperm(const X& context, int count, phi::DataType, Tensor* out) {
  std::vector<T> order;
  for (int k = 0; k < count; ++k) order.push_back(T(k));
  uint64_t seed = seed_of(context, 0);
  for (int k = count - 1; k > 0; --k) std::swap(order[k], order[int64_t(uniform_number(seed, k) * (k + 1))]);
  upload<T>(context, "randperm", order, phi::make_ddim({count}), out);
}
REGISTER(uniform, Uniform, kFloats + kHalves)
REGISTER(gaussian, Gaussian, kFloats + kHalves)
REGISTER(truncated_gaussian_random, TruncatedGaussian, kFloats + kHalves)
REGISTER(uniform_inplace, UniformInPlace, kFloats + kHalves)
REGISTER(randint, Randint, kIntegers)
REGISTER(bernoulli, Bernoulli, kFloats + kHalves)
REGISTER(randperm, Randperm, kIntegers)

template <class T, class X>
void Multinomial(const X& context, const Tensor& x, const phi::Scalar& samples, bool replacement, Tensor* out) {
  int64_t classes = x.dims()[x.dims().size() - 1], rows = classes ? x.numel() / classes : 0, count = samples.to<int64_t>();
  REQUIRE(count > 0 && (replacement || count <= classes), "multinomial: %d samples of %d classes", int(count), int(classes));
  auto chances = read<T>(x);
  auto r = write<int64_t>(context, out);
  Temporary<bool> memory(context, std::max<int64_t>(x.numel(), 1));
  auto taken = memory.data;
  launch(context, "multinomial", x.numel(), DEVICE(int64_t i) { taken[i] = false; });
  uint64_t seed = seed_of(context, 0);
  launch_teams(context, "multinomial", rows, classes, DEVICE(int64_t row, Team team) {
    for (int64_t k = 0; k < count; ++k) {
      Ring first = {std::numeric_limits<double>::infinity(), 0};
      for (int64_t j = team.rank; j < classes; j += team.size) {
        double chance = double(Compute<T>(chances[row * classes + j]));
        if (!(chance > 0) || taken[row * classes + j]) continue;
        double even = uniform_number(seed, ((replacement ? row * count + k : row) * classes) + j);
        first = Ring()(first, Ring{-log(even) / chance, j});
      }
      first = team.all(first, Ring());
      // Marked by the member that reads it again, so that none waits.
      if (!replacement && first.place % team.size == team.rank) taken[row * classes + first.place] = true;
      if (team.rank == 0) r[row * count + k] = first.place;
    }
  });
}
REGISTER_AMENDED(multinomial, Multinomial, kFloats + kHalves, gives_indices_first)

// The mask has a byte for each element; kept ones grow where the mode says that training does so.
template <class T, class X>
void Dropout(const X& context, const Tensor& x, const OptionalTensor& seed_tensor, const phi::Scalar& p, bool is_test,
             const std::string& mode, int seed, bool fixed, Tensor* out, Tensor* mask) {
  REQUIRE(!seed_tensor, "dropout with a tensor of the seed is not supported on %s", device_name());
  using C = Compute<T>;
  bool grows = mode == "upscale_in_train";
  float drop = p.to<float>();
  auto a = read<T>(x);
  auto r = write<T>(context, out);
  if (is_test) {
    C by = grows ? C(1) : C(1 - drop);
    launch_elements(context, "dropout", x.numel(), DEVICE(T& y, T u) { y = T(C(u) * by); }, r, a);
    return;
  }
  auto kept = write<uint8_t>(context, mask);
  C by = drop >= 1 ? C(0) : (grows ? C(1 / (1 - drop)) : C(1));
  uint64_t start = seed_of(context, fixed ? seed : 0);
  launch(context, "dropout", x.numel(), DEVICE(int64_t i) {
    bool stays = uniform_number(start, i) >= drop;
    kept[i] = stays;
    r[i] = stays ? T(C(a[i]) * by) : T(0);
  });
}
template <class T, class X>
void DropoutGrad(const X& context, const Tensor& mask, const Tensor& dout, const phi::Scalar& p, bool is_test,
                 const std::string& mode, Tensor* dx) {
  using C = Compute<T>;
  bool grows = mode == "upscale_in_train";
  float drop = p.to<float>();
  auto g = read<T>(dout);
  auto r = write<T>(context, dx);
  C by = is_test ? (grows ? C(1) : C(1 - drop)) : (drop >= 1 ? C(0) : (grows ? C(1 / (1 - drop)) : C(1)));
  const uint8_t* kept = is_test ? nullptr : read<uint8_t>(mask);
  launch_elements(context, "dropout_grad", dout.numel(), DEVICE(T& y, T w, uint8_t stays) {
    y = T(stays || is_test ? C(w) * by : C(0));
  }, r, g, kept);
}
inline void gives_mask_second(phi::Kernel* kernel) { kernel->OutputAt(1).SetDataType(phi::DataType::UINT8); }
REGISTER_AMENDED(dropout, Dropout, kFloats + kHalves, gives_mask_second)
REGISTER(dropout_grad, DropoutGrad, kFloats + kHalves)

}  // namespace tablerec
