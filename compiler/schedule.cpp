#include "compiler/schedule.h"

#include <algorithm>

namespace kb {

int32_t Step::reduction() const {
  if (const ExchangeStart* begun = start()) return begun->number;
  const auto* wait = std::get_if<ExchangeWait>(&work);
  return wait ? wait->number : -1;
}

const ir::Kernel* Schedule::kernel_of(const Step& step) const {
  const KernelLaunch* launch = step.launch();
  return launch && launch->kernel >= 0 ? &kernels[static_cast<size_t>(launch->kernel)] : nullptr;
}

int64_t arena_bytes(const Program& program) {
  int64_t bytes = 0;
  for (const Schedule* schedule : program.all()) bytes = std::max(bytes, schedule->arena_bytes);
  return bytes;
}

}  // namespace kb
