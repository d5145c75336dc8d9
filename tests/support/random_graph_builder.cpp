#include "tests/support/random_graph_builder.h"

#include <algorithm>

#include "graph/functions.h"

namespace kb::test {

// Picks a tensor of the pool and prefers the youngest, so that graphs grow deep as well as wide.
Pooled& RandomGraphBuilder::pick() {
  const auto size = static_cast<int64_t>(pool_.size());
  const int64_t first = random_.chance(0.6) ? std::max<int64_t>(0, size - 3) : 0;
  return pool_[static_cast<size_t>(random_.integer(first, size - 1))];
}

Pooled& RandomGraphBuilder::pick_exact() {
  for (int attempt = 0; attempt < 4; ++attempt) {
    Pooled& item = pick();
    if (item.exact) return item;
  }
  pool_.push_back(fresh(shape(0, 4)));
  return pool_.back();
}

Pooled& RandomGraphBuilder::pick_rank(int64_t least, int64_t most) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    Pooled& item = pick();
    if (item.tensor.rank() >= least && item.tensor.rank() <= most) return item;
  }
  pool_.push_back(fresh(shape(least, most)));
  return pool_.back();
}

// Adds a tensor to the pool. Large values are scaled down by a power of two, which is exact, so that no chain of
// products grows without bound.
void RandomGraphBuilder::keep(Tensor tensor, double bound, bool exact) {
  double scale = 1;
  while (bound * scale > 32) scale /= 2;
  if (scale != 1) tensor = tensor * scale;
  pool_.push_back({tensor, bound * scale, exact, false});
}

// --- leaves

Tensor RandomGraphBuilder::leaf(const Dims& shape) {
  const DType dtype = options_.dtype;
  if (random_.chance(options_.smooth ? 0.5 : 0.1)) {
    // All parameters of a graph have one dtype, and parameters of norms are f32 or wider.
    const DType kept = is_low_precision(dtype) ? DType::f32 : dtype;
    const Tensor w = parameter(graph_, fresh_name("w"), Role::weight, {kept, shape, ""}, {InitKind::normal, 0, 1});
    return kept == dtype ? w : cast(w, dtype);
  }
  if (random_.chance(0.1)) {
    std::vector<double> values(static_cast<size_t>(element_count(shape)));
    for (double& v : values) v = random_.number(-2, 2);
    return constant(graph_, dtype, shape, values);
  }
  return given("x", dtype, shape);
}

Tensor RandomGraphBuilder::given(const char* kind, DType dtype, const Dims& shape) {
  if (shape.empty()) return scalar_input(graph_, fresh_name(kind), dtype);
  return input(graph_, fresh_name(kind), dtype, shape, "");
}

Pooled RandomGraphBuilder::fresh(const Dims& shape) { return {leaf(shape), 6, true, false}; }

Tensor RandomGraphBuilder::indices(const Dims& shape, int64_t limit) {
  if (random_.chance(0.7)) return given("i", DType::i32, shape);
  std::vector<double> values(static_cast<size_t>(element_count(shape)));
  for (double& v : values) v = static_cast<double>(random_.integer(0, limit - 1));
  return constant(graph_, DType::i32, shape, values);
}

Dims RandomGraphBuilder::shape(int64_t least_rank, int64_t most_rank) {
  Dims shape;
  for (int64_t rank = random_.integer(least_rank, most_rank); rank > 0; --rank) {
    const int64_t most = std::min<int64_t>(9, elements_left(shape) + 1);
    static const std::vector<int64_t> primes = {1, 1, 2, 3, 5, 7, 11, 13, 17, 31, 37, 101};
    int64_t extent = random_.integer(1, most);
    if (options_.whole && random_.chance(0.5)) extent = std::min(random_.pick(primes), elements_left(shape) + 1);
    shape.push_back(extent);
  }
  return shape;
}

// Returns a shape that broadcasts to `shape`: leading axes may be missing, others may be 1.
Dims RandomGraphBuilder::broadcastable(const Dims& shape) {
  Dims result = shape;
  for (int64_t& extent : result) {
    if (random_.chance(0.25)) extent = 1;
  }
  if (random_.chance(0.4))
    result.erase(result.begin(), result.begin() + random_.integer(0, static_cast<int64_t>(shape.size())));
  return result;
}

Ints RandomGraphBuilder::some_axes(int64_t rank, bool at_least_one) {
  Ints axes;
  for (int64_t a = 0; a < rank; ++a) {
    if (random_.chance(0.5)) axes.push_back(a);
  }
  if (axes.empty() && at_least_one) axes.push_back(random_.integer(0, rank - 1));
  return axes;
}

}  // namespace kb::test
