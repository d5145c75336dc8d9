// A convolution of one tap and stride 1, over images with their channels last, is a product of matrices: pixels times
// filters, gradients of pixels times transposed filters, or, for the gradient of filters, transposed gradients of
// pixels times pixels. Where the target has kernels for these, the convolution opens a launch that others join.
#include <algorithm>
#include <numeric>

#include "compiler/fuse/domain.h"
#include "compiler/fuse/rules.h"
#include "compiler/kernel_ir.h"

namespace kb {
namespace {

constexpr int64_t kLeastColumns = 16;  // that a tile has
constexpr int64_t kTile = 128;         // rows and columns of a tile
// Most results of sums over one column: block storage has room for them beside the matrices, also where a block has
// 99 KB of it, and for the two blocks that share a multiprocessor of sm_90.
constexpr size_t kMostSums = 5;

// Returns the number of a node's results that are sums, or other reductions.
size_t sums_of(const Node& node) { return info(node.op).cls == OpClass::reduction ? node.outputs.size() : 0; }

bool all_are(const Ints& values, int64_t number) {
  return std::ranges::all_of(values, [&](int64_t value) { return value == number; });
}

// Returns whether rows of a value begin at multiples of what a copy moves at once.
bool has_whole_rows(const Graph& graph, Value v) {
  return graph.type(v).shape.back() % ir::kCopiedElements == 0 && resolve_alias(graph, v).offset % kGpuVectorBytes == 0;
}

bool has_one_tap(const Node& node, const Type& filters) {
  const Attrs& attrs = node.attrs;
  return attrs.integer("groups") == 1 && all_are(attrs.ints("stride"), 1) && all_are(attrs.ints("padding"), 0) &&
         filters.elements() == attrs.integer("block_in", 0) * attrs.integer("block_out", 0);
}

// Operations of a GPU's library for each byte that is copied in the same time: a little less than an H100's.
constexpr double kLibraryBalance = 234;

// Returns whether the model picks a product of `rows` x `depth` by `depth` x `columns`: if it takes no longer than the
// memory for its matrices and for the result once more, which a launch behind a library call reads again; and if there
// is a tile for every multiprocessor.
bool model_picks(int64_t rows, int64_t depth, int64_t columns, const Target& target) {
  constexpr int64_t kElementBytes = 2;
  const int64_t row_operations = 2 * depth * columns, row_bytes = kElementBytes * (depth + 2 * columns);
  const double balance = own_multiply_share(target.warpgroups) * kLibraryBalance;
  return static_cast<double>(row_operations) <= balance * static_cast<double>(row_bytes) &&
         rows * columns / (kTile * kTile) >= target.processors;
}

Multiplier own(const Target& target) { return target.warpgroups ? Multiplier::warpgroups : Multiplier::warps; }

Multiplier picked(const Graph& graph, const Node& node, const Target& target) {
  if (target.products == Products::all) return own(target);
  const auto measured = target.library ? target.library->multiplier(graph, node) : std::nullopt;
  if (measured || node.op == Op::conv2d_weight_grad)  // a gradient of filters saves no pass over memory
    return measured.value_or(Multiplier::library);
  const int64_t depth = graph.type(node.inputs[0]).shape.back(), columns = node.type().shape.back();
  return model_picks(node.type().elements() / columns, depth, columns, target) ? own(target) : Multiplier::library;
}

bool is_product(const Graph& graph, const Node& node) {
  const bool weights = node.op == Op::conv2d_weight_grad;
  if (!(weights || node.op == Op::conv2d || node.op == Op::conv2d_input_grad)) return false;
  const Value first = node.inputs[0], second = node.inputs[1];
  const DType dtype = graph.type(first).dtype;
  const bool low =
      is_low_precision(dtype) && graph.type(second).dtype == dtype && (weights || node.type().dtype == dtype);
  // Each matrix lies by rows of its last extent, which has all channels where images have their channels last.
  const int64_t columns = node.type().shape.back();
  return low && has_one_tap(node, weights ? node.type() : graph.type(second)) && columns >= kLeastColumns &&
         columns % ir::kCopiedElements == 0 && has_whole_rows(graph, first) && has_whole_rows(graph, second);
}

}  // namespace

Multiplier multiplier_of(const Graph& graph, const Node& node, const Target& target) {
  if (target.products == Products::none || !is_product(graph, node)) return Multiplier::library;
  return picked(graph, node, target);
}

bool is_wide_filter_gradient(const Graph& graph, const Node& node) {
  return node.op == Op::conv2d_weight_grad && is_low_precision(graph.type(node.inputs[0]).dtype) &&
         node.type().dtype == DType::f32;
}

// The node has to read the product's result. It may add up whole columns of it, over all pixels of all samples.
bool joins_product(const Joining& joining) {
  if (!joining.inside.meets_group || !joining.reduces()) return joining.inside.meets_group;
  if (joining.drafts.node(joining.into.group.product).op == Op::conv2d_weight_grad) return false;
  const auto pixels = std::ssize(joining.domain()) - 1;
  Ints axes(static_cast<size_t>(pixels));
  std::iota(axes.begin(), axes.end(), 0);
  size_t sums = sums_of(joining.node());
  for (const int32_t seed : joining.into.seeds) sums += sums_of(joining.drafts.node(seed));
  return reduced_axes(joining.node()) == axes && sums <= kMostSums;
}

}  // namespace kb
