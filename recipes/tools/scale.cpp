// summary: forecasts a recipe's speed on 1 to 4096 workers of a described cluster
#include <fmt/format.h>

#include <charconv>

#include "recipes/device.h"
#include "recipes/network.h"
#include "recipes/overlap_report.h"
#include "recipes/plan.h"
#include "recipes/programs.h"
#include "recipes/timed_inputs.h"
#include "recipes/tool.h"
#include "runtime/comm/cluster.h"

namespace {

using namespace kb;

constexpr int64_t kMostWorkers = 4096;
constexpr double kBucketMb = 8;  // where --bucket-mb is not given

struct Wishes {
  int64_t per_node = 8;
  int64_t samples = 0;  // of an epoch; 0: the data set's
  std::string inside, between, step;
};

// What one worker of several does, and how long its steps take.
struct Worker {
  Compiled compiled;
  std::vector<double> seconds;  // of the steps of `final`
  double samples = 0;
};

double milliseconds_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0))
    throw UsageError(fmt::format("--step-ms: expected a number > 0, got '{}'", text));
  return value;
}

// Timed here, alone, as one of two processes, which has the all-reduces in it; with --step-ms its steps keep their
// shares of a step of that length.
Worker time_worker(const ToolCall& call, const Wishes& wishes) {
  Flags flags = call.flags;
  flags.processes = 1;
  const BatchPlan one = batch_plan(flags);
  if (one.virtual_workers != 1)
    throw UsageError(
        "scale: expected one virtual worker, whose samples are --minibatch; leave --per-worker and --batch-norm out");
  flags = with_plan(std::move(flags));
  flags.processes = 2;
  flags.minibatch = 2 * one.per_worker;
  if (flags.bucket_mb == 0) flags.bucket_mb = kBucketMb;
  World world(make_local_communicator());
  Device device = choose_device(flags, &world);
  const InputSpec input = input_spec(image_source(call.recipe, flags));
  LoadedPrograms loaded(*device.backend, compile_programs(call.recipe, flags, input, device.backend->target()),
                        static_cast<uint32_t>(flags.seed));
  fill_timed_inputs(loaded.training, call.recipe, input, flags);
  Worker worker{loaded.training.compiled(), profiled_seconds(loaded.training), static_cast<double>(one.per_worker)};
  double sum = 0;
  for (double seconds : worker.seconds) sum += seconds;
  fmt::print("{}, {} samples a worker: {:.3g} ms a step on {}", call.recipe.name, one.per_worker, 1e3 * sum,
             device.backend->description());
  if (!wishes.step.empty()) {
    const double wanted = 1e-3 * milliseconds_of(wishes.step);
    for (double& seconds : worker.seconds) seconds *= wanted / sum;
    fmt::print(", taken as {:.3g} ms", 1e3 * wanted);
  }
  fmt::print("; buckets of {:.3g} MB\n", flags.bucket_mb);
  return worker;
}

std::string time_text(double seconds) {
  if (seconds < 3600) return fmt::format("{:.1f} min", seconds / 60);
  return seconds < 48 * 3600 ? fmt::format("{:.1f} h", seconds / 3600) : fmt::format("{:.1f} days", seconds / 86400);
}

Overlap forecast(const Worker& worker, int workers, Algorithm algorithm, const Cluster& cluster) {
  return predict_overlap(worker.compiled.program.final, worker.seconds,
                         [&](int64_t bytes) { return all_reduce_seconds(algorithm, bytes, workers, cluster); });
}

void print_rows(const Worker& worker, const Cluster& cluster, double samples_of_a_run, Algorithm algorithm) {
  fmt::print("\n{}\n{:>7} {:>9} {:>9} {:>11} {:>10} {:>9} {:>9} {:>9}  {}\n", name(algorithm), "workers", "kn",
             "step ms", "samples/s", "efficiency", "of a node", "comm ms", "exposed", "a run");
  const double alone = forecast(worker, 1, algorithm, cluster).step;
  const double node = forecast(worker, cluster.per_node, algorithm, cluster).step;
  for (int workers = 1; workers <= kMostWorkers; workers *= 2) {
    const Overlap one = forecast(worker, workers, algorithm, cluster);
    const double rate = workers * worker.samples / one.step;
    fmt::print("{:>7} {:>9.0f} {:>9.2f} {:>11.0f} {:>9.1f}% {:>8.1f}% {:>9.2f} {:>9.2f}  {}\n", workers,
               workers * worker.samples, 1e3 * one.step, rate, 100 * alone / one.step, 100 * node / one.step,
               1e3 * one.communication, 1e3 * one.exposed, time_text(samples_of_a_run / rate));
  }
}

int scale(const std::vector<std::string>& arguments) {
  Wishes wishes;
  const std::optional<ToolCall> call = parse_tool_call(
      "scale", arguments,
      {{{"--node", "G", "workers of a node"}, nullptr, &wishes.per_node},
       {{"--samples", "N", "of an epoch, where it is not the data set's"}, nullptr, &wishes.samples},
       {{"--inside", "LATENCY,BANDWIDTH", "the network inside a node, as --net"}, nullptr, nullptr, &wishes.inside},
       {{"--between", "LATENCY,BANDWIDTH", "the network between nodes"}, nullptr, nullptr, &wishes.between},
       {{"--step-ms", "MS", "a worker's step alone, in place of this machine's"}, nullptr, nullptr, &wishes.step}});
  if (!call) return 0;
  if (wishes.between.empty() || (wishes.inside.empty() && wishes.per_node > 1))
    throw UsageError("scale: expected --between LATENCY,BANDWIDTH and, for nodes of several workers, --inside");
  const Cluster cluster{static_cast<int>(wishes.per_node),
                        wishes.inside.empty() ? Network{} : parse_network(wishes.inside),
                        parse_network(wishes.between)};
  const Worker worker = time_worker(*call, wishes);
  const int64_t epoch =
      wishes.samples > 0 ? wishes.samples : input_spec(image_source(call->recipe, call->flags)).train_count;
  const double samples = static_cast<double>(call->flags.epochs * epoch);
  fmt::print("nodes of {}, inside {}, between {}; a run is {} epochs of {} samples\n", cluster.per_node,
             wishes.inside.empty() ? "nothing" : network_text(cluster.inside), network_text(cluster.between),
             call->flags.epochs, epoch);
  for (const Algorithm algorithm : {Algorithm::halving_doubling, Algorithm::ring})
    print_rows(worker, cluster, samples, algorithm);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("scale", [&] { return scale({argv + 1, argv + argc}); });
}
