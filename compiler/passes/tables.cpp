// tables: takes a graph with constants of any size; leaves one in which every constant with more than one number is a
// table variable "constant.N": data in memory, which kernels read instead of spelling it out. It stands after all
// passes that look at a constant's numbers.
#include <fmt/format.h>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace kb {
namespace {

Variable table_of(const Node& constant, size_t number) {
  Variable table;
  table.name = fmt::format("constant.{}", number);
  table.type = constant.type();
  table.kind = VariableKind::table;
  table.init.kind = InitKind::runs;
  for (double value : constant.attrs.reals("values")) table.values.insert(table.values.end(), {1.0, value});
  return table;
}

}  // namespace

Graph constants_to_tables(Graph graph, CompileState&) {
  Rewriter rewriter(graph);
  size_t tables = 0;
  for (int32_t n = 0; n < graph.size(); ++n) {
    const Node& node = graph.node(n);
    if (node.op == Op::constant && node.attrs.reals("values").size() > 1)
      rewriter.replace({n, 0}, rewriter.to().add_variable(table_of(node, tables++)));
    else
      rewriter.copy(n);
  }
  return rewriter.finish();
}

}  // namespace kb
