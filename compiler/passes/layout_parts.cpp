#include "compiler/passes/layout_parts.h"

#include <algorithm>
#include <iterator>

namespace kb {
namespace {

constexpr const char* kKeys[] = {"begin", "end", "step", "low", "high", "interior"};

// Returns whether a change of the number of channels keeps every block whole.
bool keeps_blocks(const Node& node, int64_t block) {
  return std::all_of(std::begin(kKeys), std::end(kKeys), [&](std::string_view key) {
    if (!node.attrs.has(key)) return true;
    const int64_t number = node.attrs.ints(key)[1];
    return key == "step" ? number == 1 : key == "interior" ? number == 0 : number % block == 0;
  });
}

}  // namespace

Ints physical_axes(const ImageLayout& layout, const Ints& logical) {
  Ints axes;
  for (const int64_t axis : logical)
    for (const int64_t physical : layout.axes_of(axis)) axes.push_back(physical);
  std::sort(axes.begin(), axes.end());
  return axes;
}

bool is_same_image(const Dims& a, const Dims& b) {
  const auto proper = [](const Dims& shape) {
    Dims extents{shape[0], shape[1]};
    std::copy_if(shape.begin() + 2, shape.end(), std::back_inserter(extents), [](int64_t e) { return e != 1; });
    return extents;
  };
  return a.size() > 2 && b.size() > 2 && proper(a) == proper(b);
}

std::optional<Attrs> cut_attrs(const Node& node, const ImageLayout& from, const ImageLayout& to) {
  if (from.is_logical() || to.is_logical()) return std::nullopt;
  const bool changes = from.channels != to.channels;
  if (changes && from.blocked() && (to.block != from.block || !keeps_blocks(node, from.block))) return std::nullopt;
  if (changes && !from.blocked() && !to.channels_last()) return std::nullopt;
  Attrs attrs = node.attrs;
  for (const std::string_view key : kKeys) {
    if (!attrs.has(key)) continue;
    const Ints& numbers = node.attrs.ints(key);
    const bool step = key == "step", end = key == "end";
    attrs.set(std::string(key), from.in_memory_order(numbers, step ? 1 : numbers[1] / from.block,
                                                     step  ? 1
                                                     : end ? from.block
                                                           : 0));
  }
  return attrs;
}

bool is_generated(const Graph& graph, Value v, int depth) {
  const Node& node = graph.node(v);
  if (node.op == Op::random_bits || node.op == Op::broadcast) return true;
  if (node.op == Op::constant) return node.attrs.reals("values").size() == 1;
  return depth > 0 && is_pointwise(node.op) &&
         std::ranges::all_of(node.inputs, [&](Value x) { return is_generated(graph, x, depth - 1); });
}

ImageLayout layout_of_part(const ImageLayout& whole, int64_t channels) {
  if (whole.is_logical() || channels == whole.channels) return whole;
  if (whole.channels_last()) return {channels, channels, whole.spatial};
  return channels % whole.block == 0 ? ImageLayout{whole.block, channels, whole.spatial} : ImageLayout{};
}

}  // namespace kb
