#include "recipes/train/bucket_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "recipes/config/plan.h"
#include "recipes/perf/copy_bandwidth.h"
#include "recipes/perf/multiply_rate.h"
#include "recipes/perf/overlap_report.h"
#include "recipes/perf/rounds.h"
#include "recipes/train/programs.h"
#include "runtime/comm/measure_network.h"
#include "runtime/three_digits.h"

namespace kb {
namespace {

// Bucket sizes in MB, in descending order. The first, 100 GB, stands for the whole gradient.
constexpr double kCandidates[] = {1e5, 50, 25, 16, 8, 4, 2, 1, 0.5, 0.25, 0.125, 0.0625};

// A bucket of this size, one byte, holds at most two segments of the gradient (compiler/passes/place_all_reduce.cpp).
constexpr double kFinestMb = 1e-6;

// A smaller bucket is chosen if its step takes less than this share of the best step so far.
constexpr double kWorthwhile = 0.995;

double gradient_bytes(const Compiled& compiled) {
  return static_cast<double>(compiled.space.length * size_of(compiled.space.dtype));
}

BucketChoice whole_gradient(const Network& network) {
  return {kCandidates[0],
          fmt::format("the whole gradient in one bucket over {}: smaller ones hide no more", network_text(network))};
}

}  // namespace

ProcessorRates measure_rates(int threads) {
  constexpr int64_t kBytes = 32 << 20;
  CopyBandwidth copy(kBytes, threads);
  double ms = 1e12;
  for (int trial = 0; trial < 3; ++trial) ms = std::min(ms, milliseconds_of([&] { copy.plain(); }));
  Pool pool(threads);
  return {2e3 * kBytes / ms, measure_multiply_rate(pool)};
}

ProcessorRates slowest(const ProcessorRates& own, Communicator& communicator) {
  ProcessorRates all = own;
  for (const std::string& bytes : communicator.all_gather({reinterpret_cast<const char*>(&own), sizeof own})) {
    ProcessorRates one;
    std::memcpy(&one, bytes.data(), sizeof one);
    all = {std::min(all.bytes, one.bytes), std::min(all.operations, one.operations)};
  }
  return all;
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

Compiled compile_finely(const Task& task, Settled settled) {
  settled.bucket_bytes = bucket_bytes(kFinestMb);
  return compile_training(task, settled);
}

BucketChoice choose_bucket(const Compiled& finely, const Network& network, const ProcessorRates& rates) {
  const std::vector<double> seconds = estimated_seconds(finely.program.at(PartRole::final), rates);
  BucketChoice choice;
  Overlap best, whole;
  for (const double megabytes : kCandidates) {
    const bool is_whole = choice.megabytes == 0;
    if (!is_whole && 1e6 * megabytes >= gradient_bytes(finely)) continue;
    const Overlap overlap = predict_overlap(finely, seconds, network, bucket_bytes(megabytes));
    if (is_whole) whole = overlap;
    if (!is_whole && overlap.step >= kWorthwhile * best.step) continue;
    best = overlap;
    choice.megabytes = megabytes;
  }
  if (best.reductions.size() == whole.reductions.size()) return whole_gradient(network);
  choice.text =
      fmt::format("gradient in {} buckets of {} MB over {}: {} ms exposed of a step's estimated {} ms, in one {}",
                  best.reductions.size() - 1, choice.megabytes, network_text(network), three_digits(1e3 * best.exposed),
                  three_digits(1e3 * best.step), three_digits(1e3 * whole.exposed));
  return choice;
}

BucketChoice choose_bucket_of(const Task& task, const Settled& open, Machine machine) {
  const double given = open.config.arithmetic.bucket_mb;
  if (machine.world.size() == 1 || given > 0) return {given, ""};
  if (open.target.processor == Processor::gpu)
    return {kGpuBucketMb,
            fmt::format("gradient in buckets of {} MB, as always on GPUs (arithmetic.bucket_mb)", kGpuBucketMb)};
  // The prediction models halving-doubling alone, and with another algorithm the bits of a run depend on the size.
  if (machine.options.all_reduce != Algorithm::halving_doubling) return {given, ""};
  Communicator& communicator = machine.world.communicator();
  const Network network = machine.options.net ? *machine.options.net : measure_network(communicator);
  const Compiled finely = compile_finely(task, open);
  // Such a gradient is no larger than the smallest candidate: the processors' rates would decide nothing.
  if (gradient_bytes(finely) <= 1e6 * *std::prev(std::end(kCandidates))) return whole_gradient(network);
  return choose_bucket(finely, network, slowest(measure_rates(open.threads), communicator));
}

}  // namespace kb
