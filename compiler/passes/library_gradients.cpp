// library_gradients: takes a graph in physical layouts, in which gradients of filters are f32; leaves in 16 bits those
// that a library gives so (Target::narrow_weight_gradients), each widened behind its call. Of cuDNN 9.19's 75 engines
// none gives f32 of bf16, for any of ResNet-50's shapes (tests/runtime/cuda/vendor); a CPU rounds behind its call, to
// the same. Gradients that a kernel of our own computes stay f32, as its sums are, so that nothing rounds them on their
// way to the sum over workers; where the update reads 16 bits they are 16 bits, too. The pass stands after layout,
// because layouts decide which gradients are products of ours, and before narrow_gradient.
#include "compiler/fuse/rules.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace kb {
namespace {

class LibraryGradients : Rewriter {
 public:
  LibraryGradients(const Graph& from, const CompileOptions& options) : Rewriter(from), options_(options) {}

  Graph run() {
    for (int32_t n = 0; n < from_.size(); ++n) {
      const Node& node = from_.node(n);
      is_rounded(node) ? round(n, node) : copy(n);
    }
    return finish();
  }

 private:
  bool is_rounded(const Node& node) const {
    if (!is_wide_filter_gradient(from_, node)) return false;
    return reads_narrow_gradients(options_) || multiplier_of(from_, node, options_.target) == Multiplier::library;
  }

  void round(int32_t n, const Node& node) {
    const DType low = from_.type(node.inputs[0]).dtype, wide = node.type().dtype;
    const Value rounded = options_.target.processor == Processor::gpu ? call(node, low) : cast(n, node, low);
    replace({n, 0}, add(node, Op::cast, {rounded}, {{"dtype", wide}}));
  }

  Value call(const Node& node, DType low) {
    Attrs attrs = node.attrs;
    attrs.set("dtype", low);
    return add(node, node.op, {map(node.inputs[0]), map(node.inputs[1])}, std::move(attrs));
  }

  Value cast(int32_t n, const Node& node, DType low) {
    copy(n);
    return add(node, Op::cast, {map({n, 0})}, {{"dtype", low}});
  }

  const CompileOptions& options_;
};

}  // namespace

Graph library_gradients(Graph graph, CompileState& state) {
  if (!state.options.target.narrow_weight_gradients) return graph;
  return LibraryGradients(graph, state.options).run();
}

}  // namespace kb
