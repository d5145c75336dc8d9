#include "recipes/train/fit.h"

#include <fmt/format.h>

#include <cmath>

#include "recipes/config/plan.h"
#include "recipes/perf/memory_answer.h"
#include "recipes/train/programs.h"

namespace kb {
namespace {

constexpr double kBytesOfGigabyte = 1e9;

struct Taken {
  int64_t bytes = 0, recomputed = 0;
};

// The largest first.
std::vector<int64_t> divisors(int64_t number) {
  std::vector<int64_t> result;
  for (int64_t d = number; d >= 1; --d)
    if (number % d == 0) result.push_back(d);
  return result;
}

}  // namespace

Target run_target(const RunConfig& config, Target target) {
  if (config.arithmetic.memory > 0) target.memory_bytes = run_memory(config, 0);
  return target;
}

int64_t run_memory(const RunConfig& config, int64_t device_bytes) {
  return config.arithmetic.memory > 0 ? static_cast<int64_t>(config.arithmetic.memory * kBytesOfGigabyte)
                                      : device_bytes;
}

void check_memory(const Programs& programs, const RunConfig& config) {
  const int64_t bytes = total_memory(all_of(programs)), most = run_memory(config, bytes);
  if (bytes <= most) return;
  const size_t again = programs.training.recomputed.size();
  throw Error(fmt::format(
      "--memory {}: expected programs of at most {}, got {}{}\n  hint:     --memory {}; or a smaller --per-worker, of "
      "which --fit chooses the largest that the memory takes",
      config.arithmetic.memory, bytes_text(most), bytes_text(bytes),
      again > 0 ? fmt::format(", {} activations computed again", again) : "",
      std::ceil(100 * static_cast<double>(bytes) / kBytesOfGigabyte) / 100));
}

Fit fit_per_worker(const Task& task, const RunConfig& config, const Target& target, const Residency& residency,
                   int64_t memory) {
  const auto most = static_cast<int64_t>(kFitShare * static_cast<double>(memory));
  const auto taken_with = [&](int64_t n) -> Taken {
    RunConfig one = config;
    one.batch.per_worker = n;
    one.looking.dump.clear();
    const Programs programs = compile_programs(task, one, target, residency);
    return {total_memory(all_of(programs)), std::ssize(programs.training.recomputed)};
  };
  if (config.batch.minibatch % config.machine.processes != 0) batch_plan(config);  // throws what is wrong
  const std::vector<int64_t> sizes = divisors(config.batch.minibatch / config.machine.processes);
  // A smaller n may take more than a larger one whose activations are computed again: every n is looked at.
  size_t at = 0;
  Taken larger, taken = taken_with(sizes[at]);
  while (taken.bytes > most && at + 1 < sizes.size()) {
    larger = taken;
    taken = taken_with(sizes[++at]);
  }
  const std::string limit = fmt::format("{} of {}", bytes_text(most), bytes_text(memory));
  if (taken.bytes > most)
    throw Error(fmt::format("--fit: expected programs of at most {}, got {} with 1 sample a worker", limit,
                            bytes_text(taken.bytes)));
  Fit fit{sizes[at], taken.bytes, memory, taken.recomputed, ""};
  fit.text = fmt::format("fit: n = {} takes {} of at most {}{}", fit.per_worker, bytes_text(fit.bytes), limit,
                         fit.recomputed > 0 ? fmt::format(", {} activations are computed again", fit.recomputed) : "");
  if (at == 0)
    fit.text += "; it is the whole minibatch of a process";
  else
    fit.text += fmt::format("; n = {} takes {}", sizes[at - 1], bytes_text(larger.bytes));
  return fit;
}

}  // namespace kb
