#include "recipes/train/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "recipes/config/plan.h"
#include "recipes/train/programs.h"

namespace kb {
namespace {

constexpr double kBytesOfGigabyte = 1e9;
constexpr double kMostBytes = 0x1p62;  // a greater limit is none

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
  return gigabytes > 0 ? static_cast<int64_t>(std::min(gigabytes * kBytesOfGigabyte, kMostBytes)) : device_bytes;
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

namespace {

// Returns the choices with workers of n samples; nothing if there is no plan with them.
std::optional<Settled> with_workers(const Task& task, Settled settled, int64_t n, int64_t processes) {
  settled.batch = make_batch_plan(settled.config.batch.minibatch, n, processes);
  settled.buckets = {{0, n}};
  try {
    settled.plan = make_plan(settled.config, settled.batch, task.train_count);
  } catch (const Error&) {
    return std::nullopt;
  }
  return settled;
}

void check_smallest(TrainConfig config, int64_t processes, int64_t samples) {
  config.batch.per_worker = 1;
  make_plan(config, batch_plan(config.batch, processes), samples);
}

// Returns why no more samples a worker were taken than in the fit; `larger` are programs that took too much memory.
std::string bound_text(const Fit& fit, int64_t share, const Fit& larger) {
  if (larger.bytes > 0) return fmt::format("n = {} takes {}", larger.per_worker, bytes_text(larger.bytes));
  return fit.per_worker == share ? "it is the whole minibatch of a process" : "there is no plan with more";
}

}  // namespace

Fit fit_per_worker(const Task& task, const Settled& open, int64_t processes, int64_t memory) {
  check_smallest(open.config, processes, task.train_count);
  const int64_t share = open.config.batch.minibatch / processes;
  const auto most = static_cast<int64_t>(kFitShare * static_cast<double>(memory));
  // No n may be skipped by bisection: a smaller n that keeps its activations may take more memory than a larger n that
  // computes some of them again.
  Fit larger, fit;
  for (const int64_t n : divisors(share)) {
    const std::optional<Settled> one = with_workers(task, open, n, processes);
    if (!one) continue;
    larger = std::exchange(fit, {});
    const Programs programs = compile_programs(task, *one);
    fit = {n, total_memory(programs, one->plan.copies(), open.target.processor), memory,
           std::ssize(programs.update().recomputed)};
    if (fit.bytes <= most) break;
  }
  const std::string limit = fmt::format("{} of {}", bytes_text(most), bytes_text(memory));
  if (fit.bytes > most)
    throw Error(fmt::format("batch.fit: expected programs of at most {}, got {} with 1 sample a worker", limit,
                            bytes_text(fit.bytes)));
  fit.text = fmt::format("fit: n = {} takes {} of at most {}{}; {}", fit.per_worker, bytes_text(fit.bytes), limit,
                         fit.recomputed > 0 ? fmt::format(", {} activations are computed again", fit.recomputed) : "",
                         bound_text(fit, share, larger));
  return fit;
}

}  // namespace kb
