// aligned_operands: takes a graph in physical layouts; leaves one in which whatever a GPU's library reads begins at a
// multiple of 16 bytes, which its calls are planned for. A slice of a variable or an input that begins elsewhere is
// computed: a launch copies it. The pass stands after tables, whose constants are slices too, and before the graph is
// cut and fused, where slices become views.
#include "compiler/passes/passes.h"
#include "compiler/views.h"

namespace kb {
namespace {

// Returns the number of the slice that the value is, or is a view of.
int32_t slice_behind(const Graph& graph, Value value) {
  while (graph.node(value).op != Op::slice) value = graph.node(value).inputs.at(0);
  return value.node;
}

}  // namespace

Graph aligned_operands(Graph graph, CompileState& state) {
  if (state.options.target.processor != Processor::gpu) return graph;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (info(graph.nodes[n].op).cls != OpClass::library) continue;
    for (const Value input : graph.nodes[n].inputs)
      if (resolve_alias(graph, input).offset % kGpuVectorBytes != 0)
        graph.nodes[static_cast<size_t>(slice_behind(graph, input))].attrs.set(kComputed, int64_t{1});
  }
  return graph;
}

}  // namespace kb
