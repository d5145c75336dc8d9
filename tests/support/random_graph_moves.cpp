// These steps of a random graph move values about, reduce them or take them by index.
#include "tests/support/random_graph_builder.h"

#include <algorithm>

#include "graph/functions.h"

namespace kb::test {

// --- movement

void RandomGraphBuilder::reshaping() {
  Pooled& item = pick_rank(1, 5);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  Dims dims = x.shape();
  if (dims.size() > 1 && random_.chance(0.6)) {  // merge two neighbours
    const auto at = random_.integer(0, static_cast<int64_t>(dims.size()) - 2);
    dims[static_cast<size_t>(at)] *= dims[static_cast<size_t>(at) + 1];
    dims.erase(dims.begin() + at + 1);
  } else {  // split one
    const auto at = random_.integer(0, static_cast<int64_t>(dims.size()) - 1);
    int64_t& extent = dims[static_cast<size_t>(at)];
    const int64_t factor = extent % 3 == 0 ? 3 : extent % 2 == 0 ? 2 : 1;
    extent /= factor;
    dims.insert(dims.begin() + at, factor);
  }
  if (dims.size() > 5) dims = {-1};
  keep(reshape(x, dims), bound, exact);
}

void RandomGraphBuilder::transposing() {
  Pooled& item = pick_rank(2, 5);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  Ints perm;
  for (int64_t a = 0; a < x.rank(); ++a) perm.insert(perm.begin() + random_.integer(0, a), a);
  keep(transpose(x, perm), bound, exact);
}

void RandomGraphBuilder::slicing() {
  Pooled& item = pick_rank(1, 5);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  Ints begin, end, step;
  for (const int64_t extent : x.shape()) {
    const bool whole = random_.chance(0.5);
    begin.push_back(whole ? 0 : random_.integer(0, extent - 1));
    end.push_back(whole ? extent : random_.integer(begin.back() + 1, extent));
    step.push_back(whole && random_.chance(0.7) ? 1 : random_.integer(1, 3));
  }
  keep(slice(x, begin, end, step), bound, exact);
}

void RandomGraphBuilder::padding() {
  Pooled& item = pick_rank(1, 4);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  Ints low, high, interior;
  int64_t room = elements_left(x.shape());
  for (size_t a = 0; a < x.shape().size(); ++a) {
    const bool pads = room > 3 && random_.chance(0.5);
    low.push_back(pads ? random_.integer(0, 2) : 0);
    high.push_back(pads ? random_.integer(0, 2) : 0);
    interior.push_back(pads ? random_.integer(0, 1) : 0);
    if (pads) room /= 3;
  }
  keep(pad(x, low, high, random_.chance(0.5) ? 0 : random_.number(-1, 1), interior), bound, exact);
}

void RandomGraphBuilder::concatenation() {
  Pooled& item = pick_rank(1, 4);
  double bound = item.bound;
  bool exact = item.exact;
  const Tensor x = use(item);
  const int64_t axis = random_.integer(0, x.rank() - 1);
  std::vector<Tensor> parts = {x};
  for (int64_t more = random_.integer(1, 2); more > 0; --more) {
    Dims dims = x.shape();
    dims[static_cast<size_t>(axis)] = random_.integer(1, 4);
    const Pooled part = random_.chance(0.3) ? Pooled{x, bound, exact, true} : fresh(dims);
    bound = std::max(bound, part.bound);
    exact = exact && part.exact;
    parts.insert(parts.begin() + random_.integer(0, static_cast<int64_t>(parts.size())), part.tensor);
  }
  keep(concat(parts, axis), bound, exact);
}

void RandomGraphBuilder::broadcasting() {
  Pooled& item = pick_rank(0, 4);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  const int64_t room = std::min<int64_t>(5, elements_left(x.shape()));
  if (room < 2) return;
  Dims dims = x.shape();
  const int64_t extent = random_.integer(1, room), at = random_.integer(0, x.rank());
  if (random_.chance(0.3)) {
    dims.insert(dims.begin(), extent);
    return keep(broadcast_to(x, dims), bound, exact);
  }
  dims.insert(dims.begin() + at, extent);
  Ints axes;
  for (int64_t a = 0; a <= x.rank(); ++a) {
    if (a != at) axes.push_back(a);
  }
  keep(broadcast_axes(x, dims, axes), bound, exact);
}

// --- reductions

void RandomGraphBuilder::sums() {
  Pooled& item = pick_rank(1, 5);
  const double bound = item.bound;
  const Tensor x = use(item);
  const Ints axes = some_axes(x.rank(), true);
  double terms = 1;
  for (const int64_t axis : axes) terms *= static_cast<double>(x.size(axis));
  const bool keep_dims = random_.chance(0.3);
  if (random_.chance(0.5)) return keep(mean(x, axes, keep_dims), bound);
  if (random_.chance(0.3)) return keep(x * 0.5 - mean(x, axes, true), 2 * bound);
  keep(sum(x, axes, keep_dims), bound * terms);
}

void RandomGraphBuilder::extrema() {
  Pooled& item = pick_rank(1, 5);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  const Ints axes = some_axes(x.rank(), true);
  const bool keep_dims = random_.chance(0.3);
  const int64_t which = random_.integer(0, 2);
  if (which < 2) return keep(which == 0 ? max(x, axes, keep_dims) : min(x, axes, keep_dims), bound, exact);
  keep(prod(select(x < 0.0, full_like(x, -1), full_like(x, 1)), axes, keep_dims), 1, exact);  // exact in any order
}

void RandomGraphBuilder::arg_maximum() {
  Pooled& item = pick_exact();
  if (item.tensor.rank() == 0) return;
  const Tensor x = use(item);
  keep(cast(argmax(x, random_.integer(0, x.rank() - 1)), options_.dtype), 9, true);
}

void RandomGraphBuilder::moments_step() {
  Pooled& item = pick_rank(1, 5);
  const double bound = item.bound;
  const Tensor x = use(item);
  const Moments m = moments(x, some_axes(x.rank(), true));
  if (random_.chance(0.5)) keep(cast(m.mean, options_.dtype), bound);
  keep(cast(m.variance, options_.dtype), bound * bound);
}

void RandomGraphBuilder::euclidean() {
  Pooled& item = pick_rank(1, 5);
  const double bound = item.bound;
  const Tensor x = use(item);
  keep(norm(x, some_axes(x.rank(), true), random_.chance(0.3)), bound * static_cast<double>(x.type().elements()));
}

// --- indexed

void RandomGraphBuilder::gathering() {
  Pooled& item = pick_rank(1, 4);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor table = use(item);
  const int64_t row = table.type().elements() / table.size(0);
  const Dims dims = row > 60 ? Dims{random_.integer(1, 5)} : shape(0, 1);
  keep(gather(table, indices(dims, table.size(0))), bound, exact);
}

void RandomGraphBuilder::cropping() {
  Pooled& item = pick_rank(3, 4);
  const auto [bound, exact] = std::pair{item.bound, item.exact};
  const Tensor x = use(item);
  const Ints size = {random_.integer(1, 9), random_.integer(1, 20)};
  keep(crop(x, indices({x.size(0), 3}, 5) - 2.0, size), bound, exact);
}

void RandomGraphBuilder::scattering() {
  Pooled& item = pick_rank(1, 4);
  const double bound = item.bound;
  const Tensor updates = use(item);
  const int64_t rows = random_.integer(1, 9);
  keep(scatter_add(indices({updates.size(0)}, rows), updates, rows), bound * static_cast<double>(updates.size(0)));
}

void RandomGraphBuilder::selecting_classes() {
  const int64_t classes = random_.integer(2, 9), samples = random_.integer(1, 9);
  const Tensor labels = indices({samples}, classes);
  if (random_.chance(0.5)) return keep(one_hot(labels, classes, options_.dtype), 1, true);
  keep(cast(argmax_equals(leaf({samples, classes}), labels), options_.dtype), 1, true);
}

}  // namespace kb::test
