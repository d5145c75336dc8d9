#include "compiler/pipeline/pipeline.h"

#include <algorithm>
#include <set>

#include "compiler/passes/worker_routines.h"
#include "compiler/stopwatch.h"
#include "graph/text.h"

namespace kb {
namespace {

constexpr double kMemoryShare = 0.9;  // share of a device's memory for programs; the driver and libraries take some

Cut cut_graph(const Graph& graph, const CompileOptions& options) { return cut(graph, options.target, options.workers); }

// This is the table of contents of the compiler. A graph goes through the rows up to the cut, and every program that
// the cut leaves goes through all rows after it. The runtime prints the kernels (print/cpp.h, print/cuda.h).
constexpr PassRow kPasses[] = {
    {"flash_attention", flash_attention},
    {"differentiate", differentiate},
    {"add_optimizer", add_optimizer},
    {"simplify", simplify},
    {"precision", apply_precision},
    {"space_to_depth", space_to_depth},
    {"align_rows", align_rows},
    {"layout", apply_layout},
    {"recompute", recompute},
    {"pack_masks", pack_masks},
    {"library_gradients", library_gradients},
    {"narrow_gradient", narrow_gradient},
    {"place_all_reduce", place_all_reduce},
    {"tables", constants_to_tables},
    {"aligned_operands", aligned_operands},
    {"pack_products", pack_products},
    {"cut", cut_graph},
    {"fuse", fuse_program},
    {"order", order_program},
    {"lower", lower_program},
    {"plan_memory", plan_program},
};

// Calls f(row, pass) for every row whose pass is of this kind.
template <class Kind, class F>
void for_each_pass(F&& f) {
  for (const PassRow& row : kPasses)
    if (const Kind* pass = std::get_if<Kind>(&row.function)) f(row, *pass);
}

Schedule schedule_of(CutPart part, PassRunner& runner, const CompileOptions& options) {
  ProgramState program{options, std::make_shared<const Graph>(std::move(part.graph)), {}, {}, {}};
  for_each_pass<ProgramPass>([&](const PassRow& row, ProgramPass pass) { runner.run(row, pass, program); });
  program.schedule.role = part.role;
  return std::move(program.schedule);
}

void collect_variables(const Graph& graph, std::set<std::string>& known, std::vector<Variable>& variables) {
  for (const Variable& variable : graph.variables)
    if (variable.kind != VariableKind::partial && known.insert(variable.name).second) variables.push_back(variable);
}

}  // namespace

Graph run_graph_passes(Graph graph, CompileState& state, std::vector<PassReport>& reports) {
  verify(graph);
  PassRunner runner(state, reports);
  for_each_pass<Pass>([&](const PassRow& row, Pass pass) { graph = runner.run(row, pass, std::move(graph)); });
  return graph;
}

Schedule compile_program(Graph graph, const CompileOptions& options) {
  CompileState state{options, {}, {}};
  std::vector<PassReport> reports;
  PassRunner runner(state, reports);
  return schedule_of({PartRole::final, std::move(graph)}, runner, options);
}

namespace {

Compiled compile_once(Graph graph, const CompileOptions& options) {
  const Stopwatch watch;
  Compiled result;
  result.graph_hash = content_hash(graph);
  CompileState state{options, options.space ? *options.space : ParameterSpace{}, {}};
  const Graph rewritten = run_graph_passes(std::move(graph), state, result.passes);
  PassRunner runner(state, result.passes);
  Cut parts;
  for_each_pass<CutPass>([&](const PassRow& row, CutPass pass) { parts = runner.run(row, pass, rewritten); });
  result.workers = options.workers;
  std::set<std::string> known;
  for (const CutPart& part : parts.parts) collect_variables(part.graph, known, result.variables);
  result.variables.insert(result.variables.end(), parts.partial_sums.begin(), parts.partial_sums.end());
  result.program.routines = std::move(parts.routines);
  result.program.of_worker = std::move(parts.of_worker);
  for (CutPart& part : parts.parts) result.program.parts.push_back(schedule_of(std::move(part), runner, options));
  result.space = std::move(state.space);
  result.recomputed = std::move(state.recomputed);
  result.milliseconds = watch.milliseconds();
  return result;
}

// Returns the bytes of the device's memory that the programs fill: variables, the arena, and the slots of every input.
int64_t device_bytes(const Compiled& compiled) {
  int64_t bytes = 0;
  std::set<std::string> inputs;  // programs share them
  for (const Variable& variable : compiled.variables) bytes += std::max(variable.bytes, variable.type.bytes());
  for (const Schedule* schedule : compiled.program.all()) {
    for (const Buffer& buffer : schedule->buffers)
      if (buffer.kind == BufferKind::input && inputs.insert(buffer.name).second)
        bytes += kInputSlots * lanes(compiled.program) * buffer.bytes;
  }
  return bytes + arena_bytes(compiled.program);
}

bool fits(const Compiled& compiled, const Target& target) {
  return static_cast<double>(device_bytes(compiled)) <= kMemoryShare * static_cast<double>(target.memory_bytes);
}

// The program that keeps every activation is compiled first, because only its memory plan tells whether it fits.
Compiled compile_to_fit(Graph graph, const CompileOptions& options) {
  if (!options.recompute || options.target.memory_bytes == 0) return compile_once(std::move(graph), options);
  CompileOptions keeping = options;
  keeping.recompute = false;
  keeping.dump = nullptr;
  Compiled kept = compile_once(graph, keeping);
  const bool whole = fits(kept, options.target);
  if (whole && !options.dump) return kept;
  keeping.dump = options.dump;
  return compile_once(std::move(graph), whole ? keeping : options);
}

}  // namespace

// Two workers side by side take a second arena, which must fit beside the first.
Compiled compile(Graph graph, const CompileOptions& options) {
  Compiled compiled = compile_to_fit(std::move(graph), options);
  if (options.target.processor != Processor::gpu) return compiled;
  const Routines alone = compiled.program;
  run_side_by_side(compiled.program);
  if (!fits(compiled, options.target)) static_cast<Routines&>(compiled.program) = alone;
  return compiled;
}

}  // namespace kb
