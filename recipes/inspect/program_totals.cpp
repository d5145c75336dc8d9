#include "recipes/inspect/program_totals.h"

#include <algorithm>
#include <set>
#include <string>

namespace kb {

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
