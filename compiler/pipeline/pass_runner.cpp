#include "compiler/pipeline/pass_runner.h"

#include <fmt/format.h>

#include "compiler/pipeline/check_passes.h"
#include "compiler/stopwatch.h"
#include "graph/text.h"

namespace kb {
namespace {

std::string cut_text(const Cut& parts) {
  std::string text;
  for (const CutPart& part : parts.parts) text += to_text(part.graph, {true});
  return text;
}

}  // namespace

Graph PassRunner::run(const PassRow& row, Pass pass, Graph graph) {
  const CompileOptions& options = state_.options;
  const bool looks = options.check_passes || options.dump;
  const Graph before = looks ? graph : Graph();
  PassReport report{row.name, 0, graph.nodes.size(), 0, true};
  const Stopwatch watch;
  Graph after = pass(std::move(graph), state_);
  verify(after);
  report.milliseconds = watch.milliseconds();
  report.nodes_after = after.nodes.size();
  report.changed = looks ? content_hash(before) != content_hash(after) : report.nodes_before != report.nodes_after;
  if (options.dump) options.dump(row.name, to_text(before, {true}), to_text(after, {true}));
  if (options.check_passes && report.changed) check_pass(row.name, before, after, state_);
  reports_.push_back(std::move(report));
  return after;
}

Cut PassRunner::run(const PassRow& row, CutPass pass, const Graph& graph) {
  PassReport report{row.name, 0, graph.nodes.size(), 0, true};
  const Stopwatch watch;
  Cut parts = pass(graph, state_.options);
  for (const CutPart& part : parts.parts) {
    verify(part.graph);
    report.nodes_after += part.graph.nodes.size();
  }
  report.milliseconds = watch.milliseconds();
  if (state_.options.dump) state_.options.dump(row.name, to_text(graph, {true}), cut_text(parts));
  reports_.push_back(std::move(report));
  return parts;
}

void PassRunner::run(const PassRow& row, ProgramPass pass, ProgramState& program) {
  const auto& dump = state_.options.dump;
  const std::string before = dump ? to_text(program) : "";
  const size_t nodes = program.graph->nodes.size();
  const Stopwatch watch;
  pass(program);
  reports_.push_back({fmt::format("{} {}", row.name, program.graph->name), watch.milliseconds(), nodes, nodes, true});
  if (dump) dump(fmt::format("{}.{}", row.name, program.graph->name), before, to_text(program));
}

}  // namespace kb
