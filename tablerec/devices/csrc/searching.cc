// Searching in what is sorted, what is different, and non-maximum suppression.
#include "host.h"
#include "register.h"
#include "scan.h"
#include "sorting.h"

namespace tablerec {

// ---- searching in what is sorted

template <class T, class I>
void search(const Context& context, const Tensor& sorted, const Tensor& value, bool right, Tensor* out) {
  using C = Compute<T>;
  int64_t length = sorted.dims()[sorted.dims().size() - 1];
  bool shared = sorted.dims().size() == 1;
  int64_t asked = shared || !value.dims().size() ? 0 : value.dims()[value.dims().size() - 1];
  auto a = read<T>(sorted), v = read<T>(value);
  auto r = write<I>(context, out);
  launch(context, "searchsorted", value.numel(), DEVICE(int64_t i) {
    const T* row = a + (shared ? 0 : i / asked * length);
    C wanted = C(v[i]);
    int64_t from = 0, to = length;
    while (from < to) {
      int64_t middle = (from + to) / 2;
      C here = C(row[middle]);
      if (right ? here <= wanted : here < wanted) from = middle + 1;
      else to = middle;
    }
    r[i] = I(wanted == wanted ? from : length);
  });
}
template <class T, class X>
void SearchSorted(const X& context, const Tensor& sorted, const Tensor& value, bool narrow, bool right, Tensor* out) {
  if (narrow) search<T, int>(context, sorted, value, right, out);
  else search<T, int64_t>(context, sorted, value, right, out);
}
REGISTER_AMENDED(searchsorted, SearchSorted, kNumbers, gives_another_type)

// ---- what is different

template <class T> struct IsFirst {
  const T* x;
  const int* places;
  HOST_DEVICE int64_t operator()(int64_t i) const { return i == 0 || !(x[places[i]] == x[places[i - 1]]); }
};
struct KeepGroups {
  int* group;  // by rank
  int64_t count, *total;
  HOST_DEVICE void operator()(int64_t i, int64_t before, int64_t value) const {
    group[i] = int(before + value - 1);
    if (i == count - 1) total[0] = before + value;
  }
};
// Sorted values, the first place of each, the group of each element, the size of each group.
template <class T, class I>
void unique(const Context& context, const Tensor& x, bool wants_index, bool wants_inverse, bool wants_counts, Tensor* out,
            Tensor* indices, Tensor* inverse, Tensor* counts) {
  int64_t count = x.numel(), found = 0;
  Split s(phi::make_ddim({count}), 0);
  Temporary<int64_t> total(context, 1);
  Temporary<int> groups(context, count);
  auto a = read<T>(x);
  SortedRows<T> sorted(context, "unique", s, a, false);
  auto places = sorted.places;
  auto group = groups.data;
  if (count) {
    scan<int64_t>(context, "unique", s, false, IsFirst<T>{a, places}, KeepGroups{group, count, total.data});
    found = number_on_host(context, total);
  }
  for (auto* result : {out, indices, counts}) result->Resize(phi::make_ddim({found}));
  auto values = write<T>(context, out);
  auto first = wants_index ? write<I>(context, indices) : nullptr;
  auto sizes = wants_counts ? write<I>(context, counts) : nullptr;
  inverse->Resize(phi::make_ddim({count}));
  auto which = wants_inverse ? write<I>(context, inverse) : nullptr;
  launch(context, "unique", count, DEVICE(int64_t i) {
    int g = group[i];
    if (i == 0 || group[i - 1] != g) {
      values[g] = a[places[i]];
      if (first) first[g] = I(places[i]);
      if (sizes) {
        int64_t from = i, to = count;  // the first rank of a later group
        while (from < to) {
          int64_t middle = (from + to) / 2;
          if (group[middle] <= g) from = middle + 1;
          else to = middle;
        }
        sizes[g] = I(from - i);
      }
    }
    if (which) which[places[i]] = I(g);
  });
}
template <class T, class X>
void Unique(const X& context, const Tensor& x, bool wants_index, bool wants_inverse, bool wants_counts, const std::vector<int>& axis,
            phi::DataType type, Tensor* out, Tensor* indices, Tensor* inverse, Tensor* counts) {
  REQUIRE(axis.empty(), "unique along an axis is not supported on %s; of all elements is", device_name());
  if (type == phi::DataType::INT32) unique<T, int>(context, x, wants_index, wants_inverse, wants_counts, out, indices, inverse, counts);
  else unique<T, int64_t>(context, x, wants_index, wants_inverse, wants_counts, out, indices, inverse, counts);
}
inline void gives_other_types(phi::Kernel* kernel) {
  for (int k = 1; k < 4; ++k) kernel->OutputAt(k).SetDataType(phi::DataType::UNDEFINED);
}
REGISTER_AMENDED(unique, Unique, kNumbers, gives_other_types)

// ---- non-maximum suppression; boxes come sorted by score

template <class T> HOST_DEVICE bool overlap(const T* p, const T* q, float threshold) {
  T left = p[0] > q[0] ? p[0] : q[0], top = p[1] > q[1] ? p[1] : q[1];
  T right = p[2] < q[2] ? p[2] : q[2], bottom = p[3] < q[3] ? p[3] : q[3];
  T common = (right > left ? right - left : T(0)) * (bottom > top ? bottom - top : T(0));
  T whole = (p[2] - p[0]) * (p[3] - p[1]) + (q[2] - q[0]) * (q[3] - q[1]) - common;
  return common / whole > threshold;
}
template <class T, class X> void Nms(const X& context, const Tensor& boxes, float threshold, Tensor* out) {
  int64_t count = boxes.dims()[0], words = (count + 63) / 64;
  auto b = read<T>(boxes);
  Temporary<int64_t> kept(context, count), total(context, 1);
  Temporary<uint64_t> masks(context, count * words), struck_out(context, words);
  auto k = kept.data, sum = total.data;
  auto mask = masks.data, struck = struck_out.data;
  // A bit for each later box that a box would strike out, in words of 64.
  launch(context, "nms", count * words, DEVICE(int64_t item) {
    int64_t i = item / words, word = item % words, first = word * 64, last = first + 64 < count ? first + 64 : count;
    uint64_t bits = 0;
    for (int64_t j = first > i ? first : i + 1; j < last; ++j)
      if (overlap(b + 4 * i, b + 4 * j, threshold)) bits |= uint64_t(1) << (j - first);
    mask[item] = bits;
    if (i == 0) struck[word] = 0;
  });
  // One team goes through the boxes, 64 at a time: its first member decides, all members strike out in later words.
  launch_teams(context, "nms", count ? 1 : 0, 2048, DEVICE(int64_t, Team team) {
    int64_t n = 0;
    for (int64_t word = 0; word < words; ++word) {
      uint64_t keeps = 0;
      if (team.rank == 0) {
        uint64_t gone = struck[word];
        for (int64_t j = 0; j < 64 && word * 64 + j < count; ++j) {
          if (gone >> j & 1) continue;
          keeps |= uint64_t(1) << j;
          gone |= mask[(word * 64 + j) * words + word];
          k[n++] = word * 64 + j;
        }
      }
      keeps = team.sum(keeps);
      for (int64_t later = word + 1 + team.rank; later < words; later += team.size) {
        uint64_t gone = struck[later];
        for (int j = 0; j < 64; ++j)
          if (keeps >> j & 1) gone |= mask[(word * 64 + j) * words + later];
        struck[later] = gone;
      }
      team.sum(0);  // the words are written before they are read
    }
    if (team.rank == 0) sum[0] = n;
  });
  int64_t found = count ? number_on_host(context, total) : 0;
  out->Resize(phi::make_ddim({found}));
  auto r = write<int64_t>(context, out);
  launch(context, "nms", found, DEVICE(int64_t i) { r[i] = k[i]; });
}
REGISTER_AMENDED(nms, Nms, kFloats, gives_indices_first)

}  // namespace tablerec
