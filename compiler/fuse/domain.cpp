#include "compiler/fuse/domain.h"

#include <algorithm>

namespace kb {
namespace {

// Most elements of a row that stays in cache between stages: 256 KiB of f32. A CPU's own second-level cache has 512 KiB
// or more. A GPU's block holds no row, but reads it again from the cache of all multiprocessors: 132 rows are 33 MiB of
// the 50 MiB of an H100. The logits of GPT-2 have 50,304 elements.
constexpr int64_t kMaxRow = 65536;

}  // namespace

int64_t kept_elements(const Dims& domain, const Ints& axes) {
  int64_t kept = 1;
  for (int64_t axis = 0; axis < static_cast<int64_t>(domain.size()); ++axis)
    if (!std::binary_search(axes.begin(), axes.end(), axis)) kept *= domain[static_cast<size_t>(axis)];
  return kept;
}

int64_t proper_rank(const Dims& shape) {
  return std::count_if(shape.begin(), shape.end(), [](int64_t extent) { return extent != 1; });
}

int64_t row_elements(const Dims& domain, const Ints& axes) {
  int64_t row = 1;
  auto rank = static_cast<int64_t>(domain.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != rank - static_cast<int64_t>(axes.size()) + static_cast<int64_t>(i)) return 0;
    row *= domain[static_cast<size_t>(axes[i])];
  }
  return axes.empty() || axes.size() == domain.size() ? 0 : row;
}

bool rows_in_cache(const Dims& domain, const Ints& axes) {
  const int64_t row = row_elements(domain, axes);
  return row > 0 && row <= kMaxRow;
}

FusionClass reduction_class(const Dims& domain, const Ints& axes) {
  if (axes.size() == domain.size()) return FusionClass::full_reduce;
  for (auto axis = static_cast<int64_t>(domain.size()); axis-- > 0;)
    if (domain[static_cast<size_t>(axis)] != 1)
      return std::binary_search(axes.begin(), axes.end(), axis) ? FusionClass::row_reduce : FusionClass::column_reduce;
  return FusionClass::full_reduce;
}

Ints reduced_axes(const Node& node) {
  return node.op == Op::argmax ? Ints{node.attrs.integer("axis")} : node.attrs.ints("axes");
}

}  // namespace kb
