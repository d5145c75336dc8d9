#include "recipes/train/kernel_source.h"

#include <fmt/format.h>

#include <set>

#include "compiler/print/cpp.h"
#include "compiler/print/cuda.h"

namespace kb {

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

}  // namespace kb
