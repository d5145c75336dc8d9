// The matrix product of the DSL. The op multiplies matrices whose leading extents are equal; here operands whose
// leading extents broadcast are made so. Where b has one matrix for several of a, their rows become those of one
// matrix.
#include <algorithm>
#include <numeric>

#include "graph/building.h"

namespace kb {
namespace {

Attrs transposes(bool transpose_a, bool transpose_b) {
  return {{"transpose_a", int64_t{transpose_a}}, {"transpose_b", int64_t{transpose_b}}};
}

Tensor product(Tensor a, Tensor b, bool transpose_a, bool transpose_b) {
  return make(Op::matmul, {a, b}, transposes(transpose_a, transpose_b));
}

// Returns the extents before the last two, with ones in front up to `rank` of them.
Dims leading(const Type& x, size_t rank) {
  Dims extents(x.shape.begin(), x.shape.end() - 2);
  extents.insert(extents.begin(), rank - extents.size(), 1);
  return extents;
}

size_t leading_rank(const Type& a, const Type& b) { return std::max(a.shape.size(), b.shape.size()) - 2; }

// Returns whether the matrices fit and their leading extents differ, but broadcast. All else is the op's to refuse.
bool needs_broadcast(const Type& a, const Type& b, bool transpose_a, bool transpose_b) {
  if (a.rank() < 2 || b.rank() < 2 || a.dtype != b.dtype) return false;
  if (a.shape.end()[transpose_a ? -2 : -1] != b.shape.end()[transpose_b ? -1 : -2]) return false;
  const Dims of_a = leading(a, leading_rank(a, b)), of_b = leading(b, leading_rank(a, b));
  const auto fits = [](int64_t x, int64_t y) { return x == y || x == 1 || y == 1; };
  return (a.rank() != b.rank() || of_a != of_b) && std::equal(of_a.begin(), of_a.end(), of_b.begin(), fits);
}

// Swaps the last two axes.
Tensor transposed(Tensor x) {
  Ints axes(x.shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes.end()[-1], axes.end()[-2]);
  return transpose(x, std::move(axes));
}

// Repeats x, which has the leading extents `own`, to matrices of `rows` rows with the leading extents `both`.
Tensor repeated(Tensor x, Dims own, Dims both, int64_t rows) {
  for (Dims* extents : {&own, &both}) extents->insert(extents->end(), {rows, x.size(-1)});
  return broadcast_to(reshape(x, own), both);
}

// On the last leading axes along which b has one matrix, rows of a are folded into one matrix. Along the others the
// operand of extent 1 is repeated.
Tensor broadcast_product(Tensor a, Tensor b, bool transpose_a, bool transpose_b) {
  const size_t rank = leading_rank(a.type(), b.type());
  const Dims of_a = leading(a.type(), rank), of_b = leading(b.type(), rank);
  auto last = of_b.end();  // of the leading axes that are not folded
  while (last != of_b.begin() && last[-1] == 1) --last;
  const auto kept = last - of_b.begin();
  if (last != of_b.end() && transpose_a) {
    a = transposed(a);
    transpose_a = false;
  }
  Dims both(rank);
  std::transform(of_a.begin(), of_a.end(), of_b.begin(), both.begin(),
                 [](int64_t x, int64_t y) { return x == 1 ? y : x; });
  const auto unfolded = [&](const Dims& extents) { return Dims(extents.begin(), extents.begin() + kept); };
  const int64_t folded = element_count(Dims(of_a.begin() + kept, of_a.end()));
  const Tensor y = product(repeated(a, unfolded(of_a), unfolded(both), folded * a.size(-2)),
                           repeated(b, unfolded(of_b), unfolded(both), b.size(-2)), transpose_a, transpose_b);
  both.insert(both.end(), {a.size(transpose_a ? -1 : -2), y.size(-1)});
  return reshape(y, both);
}

}  // namespace

Tensor matmul(Tensor a, Tensor b, bool transpose_a, bool transpose_b, Where where) {
  const Call call(where);
  require_same_graph("matmul", {a, b});
  return needs_broadcast(a.type(), b.type(), transpose_a, transpose_b)
             ? broadcast_product(a, b, transpose_a, transpose_b)
             : product(a, b, transpose_a, transpose_b);
}

Tensor exact_matmul(Tensor a, Tensor b, bool transpose_a, bool transpose_b, Where where) {
  const Call call(where);
  require_same_graph("exact_matmul", {a, b});
  return make(Op::matmul, {a, b}, transposes(transpose_a, transpose_b).set(kExactProduct, int64_t{1}));
}

}  // namespace kb
