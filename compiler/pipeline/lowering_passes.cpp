#include "compiler/pipeline/lowering_passes.h"

#include <fmt/format.h>

#include <iterator>
#include <unordered_set>

#include "compiler/fuse/fuse.h"
#include "compiler/schedule/build.h"
#include "compiler/schedule/plan_memory.h"
#include "compiler/views.h"
#include "graph/text.h"

namespace kb {
namespace {

std::string value_list(const std::vector<Value>& values) {
  std::string text;
  for (Value v : values) text += fmt::format("{}{}.{}", text.empty() ? "" : " ", v.node, v.out);
  return text;
}

std::string groups_text(const std::string& name, const std::vector<Group>& groups) {
  std::string text = fmt::format("groups {}\n", name);
  for (size_t g = 0; g < groups.size(); ++g)
    text += fmt::format("  g{} {} nodes {} ({} -> {})\n", g, traits(groups[g].cls).name,
                        fmt::join(groups[g].nodes, " "), value_list(groups[g].inputs), value_list(groups[g].outputs));
  return text;
}

}  // namespace

void fuse_program(ProgramState& program) { program.groups = fuse(*program.graph, program.options.target); }

void order_program(ProgramState& program) {
  program.ordered = order(*program.graph, std::exchange(program.groups, {}));
  verify_order(*program.graph, program.ordered.groups);
}

void lower_program(ProgramState& program) {
  program.schedule = build_schedule(program.graph, program.ordered, program.options.target);
}

void plan_program(ProgramState& program) {
  plan_memory(program.schedule, program.options.target.redzone_bytes);
  verify(program.schedule);
}

std::string to_text(const ProgramState& program) {
  if (!program.schedule.steps.empty()) return to_text(program.schedule);
  if (!program.ordered.groups.empty()) return groups_text(program.graph->name, program.ordered.groups);
  if (!program.groups.empty()) return groups_text(program.graph->name, program.groups);
  return to_text(*program.graph, {true});
}

void verify_order(const Graph& graph, const std::vector<Group>& groups) {
  std::unordered_set<Value, ValueHash> written;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (Value input : groups[g].inputs) {
      const Value owner = resolve_alias(graph, input).owner;
      const Op op = graph.node(owner).op;
      if (op == Op::variable || op == Op::input || written.contains(owner)) continue;
      throw InternalError(fmt::format("group {} of {} reads {}.{} before any group wrote it\n{}", g, graph.name,
                                      owner.node, owner.out, groups_text(graph.name, groups)));
    }
    written.insert(groups[g].outputs.begin(), groups[g].outputs.end());
  }
}

}  // namespace kb
