#include "runtime/cpu/library_plan.h"

#include "graph/error.h"

namespace kb {

std::unique_ptr<LibraryOp> plan_library(LibraryContext& context, const Graph& graph, const Node& node,
                                        const Epilogue& epilogue, int shards) {
  ensure(node.op != Op::flash_attention && node.op != Op::flash_attention_grad,
         "flash attention: a CPU's programs have the composite");
  if (node.op == Op::matmul) return plan_matmul(context, matmul_spec(graph, node, epilogue), shards);
  const ConvSpec spec = conv_spec(graph, node, epilogue);
  if (node.op == Op::pack_weights) return plan_pack_weights(context, spec);
  return plan_conv(context, spec, shards);
}

}  // namespace kb
