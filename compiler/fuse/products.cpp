// A convolution of one tap and stride 1, over images with their channels last, is a product of matrices: pixels times
// filters, or gradients of pixels times transposed filters. Where the target has kernels for these, the convolution
// opens a launch that others join.
#include <algorithm>
#include <numeric>

#include "compiler/fuse/domain.h"
#include "compiler/fuse/rules.h"
#include "compiler/kernel_ir.h"

namespace kb {
namespace {

constexpr int64_t kLeastColumns = 16;  // that a tile has
constexpr int64_t kVectorBytes = 16;
constexpr int64_t kTile = 128;  // rows and columns of a tile

bool all_are(const Ints& values, int64_t number) {
  return std::ranges::all_of(values, [&](int64_t value) { return value == number; });
}

// Returns whether rows of a value begin at multiples of what a copy moves at once.
bool has_whole_rows(const Memory& memory, Value v, int64_t row) {
  return row % ir::kCopiedElements == 0 && memory.owner(v).offset % kVectorBytes == 0;
}

bool has_one_tap(const Node& node, const Type& filters) {
  const Attrs& attrs = node.attrs;
  return attrs.integer("groups") == 1 && all_are(attrs.ints("stride"), 1) && all_are(attrs.ints("padding"), 0) &&
         filters.elements() == attrs.integer("block_in", 0) * attrs.integer("block_out", 0);
}

// Multiplications and additions for each byte that is moved, up to which memory bounds a product at half of an H100's
// rate of products: then what reads its result costs nothing. Beyond it the library's instructions are faster.
constexpr int64_t kMostIntensity = 128;

// Returns whether the model picks a product of `rows` x `depth` by `depth` x `columns`: one that memory bounds, with a
// tile for every multiprocessor.
bool model_picks(int64_t rows, int64_t depth, int64_t columns, const Target& target) {
  const int64_t tiles = rows * columns / (kTile * kTile);
  return depth * columns <= kMostIntensity * (depth + columns) && tiles >= target.processors;
}

bool is_picked(const Graph& graph, const Node& node, const Target& target) {
  if (target.products != Products::picked) return target.products == Products::all;
  const std::optional<bool> measured = target.library ? target.library->own_product(graph, node) : std::nullopt;
  const int64_t depth = graph.type(node.inputs[0]).shape.back(), columns = node.type().shape.back();
  return measured.value_or(model_picks(node.type().elements() / columns, depth, columns, target));
}

}  // namespace

bool is_product(const Memory& memory, int32_t n, const Target& target) {
  const Graph& graph = memory.graph;
  const Node& node = graph.nodes[static_cast<size_t>(n)];
  if (target.products == Products::none || (node.op != Op::conv2d && node.op != Op::conv2d_input_grad)) return false;
  const DType dtype = node.type().dtype;
  const bool low =
      is_low_precision(dtype) && graph.type(node.inputs[0]).dtype == dtype && graph.type(node.inputs[1]).dtype == dtype;
  // `block_in` and `block_out` are all channels where images have their channels last.
  const int64_t depth = graph.type(node.inputs[0]).shape.back(), columns = node.type().shape.back();
  return low && has_one_tap(node, graph.type(node.inputs[1])) && columns >= kLeastColumns &&
         has_whole_rows(memory, node.inputs[0], depth) &&
         has_whole_rows(memory, node.inputs[1], node.op == Op::conv2d ? depth : columns) &&
         columns % ir::kCopiedElements == 0 && is_picked(graph, node, target);
}

// The node has to read the product's result. It may add up whole columns of it, over all pixels of all samples.
bool joins_product(const Joining& joining) {
  if (!joining.inside.meets_group || !joining.reduces()) return joining.inside.meets_group;
  const auto pixels = std::ssize(joining.domain()) - 1;
  Ints axes(static_cast<size_t>(pixels));
  std::iota(axes.begin(), axes.end(), 0);
  return reduced_axes(joining.node()) == axes;
}

}  // namespace kb
