#include "recipes/bucket_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "recipes/copy_bandwidth.h"
#include "recipes/multiply_rate.h"
#include "recipes/network.h"
#include "recipes/overlap_report.h"

namespace kb {
namespace {

// From the whole of any gradient down.
constexpr double kCandidates[] = {1e5, 50, 25, 16, 8, 4, 2, 1, 0.5, 0.25, 0.125, 0.0625};

// By so much a smaller size must be better.
constexpr double kWorthwhile = 0.995;

}  // namespace

ProcessorRates measure_rates(int threads) {
  constexpr int64_t kBytes = 32 << 20;
  CopyBandwidth copy(kBytes, threads);
  double seconds = 1e9;
  for (int trial = 0; trial < 3; ++trial) {
    const auto start = std::chrono::steady_clock::now();
    copy.plain();
    seconds = std::min(seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  Pool pool(threads);
  return {2 * kBytes / seconds, measure_multiply_rate(pool)};
}

std::vector<double> estimated_seconds(const Schedule& schedule, const ProcessorRates& rates) {
  std::vector<double> seconds;
  for (const Step& step : schedule.steps) {
    const bool computes = step.cls != FusionClass::exchange && step.cls != FusionClass::wait;
    seconds.push_back(computes ? std::max(static_cast<double>(step.bytes) / rates.bytes,
                                          static_cast<double>(step.flops) / rates.operations)
                               : 0);
  }
  return seconds;
}

BucketChoice choose_bucket(const Recipe& recipe, Flags flags, const InputSpec& input, const Target& target,
                           const Residency& residency, const Network& network, const ProcessorRates& rates) {
  BucketChoice choice;
  Overlap best, whole;
  int64_t gradient_bytes = 0;
  for (const double megabytes : kCandidates) {
    if (gradient_bytes > 0 && 1e6 * megabytes >= static_cast<double>(gradient_bytes)) continue;
    flags.bucket_mb = megabytes;
    const Compiled compiled = compile_training(recipe, flags, input, target, residency);
    const Schedule& final = compiled.program.final;
    const Overlap overlap = predict_overlap(compiled, estimated_seconds(final, rates), network);
    if (gradient_bytes == 0) {
      gradient_bytes = compiled.space.length * size_of(compiled.space.dtype);
      whole = overlap;
    }
    if (choice.megabytes > 0 && overlap.step >= kWorthwhile * best.step) continue;
    best = overlap;
    choice.megabytes = megabytes;
  }
  if (best.reductions.size() == whole.reductions.size()) {
    choice.text =
        fmt::format("the whole gradient in one bucket over {}: smaller ones hide no more", network_text(network));
    return choice;
  }
  choice.text = fmt::format(
      "gradient in {} buckets of {} MB over {}: {:.3g} ms exposed of a step's estimated {:.3g} ms, in one {:.3g}",
      best.reductions.size() - 1, choice.megabytes, network_text(network), 1e3 * best.exposed, 1e3 * best.step,
      1e3 * whole.exposed);
  return choice;
}

}  // namespace kb
