#include "graph/image_layout.h"

#include <numeric>

namespace kb {
namespace {

Ints permuted(const Ints& values, const Ints& order) {
  Ints result;
  for (int64_t axis : order) result.push_back(values[static_cast<size_t>(axis)]);
  return result;
}

// Returns the permutation that moves axis `from` to the end.
Ints moved_last(int64_t rank, int64_t from) {
  Ints order;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis != from) order.push_back(axis);
  order.push_back(from);
  return order;
}

}  // namespace

bool operator==(const ImageLayout& a, const ImageLayout& b) {
  if (a.is_logical() || b.is_logical()) return a.is_logical() && b.is_logical();
  return a.block == b.block && a.channels == b.channels && a.spatial == b.spatial;
}

Dims ImageLayout::split(const Dims& logical) const {
  if (!blocked()) return logical;
  Dims result = logical;
  result[1] /= block;
  result.insert(result.begin() + 2, block);
  return result;
}

Ints ImageLayout::from_split() const {
  if (channels_last()) return moved_last(spatial + 2, 1);
  if (blocked()) return moved_last(spatial + 3, 2);
  Ints order(static_cast<size_t>(spatial + 2));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Ints ImageLayout::to_split() const {
  const Ints order = from_split();
  Ints inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return inverse;
}

Dims ImageLayout::physical(const Dims& shape) const {
  return is_logical() ? shape : permuted(split(shape), from_split());
}

Dims ImageLayout::logical(const Dims& shape) const {
  if (is_logical()) return shape;
  Dims result = permuted(shape, to_split());
  if (blocked()) {
    result[1] *= block;
    result.erase(result.begin() + 2);
  }
  return result;
}

Ints ImageLayout::axes_of(int64_t axis) const {
  if (is_logical()) return {axis};
  const Ints order = to_split();
  const auto at = [&](int64_t split_axis) { return order[static_cast<size_t>(split_axis)]; };
  if (!blocked() || axis == 0) return {at(axis)};
  return axis == 1 ? Ints{at(1), at(2)} : Ints{at(axis + 1)};
}

Ints ImageLayout::in_memory_order(const Ints& values, int64_t outer, int64_t inner) const {
  if (is_logical()) return values;
  Ints split = values;
  if (blocked()) {
    split[1] = outer;
    split.insert(split.begin() + 2, inner);
  }
  return permuted(split, from_split());
}

std::optional<ImageLayout> image_layout(const Dims& physical, int64_t block, int64_t spatial) {
  const auto rank = static_cast<int64_t>(physical.size());
  if (block == 0) return rank == spatial + 2 ? std::optional(ImageLayout{0, physical[1], spatial}) : std::nullopt;
  if (rank == spatial + 2 && physical.back() == block) return ImageLayout{block, block, spatial};
  if (rank == spatial + 3 && physical.back() == block && physical[1] != 1)
    return ImageLayout{block, physical[1] * block, spatial};
  return std::nullopt;
}

ImageLayout filter_layout(const Dims& physical, bool last) {
  const int64_t spatial = static_cast<int64_t>(physical.size()) - 2;
  return last ? ImageLayout{physical.back(), physical.back(), spatial} : ImageLayout{0, physical[1], spatial};
}

std::string axis_names(const ImageLayout& layout, const std::string& outer) {
  constexpr const char* kSpatial[] = {"", "L", "HW", "DHW"};
  const std::string spatial = kSpatial[layout.spatial];
  if (layout.channels_last()) return outer.substr(0, 1) + spatial + outer.substr(1);
  return outer + spatial + (layout.blocked() ? "_" : "");
}

}  // namespace kb
