#include "recipes/inspect/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <set>
#include <vector>

#include "recipes/perf/memory_answer.h"
#include "runtime/json.h"

namespace kb {
namespace {

// Columns that a narrow table leaves out, in this order: the rule of the initial values, the role, the values.
struct ParameterColumns {
  bool has_rule = true, has_role = true, has_values = true;
};
constexpr ParameterColumns kFromWideToNarrow[] = {
    {}, {.has_rule = false}, {.has_rule = false, .has_role = false}, {false, false, false}};

// Returns "he_normal(fan_out): N(0, 0.0589^2)": the rule, if a layer noted it, and the numbers that followed from it.
std::string initial_text(const Init& init, bool has_rule) {
  const std::string rule = init.rule.empty() || !has_rule ? "" : fmt::format("{}: ", init.rule);
  switch (init.kind) {
    case InitKind::constant:
      return fmt::format("{}{:.3g}", rule, init.a);
    case InitKind::normal:
      return fmt::format("{}N({:.3g}, {:.3g}^2)", rule, init.a, init.b);
    case InitKind::truncated_normal:
      return fmt::format("{}N({:.3g}, {:.3g}^2) within two deviations", rule, init.a, init.b);
    case InitKind::orthogonal:
      return fmt::format("{}orthonormal x {:.3g}", rule, init.b);
    case InitKind::uniform:
      return fmt::format("{}U({:.3g}, {:.3g})", rule, init.a, init.b);
    case InitKind::runs:
      return "values of its own";
  }
  throw InternalError("an initial value of no kind");
}

// Returns the rows from the model's input to its loss. The space is in the reverse order, that in which gradients are
// ready.
std::vector<std::string> parameter_rows(const ParameterSpace& space, const ParameterColumns& columns) {
  size_t name_width = 9, shape_width = 5;
  for (const Segment& segment : space.segments) {
    name_width = std::max(name_width, segment.name.size());
    shape_width = std::max(shape_width, shape_text(segment.type).size());
  }
  const bool has_rates = std::ranges::any_of(space.segments, [](const Segment& segment) { return segment.rate != 1; });
  const auto row = [&](std::string_view name, std::string_view shape, std::string_view role, const auto& count,
                       const std::string& rate, const std::string& initial) {
    return fmt::format("{:<{}}  {:<{}}{}  {:>9}{}{}", name, name_width, shape, shape_width,
                       columns.has_role ? fmt::format("  {:<10}", role) : "", count,
                       has_rates ? fmt::format("  {:>6}", rate) : "", columns.has_values ? "  " + initial : "");
  };
  std::vector<std::string> rows = {row("parameter", "shape", "role", "elements", "rate", "initial values")};
  for (auto segment = space.segments.rbegin(); segment != space.segments.rend(); ++segment)
    rows.push_back(row(segment->name, shape_text(segment->type), name(segment->role), segment->length,
                       fmt::format("x {:.3g}", segment->rate), initial_text(segment->init, columns.has_rule)));
  return rows;
}

size_t widest(const std::vector<std::string>& rows) {
  size_t columns = 0;
  for (const std::string& row : rows) columns = std::max(columns, row.size());
  return columns;
}

}  // namespace

std::string parameter_lines(const ParameterSpace& space, int columns) {
  std::vector<std::string> rows;
  for (const ParameterColumns& wanted : kFromWideToNarrow) {
    rows = parameter_rows(space, wanted);
    if (widest(rows) <= static_cast<size_t>(columns)) break;
  }
  int64_t elements = 0;
  for (const Segment& segment : space.segments) elements += segment.length;
  return fmt::format("{}\n{} parameters of {} elements\n", fmt::join(rows, "\n"), space.segments.size(), elements);
}

namespace {

std::string pass_lines(const Compiled& compiled) {
  std::string text = fmt::format("{:<24} {:>9}  {:>15}\n", "pass", "ms", "nodes");
  for (const PassReport& pass : compiled.passes) {
    std::string nodes = pass.nodes_before == pass.nodes_after
                            ? fmt::format("{}", pass.nodes_after)
                            : fmt::format("{} -> {}", pass.nodes_before, pass.nodes_after);
    text += fmt::format("{:<24} {:>9.2f}  {:>15}{}\n", pass.name, pass.milliseconds, nodes,
                        pass.changed ? "" : "  (unchanged)");
  }
  return text;
}

std::string recomputed_text(const Compiled& compiled) {
  const size_t count = compiled.recomputed.size();
  return count == 0 ? "" : fmt::format("\n  {} activations are computed again to save memory", count);
}

// How many nodes, steps, launches and kernels a program has.
struct ProgramTotals {
  size_t nodes = 0, steps = 0, launches = 0, distinct_kernels = 0;
};

ProgramTotals program_totals(const Program& program) {
  ProgramTotals t;
  std::set<std::string> kernels;
  for (const Schedule* schedule : program.all()) {
    t.nodes += schedule->graph->nodes.size();
    t.steps += schedule->steps.size();
    t.launches += static_cast<size_t>(std::count_if(schedule->steps.begin(), schedule->steps.end(),
                                                    [](const Step& s) { return s.launch() != nullptr; }));
    for (const ir::Kernel& kernel : schedule->kernels) kernels.insert(kernel.name);
  }
  t.distinct_kernels = kernels.size();
  return t;
}

std::string program_text(const Compiled& compiled, int columns) {
  const Program& program = compiled.program;
  const ProgramTotals t = program_totals(program);
  return parameter_lines(compiled.space, columns) + "\n" + pass_lines(compiled) + schedule_lines(program, columns) +
         "\n" + to_text(memory_answer(compiled)) + recomputed_text(compiled) + "\n" + peak_lines(program, columns) +
         fmt::format("\n{} nodes, {} steps, {} launches of {} distinct kernels\ngraph {}\n", t.nodes, t.steps,
                     t.launches, t.distinct_kernels, compiled.graph_hash);
}

}  // namespace

std::string inspection_text(const Compiled& compiled, const LoadReport& load, int columns) {
  return program_text(compiled, columns) +
         fmt::format(
             "compiled in {:.1f} ms, kernels in {:.1f} ms ({} compiled, {} from the cache),\nlibrary in {:.1f} ms\n",
             compiled.milliseconds, load.jit_milliseconds, load.compiled, load.cache_hits, load.library_milliseconds);
}

std::string inspection_text(const Compiled& compiled, const DeviceKernels& kernels, int columns) {
  return program_text(compiled, columns) + fmt::format("compiled in {:.1f} ms\n", compiled.milliseconds) +
         to_text(kernels);
}

namespace {

Json program_json(const Compiled& compiled) {
  const ProgramTotals t = program_totals(compiled.program);
  const MemoryAnswer memory = memory_answer(compiled);
  return {{"nodes", t.nodes},
          {"steps", t.steps},
          {"launches", t.launches},
          {"distinct_kernels", t.distinct_kernels},
          {"peak_bytes", memory.arena},
          {"liveness_bound_bytes", memory.liveness_bound},
          {"parameter_bytes", memory.parameters},
          {"optimizer_bytes", memory.optimizer},
          {"total_bytes", memory.total()},
          {"recomputed", compiled.recomputed.size()},
          {"compile_ms", compiled.milliseconds}};
}

}  // namespace

std::string inspection_json(const Compiled& compiled, const LoadReport& load) {
  Json object = program_json(compiled);
  object["jit_ms"] = load.jit_milliseconds;
  object["library_ms"] = load.library_milliseconds;
  object["cache_hits"] = load.cache_hits;
  object["kernels_compiled"] = load.compiled;
  object["graph_hash"] = compiled.graph_hash;
  return object.dump();
}

std::string inspection_json(const Compiled& compiled, const DeviceKernels& kernels, const StepModel* model) {
  Json object = program_json(compiled);
  if (!kernels.compiler.empty()) {
    object["nvrtc"] = kernels.compiler;
    object["nvrtc_ms"] = kernels.cost.jit_milliseconds;
    object["registers_max"] = kernels.registers_max();
    object["spill_bytes"] = kernels.spill_bytes();
    object["cache_hits"] = kernels.cost.cache_hits;
    object["kernels_compiled"] = kernels.cost.compiled;
  } else {
    object["not_compiled"] = kernels.missing;
  }
  if (model) {
    object["predicted_ms"] = model->milliseconds();
    object["predicted_generated_ms"] = model->generated_ms;
    object["predicted_library_ms"] = model->library_ms;
    object["generated_bytes"] = model->generated_bytes;
    object["library_bytes"] = model->library_bytes;
  }
  object["graph_hash"] = compiled.graph_hash;
  return object.dump();
}

}  // namespace kb
