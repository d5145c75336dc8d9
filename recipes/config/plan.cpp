#include "recipes/config/plan.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

namespace kb {

Flags with_absolute_paths(Flags flags) {
  for (std::string* path : {&flags.data, &flags.init})
    if (!path->empty() && *path != kNoise) *path = std::filesystem::absolute(*path).lexically_normal().string();
  return flags;
}

BatchPlan batch_plan(const Flags& flags) {
  return make_batch_plan(flags.minibatch, flags.per_worker, flags.processes, flags.batch_norm);
}

Flags with_plan(Flags flags) {
  flags.per_worker = batch_plan(flags).per_worker;
  flags.batch_norm = {};
  return flags;
}

int64_t bucket_bytes(double megabytes) {
  constexpr double kUsualMb = 25;
  return std::llround(1e6 * (megabytes > 0 ? megabytes : kUsualMb));
}

RunPlan make_plan(const Flags& flags, int64_t samples) {
  if (flags.minibatch > samples)
    throw Error(fmt::format("--minibatch: expected at most the {} samples of {}, got {}", samples, flags.dataset,
                            flags.minibatch));
  const int64_t n = batch_plan(flags).per_worker;
  if (flags.recompute_bn > samples / n)
    throw Error(
        fmt::format("--recompute-bn: expected at most {} minibatches of {}, which the {} samples of {} hold, got {}",
                    samples / n, n, samples, flags.dataset, flags.recompute_bn));
  RunPlan plan{samples, flags.minibatch, samples / flags.minibatch, flags.steps};
  if (plan.steps == 0) plan.steps = flags.epochs * plan.steps_per_epoch;
  return plan;
}

std::string RunPlan::derivation(const Flags& flags) const {
  std::string text = fmt::format("{} samples / {} = {} steps an epoch", samples, minibatch, steps_per_epoch);
  if (int64_t rest = samples % minibatch; rest > 0) text += fmt::format(" ({} left out, others each time)", rest);
  if (flags.steps > 0) return text + fmt::format("; --steps {} = {:.3g} epochs", steps, epochs(steps));
  return text + fmt::format("; x {} epochs = {} steps", flags.epochs, steps);
}

}  // namespace kb
