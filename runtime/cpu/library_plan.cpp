#include "runtime/cpu/library_plan.h"

namespace kb {

std::unique_ptr<LibraryOp> plan_library(LibraryContext& context, const Graph& graph, const Node& node,
                                        const Epilogue& epilogue, int shards) {
  if (node.op == Op::matmul) return plan_matmul(context, matmul_spec(graph, node, epilogue), shards);
  const ConvSpec spec = conv_spec(graph, node, epilogue);
  if (node.op == Op::pack_weights) return plan_pack_weights(context, spec);
  return plan_conv(context, spec, shards);
}

}  // namespace kb
