// Sums of products by labels of dimensions ("bij,bjk->bik"): a product of matrices wherever two tensors meet.
#include "elements.h"
#include "products.h"
#include "register.h"

namespace tablerec {

constexpr int kLabels = 26;

// The labels of the operands and of the result, and the size that each stands for. Paddle has put letters for dots, and
// gives at most two operands.
struct Equation {
  std::vector<std::string> operands{""};
  std::string result;
  int64_t size[kLabels];

  Equation(const std::string& text, const std::vector<phi::DDim>& dims) {
    std::fill(size, size + kLabels, 1);
    size_t arrow = text.find("->");
    REQUIRE(arrow != std::string::npos, "einsum: the equation '%s' has no ->", text);
    for (size_t k = 0; k < text.size(); ++k) {
      if (k == arrow + 1 || k == arrow || text[k] == ' ') continue;
      if (k < arrow && text[k] == ',') operands.emplace_back();
      else if (text[k] >= 'a' && text[k] <= 'z') (k < arrow ? operands.back() : result) += text[k];
      else REQUIRE(false, "einsum: the sign %c in the equation '%s'", text[k], text);
    }
    REQUIRE(operands.size() == dims.size() && dims.size() <= 2, "einsum: %d tensors for the equation '%s'", int(dims.size()), text);
    for (size_t k = 0; k < dims.size(); ++k) {
      REQUIRE(int(operands[k].size()) == dims[k].size(), "einsum: %d dimensions for the labels '%s'", dims[k].size(), operands[k]);
      for (int d = 0; d < dims[k].size(); ++d) {
        int64_t& known = size[operands[k][d] - 'a'];
        REQUIRE(known == dims[k][d] || known == 1 || dims[k][d] == 1, "einsum: the label %c stands for %d and for %d",
                operands[k][d], int(known), int(dims[k][d]));
        if (dims[k][d] != 1) known = dims[k][d];
      }
    }
  }
};

// A tensor of which a step along a label leads `step` elements on. A label that is repeated walks the diagonal; sizes of
// one are left out, so that what is stretched has no such label.
template <class T> struct Labelled {
  T* data;
  std::string labels;
  int64_t step[kLabels] = {};

  Labelled(T* data, const std::string& given, const phi::DDim& dims) : data(data) {
    auto strides = contiguous_strides(dims);
    for (int d = 0; d < dims.size(); ++d) {
      if (dims[d] == 1) continue;
      if (!has(given[d])) labels += given[d];
      step[given[d] - 'a'] += strides[d];
    }
  }
  // Contiguous, in the order of its labels.
  Labelled(T* data, const std::string& labels, const int64_t* size) : data(data), labels(labels) {
    int64_t next = 1;
    for (size_t k = labels.size(); k-- > 0;) {
      step[labels[k] - 'a'] = next;
      next *= size[labels[k] - 'a'];
    }
  }
  bool has(char label) const { return labels.find(label) != std::string::npos; }
  std::vector<int64_t> steps(const std::string& order) const {
    std::vector<int64_t> found;
    for (char label : order) found.push_back(step[label - 'a']);
    return found;
  }
  bool contiguous(const int64_t* size) const { return steps(labels) == Labelled(data, labels, size).steps(labels); }
};

inline phi::DDim label_dims(const std::string& labels, const int64_t* size) {
  std::vector<int64_t> dims;
  for (char label : labels) dims.push_back(size[label - 'a']);
  return phi::make_ddim(dims);
}
template <class Keep> std::string chosen(const std::string& labels, Keep keep) {
  std::string found;
  for (char label : labels)
    if (keep(label)) found += label;
  return found;
}

// Several labels walked as one, if the steps allow it.
struct Folded {
  int64_t size = 1, step = 1;
  bool possible = true;
};
template <class T> Folded fold(const Labelled<T>& x, const std::string& labels, const int64_t* size) {
  Folded f;
  for (size_t k = labels.size(); k-- > 0;) {
    int64_t step = x.step[labels[k] - 'a'];
    if (k + 1 == labels.size()) f.step = step;
    else f.possible = f.possible && step == f.step * f.size;
    f.size *= size[labels[k] - 'a'];
  }
  return f;
}

template <class B> void place_elements(const Context& context, const char* name, const Walk<2>& at, const B* from, B* to) {
  launch(context, name, at.count(), DEVICE(int64_t i) {
    auto o = at(i);
    to[o.at[1]] = from[o.at[0]];
  });
}

template <class T> class Contraction {
  const Context& context;
  const char* name;
  const int64_t* size;
  std::vector<Temporary<T>> memory;  // until all has been launched

  T* room(const std::string& labels) {
    memory.emplace_back(context, phi::product(label_dims(labels, size)));
    return memory.back().data;
  }
  using View = Labelled<const T>;

  // Contiguous in an order.
  View arranged(const View& x, const std::string& order) {
    auto r = room(order);
    copy_walk(context, name, walk(label_dims(order, size), x.steps(order)), bits(x.data), bits(r));
    return View(r, order, size);
  }
  // Summed over all labels but those to keep, which come in the order given.
  void sum_into(const View& x, const std::string& kept, T* to) {
    std::string summed = chosen(x.labels, [&](char label) { return kept.find(label) == std::string::npos; });
    Reduction how;
    how.kept = walk(label_dims(kept, size), x.steps(kept));
    how.reduced = walk(label_dims(summed, size), x.steps(summed));
    how.outputs = phi::product(label_dims(kept, size));
    how.length = phi::product(label_dims(summed, size));
    sum_elements(context, name, how, x.data, to);
  }
  View summed(const View& x, const std::string& kept) {
    if (kept.size() == x.labels.size()) return x;
    auto r = room(kept);
    sum_into(x, kept, r);
    return View(r, kept, size);
  }
  // One that a product of matrices takes as it lies, or a copy.
  View as_matrix(const View& x, const std::string& batch, const std::string& rows, const std::string& columns) {
    auto one = fold(x, batch, size), two = fold(x, rows, size), three = fold(x, columns, size);
    bool fits = one.possible && two.possible && three.possible && (two.step == 1 || three.step == 1);
    return fits ? x : arranged(x, batch + rows + columns);
  }
  void multiply_into_order(const View& a, const View& b, const std::string& batch, const std::string& rows, const std::string& columns,
                           const std::string& inner, T* to) {
    View x = as_matrix(a, batch, rows, inner), y = as_matrix(b, batch, inner, columns);
    auto x_batch = fold(x, batch, size), y_batch = fold(y, batch, size);
    auto x_rows = fold(x, rows, size), x_inner = fold(x, inner, size), y_inner = fold(y, inner, size), y_columns = fold(y, columns, size);
    Product p;
    p.rows = x_rows.size, p.columns = y_columns.size, p.inner = x_inner.size, p.batch = x_batch.size;
    p.x_row = x_rows.step, p.x_inner = x_inner.step, p.y_inner = y_inner.step, p.y_column = y_columns.step;
    p.batches = walk(phi::make_ddim({p.batch}), std::vector<int64_t>{x_batch.step}, std::vector<int64_t>{y_batch.step});
    multiply(context, name, x.data, y.data, to, p);
  }
  // Repeats what the result has not.
  void place(const View& from, const Labelled<T>& to) {
    auto dims = label_dims(to.labels, size);
    auto source = from.steps(to.labels), target = to.steps(to.labels);
    if (to.contiguous(size)) return copy_walk(context, name, walk(dims, source), bits(from.data), bits(to.data));
    place_elements(context, name, walk(dims, source, target), bits(from.data), bits(to.data));
  }

 public:
  Contraction(const Context& context, const char* name, const int64_t* size) : context(context), name(name), size(size) {}

  // to = the sum of the operand, or of the product of two, over the labels that `to` has not.
  void run(const std::vector<View>& operands, const Labelled<T>& to) {
    auto in_result = [&](char label) { return to.has(label); };
    bool ordered = to.contiguous(size);
    if (operands.size() == 1) {
      auto& x = operands[0];
      std::string kept = chosen(to.labels, [&](char label) { return x.has(label); });
      if (kept.size() == x.labels.size()) return place(x, to);
      if (ordered && kept == to.labels) return sum_into(x, kept, to.data);
      return place(summed(x, kept), to);
    }
    auto needed = [&](const View& x, const View& other) {
      return chosen(x.labels, [&](char label) { return to.has(label) || other.has(label); });
    };
    View a = summed(operands[0], needed(operands[0], operands[1])), b = summed(operands[1], needed(operands[1], operands[0]));
    std::string batch = chosen(to.labels, [&](char label) { return a.has(label) && b.has(label); });
    std::string rows = chosen(to.labels, [&](char label) { return a.has(label) && !b.has(label); });
    std::string columns = chosen(to.labels, [&](char label) { return b.has(label) && !a.has(label); });
    std::string inner = chosen(a.labels, [&](char label) { return b.has(label) && !in_result(label); });
    if (!rows.empty() && !to.labels.empty() && rows.back() == to.labels.back()) {  // a's come last in the result
      std::swap(a, b);
      std::swap(rows, columns);
    }
    std::string order = batch + rows + columns;
    if (ordered && order == to.labels) return multiply_into_order(a, b, batch, rows, columns, inner, to.data);
    auto r = room(order);
    multiply_into_order(a, b, batch, rows, columns, inner, r);
    place(View(r, order, size), to);
  }
};

template <class T> void clear_result(const Context& context, const char* name, Tensor* to) {
  auto r = write<T>(context, to);
  fill_elements(context, name, to->numel(), Bits<T>(0), bits(r));
}
// Whether a label occurs twice, so that only a diagonal is written.
inline bool has_diagonal(std::string labels) {
  std::sort(labels.begin(), labels.end());
  return std::adjacent_find(labels.begin(), labels.end()) != labels.end();
}
// `any` of the operands empty: nothing is summed.
template <class T>
void contract(const Context& context, const char* name, const Equation& e, const std::vector<Labelled<const T>>& operands, bool empty,
              const std::string& labels, Tensor* to) {
  if (empty || has_diagonal(labels)) clear_result<T>(context, name, to);
  if (empty || !to->numel()) return;
  Labelled<T> target(write<T>(context, to), labels, to->dims());
  Contraction<T>(context, name, e.size).run(operands, target);
}

inline std::vector<phi::DDim> shapes_of(const Tensors& x) {
  std::vector<phi::DDim> dims;
  for (auto* tensor : x) dims.push_back(tensor->dims());
  return dims;
}

// The operands are kept for the gradient as they are: another form of them would be a second copy.
template <class T, class X>
void Einsum(const X& context, const Tensors& x, const std::string& equation, Tensor* out, std::vector<Tensor*> kept,
            std::vector<Tensor*> shapes) {
  Equation e(equation, shapes_of(x));
  std::vector<Labelled<const T>> operands;
  bool empty = false;
  for (size_t k = 0; k < x.size(); ++k) {
    operands.emplace_back(read<T>(*x[k]), e.operands[k], x[k]->dims());
    empty = empty || !x[k]->numel();
    if (k < kept.size() && kept[k]) kept[k]->ShareDataWith(*x[k]);
  }
  for (size_t k = 0; k < shapes.size(); ++k)
    if (shapes[k]) shapes[k]->Resize(x[k]->dims());
  contract<T>(context, "einsum", e, operands, empty, e.result, out);
}

// Of each operand: the gradient of the result times the other one, summed over what this one has not. What this one was
// summed over by itself is repeated.
template <class T, class X>
void EinsumGrad(const X& context, const Tensors& shapes, const Tensors& kept, const Tensor& dout, const std::string& equation,
                std::vector<Tensor*> dx) {
  Equation e(equation, shapes_of(shapes));
  bool empty = !dout.numel();
  std::vector<Labelled<const T>> operands;
  for (size_t k = 0; k < shapes.size(); ++k) {
    empty = empty || phi::product(shapes[k]->dims()) == 0;
    operands.emplace_back(shapes.size() > 1 ? read<T>(*kept[k]) : nullptr, e.operands[k], shapes[k]->dims());
  }
  for (size_t k = 0; k < dx.size(); ++k) {
    if (!dx[k]) continue;
    dx[k]->Resize(shapes[k]->dims());
    std::vector<Labelled<const T>> factors{{read<T>(dout), e.result, dout.dims()}};
    if (shapes.size() > 1) factors.push_back(operands[1 - k]);
    contract<T>(context, "einsum_grad", e, factors, empty, e.operands[k], dx[k]);
  }
}
REGISTER(einsum, Einsum, kFloats + kHalves)
REGISTER(einsum_grad, EinsumGrad, kFloats + kHalves)

}  // namespace tablerec
