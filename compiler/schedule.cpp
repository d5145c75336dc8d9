#include "compiler/schedule.h"

namespace kb {

int32_t Step::reduction() const {
  if (const auto* exchange = std::get_if<ExchangeStart>(&work)) return exchange->reduction;
  const auto* wait = std::get_if<ExchangeWait>(&work);
  return wait ? wait->reduction : -1;
}

const ir::Kernel* Schedule::kernel_of(const Step& step) const {
  const KernelLaunch* launch = step.launch();
  return launch && launch->kernel >= 0 ? &kernels[static_cast<size_t>(launch->kernel)] : nullptr;
}

}  // namespace kb
