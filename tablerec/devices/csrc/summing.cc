// Sums and means in the elements' own type, which many gradients end with.
#include "reduce.h"

namespace tablerec {

template <class T>
void sum_elements(const Context& context, const char* name, const Reduction& how, const T* from, T* out, bool mean) {
  reduce<T>(context, name, how, SumRule<T, T>{from, mean}, out);
}

template <class T>
void sum_to_shape(const Context& context, const char* name, const T* from, const phi::DDim& dims, Tensor* to) {
  int missing = dims.size() - to->dims().size();
  std::vector<int64_t> axes;
  for (int k = 0; k < dims.size(); ++k)
    if (k < missing || (to->dims()[k - missing] == 1 && dims[k] != 1)) axes.push_back(k);
  auto out = write<T>(context, to);
  if (axes.empty()) {  // only leading ones differ
    launch(context, name, to->numel(), DEVICE(int64_t i) { out[i] = from[i]; });
    return;
  }
  sum_elements<T>(context, name, reduction(dims, axes), from, out);
}

#define SUMS_OF(T)                                                                                          \
  template void sum_elements<T>(const Context&, const char*, const Reduction&, const T*, T*, bool);         \
  template void sum_to_shape<T>(const Context&, const char*, const T*, const phi::DDim&, Tensor*);
SUMS_OF(float)
SUMS_OF(double)
SUMS_OF(phi::dtype::float16)
SUMS_OF(phi::dtype::bfloat16)
template void sum_elements<int64_t>(const Context&, const char*, const Reduction&, const int64_t*, int64_t*, bool);

}  // namespace tablerec
