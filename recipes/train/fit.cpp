#include "recipes/train/fit.h"

#include <fmt/format.h>

#include <cmath>

#include "recipes/config/plan.h"
#include "recipes/train/programs.h"

namespace kb {
namespace {

constexpr double kBytesOfGigabyte = 1e9;

struct Taken {
  int64_t bytes = 0, recomputed = 0;
};

// Returns all divisors of `number`, the largest first.
std::vector<int64_t> divisors(int64_t number) {
  std::vector<int64_t> result;
  for (int64_t d = number; d >= 1; --d)
    if (number % d == 0) result.push_back(d);
  return result;
}

}  // namespace

Target run_target(double gigabytes, Target target) {
  if (gigabytes > 0) target.memory_bytes = run_memory(gigabytes, 0);
  return target;
}

int64_t run_memory(double gigabytes, int64_t device_bytes) {
  return gigabytes > 0 ? static_cast<int64_t>(gigabytes * kBytesOfGigabyte) : device_bytes;
}

void check_memory(const Programs& programs, const ParameterCopies& copies, Processor processor, double gigabytes) {
  const int64_t bytes = total_memory(programs, copies, processor), most = run_memory(gigabytes, bytes);
  if (bytes <= most) return;
  const size_t again = programs.update().recomputed.size();
  throw Error(fmt::format(
      "arithmetic.memory = {}: expected programs of at most {}, got {}{}\n  hint:     arithmetic.memory = {}; or a "
      "smaller batch.per_worker, of which batch.fit chooses the largest that the memory takes",
      gigabytes, bytes_text(most), bytes_text(bytes),
      again > 0 ? fmt::format(", {} activations computed again", again) : "",
      std::ceil(100 * static_cast<double>(bytes) / kBytesOfGigabyte) / 100));
}

Fit fit_per_worker(const Task& task, const Settled& open, int64_t processes, int64_t memory) {
  const int64_t minibatch = open.config.batch.minibatch;
  const auto most = static_cast<int64_t>(kFitShare * static_cast<double>(memory));
  const auto taken_with = [&](int64_t n) -> Taken {
    Settled one = open;
    one.batch = make_batch_plan(minibatch, n, processes);
    one.buckets = {{0, n}};
    one.plan = settle_for_one_step(open.config, open.target, processes).plan;
    const Programs programs = compile_programs(task, one);
    return {total_memory(all_of(programs)), std::ssize(programs.update().recomputed)};
  };
  if (minibatch % processes != 0) batch_plan(open.config.batch, processes);  // throws the error
  const std::vector<int64_t> sizes = divisors(minibatch / processes);
  // No n may be skipped by bisection: a smaller n that keeps its activations may take more memory than a larger n that
  // computes some of them again.
  size_t at = 0;
  Taken larger, taken = taken_with(sizes[at]);
  while (taken.bytes > most && at + 1 < sizes.size()) {
    larger = taken;
    taken = taken_with(sizes[++at]);
  }
  const std::string limit = fmt::format("{} of {}", bytes_text(most), bytes_text(memory));
  if (taken.bytes > most)
    throw Error(fmt::format("batch.fit: expected programs of at most {}, got {} with 1 sample a worker", limit,
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
