#include "recipes/train/program_dumps.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/print/cpp.h"
#include "compiler/print/cuda.h"
#include "graph/text.h"

namespace kb {
namespace {

// Returns every distinct kernel once, after a comment that names the steps that run it.
std::string kernel_source(const Program& program, const Target& target) {
  const int width = vector_bytes(target.isa);
  const bool cpu = target.processor == Processor::cpu;
  std::string text = cpu ? cpp_prelude(width) : cuda_prelude();
  std::set<std::string> printed;
  for (const Schedule* schedule : program.all())
    for (size_t k = 0; k < schedule->kernels.size(); ++k) {
      const ir::Kernel& kernel = schedule->kernels[k];
      if (!printed.insert(kernel.name).second) continue;
      text += fmt::format("\n// {}", kernel.kind);
      for (const Step& step : schedule->steps)
        if (schedule->kernel_of(step) == &kernel) text += fmt::format("; {}", step.name);
      text += "\n" + (cpu ? print_cpp(kernel, width) : print_cuda(kernel));
    }
  return text;
}

}  // namespace

void Dumps::graph(const std::string& name, const Graph& graph) {
  if (wants(Dump::graph)) files_.push_back({"graph." + name + ".txt", to_text(graph, {.places = true})});
  if (wants(Dump::graphviz)) files_.push_back({"graph." + name + ".dot", to_graphviz(graph)});
}

void Dumps::hook(const std::string& name, CompileOptions& options) {
  if (!wants(Dump::passes)) return;
  options.dump = [this, name, number = 0](const std::string& pass, const std::string& before,
                                          const std::string& after) mutable {
    std::string stem = fmt::format("passes.{}.{:02}-{}", name, ++number, pass);
    files_.push_back({stem + ".before.txt", before, name, true});
    files_.push_back({stem + ".after.txt", after, name, true});
  };
}

void Dumps::compiled(const std::string& name, const Program& program, const Target& target) {
  if (wants(Dump::schedule)) {
    std::string text;
    for (const Schedule* schedule : program.all())
      if (!schedule->steps.empty()) text += to_text(*schedule);
    files_.push_back({"schedule." + name + ".txt", std::move(text)});
  }
  const bool cpu = target.processor == Processor::cpu;
  if (wants(cpu ? Dump::cpp : Dump::cuda))
    files_.push_back({"kernels." + name + (cpu ? ".cpp" : ".cu"), kernel_source(program, target)});
}

bool Dumps::wants(Dump what) const { return std::find(asked_.begin(), asked_.end(), what) != asked_.end(); }

}  // namespace kb
