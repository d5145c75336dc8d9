#include "recipes/train/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "recipes/config/plan.h"
#include "recipes/perf/memory_answer.h"
#include "recipes/train/programs.h"

namespace kb {
namespace {

constexpr double kBytesOfGigabyte = 1e9;

struct Taken {
  int64_t bytes = 0, recomputed = 0;
};

// As program_lines (recipes/run/run_texts.h) tells it: programs share parameters and optimizer state.
Taken taken_by(const Programs& programs) {
  Taken taken{memory_answer(programs.training).total(), std::ssize(programs.training.recomputed)};
  const auto add = [&](const Compiled& compiled) {
    const MemoryAnswer answer = memory_answer(compiled);
    taken.bytes += answer.prepared + answer.data + answer.arena + answer.inputs;
  };
  add(programs.inference);
  for (const std::optional<Compiled>* other : {&programs.statistics, &programs.averaged})
    if (*other) add(**other);
  return taken;
}

std::vector<int64_t> divisors(int64_t number) {
  std::vector<int64_t> result;
  for (int64_t d = 1; d <= number; ++d)
    if (number % d == 0) result.push_back(d);
  return result;
}

}  // namespace

Target run_target(const RunConfig& config, Target target) {
  if (config.memory > 0) target.memory_bytes = run_memory(config, 0);
  return target;
}

int64_t run_memory(const RunConfig& config, int64_t device_bytes) {
  return config.memory > 0 ? static_cast<int64_t>(config.memory * kBytesOfGigabyte) : device_bytes;
}

Fit fit_per_worker(const Task& task, const RunConfig& config, const Target& target, const Residency& residency,
                   int64_t memory) {
  const auto most = static_cast<int64_t>(kFitShare * static_cast<double>(memory));
  std::map<int64_t, Taken> known;
  const auto taken = [&](int64_t n) {
    const auto at = known.find(n);
    if (at != known.end()) return at->second;
    RunConfig one = config;
    one.per_worker = n;
    one.dump.clear();
    return known[n] = taken_by(compile_programs(task, one, target, residency));
  };
  if (config.minibatch % config.processes != 0) batch_plan(config);  // throws what is wrong
  const std::vector<int64_t> sizes = divisors(config.minibatch / config.processes);
  const auto first_too_large =
      std::partition_point(sizes.begin(), sizes.end(), [&](int64_t n) { return taken(n).bytes <= most; });
  const std::string limit = fmt::format("{} of {}", bytes_text(most), bytes_text(memory));
  if (first_too_large == sizes.begin())
    throw Error(fmt::format("--fit: expected programs of at most {}, got {} with 1 sample a worker", limit,
                            bytes_text(taken(1).bytes)));
  Fit fit{*(first_too_large - 1), 0, memory, 0, ""};
  fit.bytes = taken(fit.per_worker).bytes;
  fit.recomputed = taken(fit.per_worker).recomputed;
  fit.text = fmt::format("fit: n = {} takes {} of at most {}{}", fit.per_worker, bytes_text(fit.bytes), limit,
                         fit.recomputed > 0 ? fmt::format(", {} activations are computed again", fit.recomputed) : "");
  if (first_too_large == sizes.end())
    fit.text += "; it is the whole minibatch of a process";
  else
    fit.text += fmt::format("; n = {} takes {}", *first_too_large, bytes_text(taken(*first_too_large).bytes));
  return fit;
}

}  // namespace kb
