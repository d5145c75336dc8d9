#include "compiler/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "compiler/build_schedule.h"
#include "compiler/check_passes.h"
#include "compiler/cut.h"
#include "compiler/fuse.h"
#include "compiler/order.h"
#include "compiler/plan_memory.h"
#include "compiler/tables.h"
#include "graph/text.h"

namespace kb {
namespace {

constexpr double kMemoryShare = 0.9;  // of a device's memory; the driver and libraries take some

struct PassRow {
  const char* name;
  Pass function;
};

// The table of contents of the compiler. Behind these rows: cut > fuse > order > lower > plan_memory > print.
constexpr PassRow kGraphPasses[] = {
    {"differentiate", differentiate}, {"add_optimizer", add_optimizer},       {"simplify", simplify},
    {"precision", apply_precision},   {"space_to_depth", space_to_depth},     {"layout", apply_layout},
    {"recompute", recompute},         {"place_all_reduce", place_all_reduce},
};

class Clock {
 public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Graph run_pass(const PassRow& row, Graph graph, CompileState& state, std::vector<PassReport>& reports) {
  const CompileOptions& options = state.options;
  bool looks = options.check_passes || options.dump;
  Graph before = looks ? graph : Graph();
  PassReport report{row.name, 0, graph.nodes.size(), 0, true};
  Clock clock;
  Graph after = row.function(std::move(graph), state);
  verify(after);
  report.milliseconds = clock.milliseconds();
  report.nodes_after = after.nodes.size();
  if (looks)
    report.changed = content_hash(before) != content_hash(after);
  else
    report.changed = report.nodes_before != report.nodes_after;
  if (options.dump) options.dump(row.name, to_text(before, {true}), to_text(after, {true}));
  if (options.check_passes && report.changed) check_pass(row.name, before, after, state);
  reports.push_back(std::move(report));
  return after;
}

Schedule build_program(Graph graph, const CompileOptions& options, std::vector<PassReport>& reports) {
  auto shared = std::make_shared<const Graph>(std::move(graph));
  auto timed = [&](const char* pass, auto work) {
    Clock clock;
    auto result = work();
    reports.push_back({fmt::format("{} {}", pass, shared->name), clock.milliseconds(), shared->nodes.size(),
                       shared->nodes.size(), true});
    return result;
  };
  std::vector<Group> groups = timed("fuse", [&] { return fuse(*shared, options.target); });
  Ordered ordered = timed("order", [&] { return order(*shared, std::move(groups)); });
  Schedule schedule = timed("lower", [&] { return build_schedule(shared, ordered, options.target); });
  timed("plan_memory", [&] { return plan_memory(schedule, options.target.redzone_bytes), verify(schedule), 0; });
  return schedule;
}

void collect_variables(const Graph& graph, std::set<std::string>& known, std::vector<Variable>& variables) {
  for (const Variable& variable : graph.variables)
    if (variable.kind != VariableKind::partial && known.insert(variable.name).second) variables.push_back(variable);
}

}  // namespace

Graph run_graph_passes(Graph graph, CompileState& state, std::vector<PassReport>& reports) {
  verify(graph);
  for (const PassRow& row : kGraphPasses) graph = run_pass(row, std::move(graph), state, reports);
  return graph;
}

namespace {

Compiled compile_once(Graph graph, const CompileOptions& options) {
  Clock clock;
  Compiled result;
  result.graph_hash = content_hash(graph);
  CompileState state{options, options.space ? *options.space : ParameterSpace{}, {}};
  Graph rewritten = run_graph_passes(std::move(graph), state, result.passes);
  Cut parts = cut(constants_to_tables(rewritten), options.target, options.workers);
  result.workers = options.workers;
  std::set<std::string> known;
  for (const Graph* part : {&parts.prepare, &parts.micro, &parts.final})
    collect_variables(*part, known, result.variables);
  const std::vector<Variable> partial = partial_variables(parts, options.workers);
  result.variables.insert(result.variables.end(), partial.begin(), partial.end());
  Program& program = result.program;
  program.prepare = build_program(std::move(parts.prepare), options, result.passes);
  program.micro = build_program(std::move(parts.micro), options, result.passes);
  program.carry = build_program(std::move(parts.carry), options, result.passes);
  program.final = build_program(std::move(parts.final), options, result.passes);
  result.space = std::move(state.space);
  result.recomputed = std::move(state.recomputed);
  result.milliseconds = clock.milliseconds();
  return result;
}

// Memory of the device that the programs fill: variables, the arena, and inputs in two slots.
int64_t device_bytes(const Compiled& compiled) {
  int64_t bytes = 0, arena = 0;
  std::set<std::string> inputs;  // programs share them
  for (const Variable& variable : compiled.variables) bytes += std::max(variable.bytes, variable.type.bytes());
  for (const Schedule* schedule : compiled.program.all()) {
    arena = std::max(arena, schedule->arena_bytes);
    for (const Buffer& buffer : schedule->buffers)
      if (buffer.kind == BufferKind::input && inputs.insert(buffer.name).second) bytes += 2 * buffer.bytes;
  }
  return bytes + arena;
}

}  // namespace

// The plan that keeps everything is made first, for it alone tells whether that fits.
Compiled compile(Graph graph, const CompileOptions& options) {
  const int64_t memory = options.target.memory_bytes;
  if (!options.recompute || memory == 0) return compile_once(std::move(graph), options);
  CompileOptions keeping = options;
  keeping.recompute = false;
  keeping.dump = nullptr;
  Compiled kept = compile_once(graph, keeping);
  const bool fits = static_cast<double>(device_bytes(kept)) <= kMemoryShare * static_cast<double>(memory);
  if (fits && !options.dump) return kept;
  keeping.dump = options.dump;
  return compile_once(std::move(graph), fits ? keeping : options);
}

}  // namespace kb
