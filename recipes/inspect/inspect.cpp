#include "recipes/inspect/inspect.h"

#include <fmt/format.h>
#include <algorithm>
#include <set>
#include <string>

#include "recipes/inspect/parameter_table.h"
#include "recipes/perf/memory_answer.h"

namespace kb {
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

}  // namespace kb
