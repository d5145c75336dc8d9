#include "recipes/kernel_source.h"

#include <fmt/format.h>

#include <set>

#include "compiler/print_cpp.h"

namespace kb {

std::string kernel_source(const Program& program, const Target& target) {
  const int width = vector_bytes(target.isa);
  std::string text = cpp_prelude(width);
  std::set<std::string> printed;
  for (const Schedule* schedule : {&program.prepare, &program.final})
    for (size_t k = 0; k < schedule->kernels.size(); ++k) {
      const ir::Kernel& kernel = schedule->kernels[k];
      if (!printed.insert(kernel.name).second) continue;
      text += fmt::format("\n// {}", kernel.kind);
      for (const Step& step : schedule->steps)
        if (step.kernel == static_cast<int32_t>(k)) text += fmt::format("; {}", step.name);
      text += "\n" + print_cpp(kernel, width);
    }
  return text;
}

}  // namespace kb
