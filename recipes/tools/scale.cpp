// summary: forecasts a recipe's speed on 1 to 4096 workers of a described cluster
#include <fmt/format.h>
#include "recipes/inspect/scaling.h"
#include "recipes/tools/commands.h"

#include <thread>

#include "graph/parsed_number.h"
#include "recipes/config/network.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"
#include "recipes/inspect/scale_policy.h"
#include "recipes/perf/overlap_report.h"
#include "recipes/perf/step_profiles.h"
#include "recipes/run/step_picture.h"
#include "recipes/run/tool.h"
#include "recipes/train/device.h"
#include "recipes/train/loaded_programs.h"
#include "recipes/train/timed_inputs.h"
#include "runtime/atomic_file.h"
#include "runtime/threads.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

constexpr int kMostWorkers = 4096;
constexpr double kBucketMb = 8;  // megabytes if --bucket-mb is not given

struct ScaleOptions {
  int64_t per_node = 8;
  int64_t cores = 0;    // cores per node; 0: every worker has a processor of its own
  int64_t samples = 0;  // samples per epoch; 0: those of the data set
  std::string inside, between, step, json;
};

// A worker of a run of two processes, so that its step has all-reduces. It runs alone: nothing is sent anywhere.
struct Worker {
  World world{make_local_communicator()};
  Device device;
  LoadedPrograms loaded;

  Worker(const Task& task, const RunConfig& config)
      : device(choose_device(config.machine, config.arithmetic.shards, &world)),
        loaded(*device.backend,
               compile_programs(task, settle_for_one_step(config, device.backend->target(), config.machine.processes)),
               static_cast<uint32_t>(config.arithmetic.seed)) {
    fill_timed_inputs(loaded.update(), task, config);
  }
};

// Makes workers take steps until the end of the scope.
class Neighbours {
 public:
  explicit Neighbours(std::span<const std::unique_ptr<Worker>> workers) {
    for (const std::unique_ptr<Worker>& worker : workers)
      threads_.push_back(start_thread<std::jthread>("a worker beside the timed one",
                                                    [&session = worker->loaded.update()](const std::stop_token& stop) {
                                                      while (!stop.stop_requested()) session.step();
                                                    }));
  }

 private:
  std::vector<std::jthread> threads_;
};

// The workers, and the times of the first one, from which the forecast is made.
struct Timed {
  std::vector<std::unique_ptr<Worker>> workers;  // the first one is timed, the others keep the machine busy
  ScaleWorker one;
  std::string text;  // "a step takes 40 ms on ..."
};

double milliseconds_in(const std::string& text) {
  const std::optional<double> value = parsed_number<double>(text);
  if (!value || !(*value > 0)) throw UsageError(fmt::format("--step-ms: expected a number > 0, got '{}'", text));
  return *value;
}

std::string milliseconds_text(double seconds) {
  return seconds < 0.1 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.0f} ms", 1e3 * seconds);
}

// Returns the flags of a run of two processes, a worker each, of which one is timed.
RunConfig flags_of_worker(const ToolCall& call, const ScaleOptions& options) {
  RunConfig config = call.config;
  config.sync = {};  // the step is compiled for synchronous workers, of whatever policy the forecast is
  const BatchPlan one = make_batch_plan(config.batch.minibatch, config.batch.per_worker, 1);
  if (one.virtual_workers != 1)
    throw UsageError(
        "--per-worker: expected one virtual worker, whose samples are --minibatch\n  hint:     leave it out");
  config.machine.processes = 2;
  config.batch.minibatch = 2 * one.per_worker;
  if (config.arithmetic.bucket_mb == 0) config.arithmetic.bucket_mb = kBucketMb;
  if (options.cores > 0 && config.machine.threads == 0)
    config.machine.threads = std::max<int64_t>(1, options.cores / options.per_node);
  return config;
}

// Times the first worker while 1, 2, 4, ... compute at the same time, up to the cores of the node and of this machine.
void time_steps(Timed& timed, const Task& task, const RunConfig& config, const ScaleOptions& options) {
  timed.workers.push_back(std::make_unique<Worker>(task, config));
  ScaleWorker& one = timed.one;
  one.threads = config.machine.threads > 0 ? static_cast<int>(config.machine.threads) : usable_processors();
  one.cores = static_cast<int>(options.cores);
  if (one.cores > 0 && timed.workers[0]->device.backend->target().processor != Processor::cpu)
    throw UsageError("--cores: expected workers that are processes on a CPU, got a GPU\n  hint:     --device cpu");
  const int most = std::min(one.at_a_time(static_cast<int>(options.per_node)), usable_processors() / one.threads);
  for (int at_a_time = 1;; at_a_time = std::min(2 * at_a_time, most)) {
    while (timed.workers.size() < static_cast<size_t>(at_a_time))
      timed.workers.push_back(std::make_unique<Worker>(task, config));
    const Neighbours neighbours(std::span(timed.workers).subspan(1));
    one.steps[at_a_time] = profiled_step(timed.workers[0]->loaded.update());
    if (at_a_time >= most) break;
  }
}

// Times a worker. With --step-ms its times are scaled so that a step alone takes that long.
Timed time_worker(const ToolCall& call, const Task& task, const ScaleOptions& options) {
  const RunConfig config = flags_of_worker(call, options);
  Timed timed;
  time_steps(timed, task, config, options);
  timed.one.samples = static_cast<double>(config.batch.minibatch) / 2;
  const Compiled& compiled = timed.workers[0]->loaded.update().compiled();
  timed.one.schedule = &compiled.program.at(PartRole::final);
  timed.one.parameter_bytes = static_cast<double>(compiled.space.length * size_of(compiled.space.dtype));
  const double alone = timed.one.steps.at(1).sum();
  timed.text = fmt::format("a step alone takes {} on {}", milliseconds_text(alone),
                           timed.workers[0]->device.backend->description());
  for (const auto& [at_a_time, step] : timed.one.steps)
    if (at_a_time > 1) timed.text += fmt::format(", {} where {} compute", milliseconds_text(step.sum()), at_a_time);
  if (!options.step.empty()) {
    const double wanted = 1e-3 * milliseconds_in(options.step);
    for (auto& [at_a_time, step] : timed.one.steps) step.scale(wanted / alone);
    timed.text += fmt::format(", taken as {}", milliseconds_text(wanted));
  }
  timed.text += fmt::format("; buckets of {:.3g} MB", config.arithmetic.bucket_mb);
  return timed;
}

std::string cluster_text(const Cluster& cluster, const ScaleWorker& worker) {
  std::string text = fmt::format("nodes of {}", cluster.per_node);
  if (worker.cores > 0)
    text += fmt::format(" on {} cores, {} thread{} each", worker.cores, worker.threads, worker.threads == 1 ? "" : "s");
  if (cluster.per_node > 1) text += fmt::format(", inside {}", network_text(cluster.inside));
  return text + fmt::format(", between {}", network_text(cluster.between));
}

// Forecasts by each all-reduce, or by the policy of the call, and prints the tables.
std::vector<ScaleLine> printed_lines(const ToolCall& call, const ScaleWorker& worker, const Cluster& cluster,
                                     int64_t epoch) {
  const Synchronising& sync = call.config.sync;
  if (sync.policy != Policy::sync) {
    const PolicyLines all = policy_lines(worker, sync, cluster, kMostWorkers);
    fmt::print("\n{}", policy_tables(all, sync));
    return all.lines;
  }
  std::vector<ScaleLine> lines;
  for (const Algorithm algorithm : {Algorithm::halving_doubling, Algorithm::ring}) {
    lines.push_back(scale_line(worker, algorithm, cluster, kMostWorkers));
    fmt::print("\n{}", scale_table(lines.back(), static_cast<double>(epoch), call.config.length.epochs));
  }
  return lines;
}

// Returns the recipe, its samples a worker and a policy other than sync.
std::string title_of(const ToolCall& call, const ScaleWorker& worker) {
  const std::string title = fmt::format("{}, {} samples a worker", call.recipe.name, worker.samples);
  return call.config.sync.policy == Policy::sync ? title : title + ", " + policy_flags(call.config.sync);
}

}  // namespace

int scale_command(const ToolArguments& arguments) {
  ScaleOptions options;
  const std::optional<ToolCall> call = parse_tool_call(
      arguments, "Forecasts a recipe's speed on 1 to 4096 workers of a described cluster.",
      {{{"--node", "G", "workers of a node (a machine); 8"}, &options.per_node},
       {{"--cores", "C", "cores of a node, if its workers run on CPUs and share them"}, &options.cores},
       {{"--samples", "N", "samples of an epoch; those of the data set"}, &options.samples},
       {{"--inside", "LATENCY,BANDWIDTH", "network inside a node: 10us,20GB/s"}, &options.inside},
       {{"--between", "LATENCY,BANDWIDTH", "network between nodes: 50us,50Gbit/s"}, &options.between},
       {{"--step-ms", "MS", "time of a worker's step alone; it is measured on this machine"}, &options.step},
       {{"--json", "FILE", "write the forecast as JSON, for `study --cluster`"}, &options.json}});
  if (!call) return 0;
  if (options.between.empty() || (options.inside.empty() && options.per_node > 1))
    throw UsageError(
        "expected --between LATENCY,BANDWIDTH and, for nodes of several workers, --inside LATENCY,BANDWIDTH\n"
        "  hint:     --between 50us,50Gbit/s --inside 10us,20GB/s; or --node 1 for a worker a node");
  const Cluster cluster{static_cast<int>(options.per_node),
                        options.inside.empty() ? Network{} : parse_network(options.inside, "--inside"),
                        parse_network(options.between, "--between")};
  if (!call->config.out.trace.empty())
    throw UsageError("--trace: a forecast has no step of which a trace could be\n  hint:     ./run inspect RECIPE");
  check_scale_policy(call->config.sync);
  check_picture_files(call->config);
  const Task task = timed_task(call->recipe, call->config);
  const Timed timed = time_worker(*call, task, options);
  const std::string nodes = cluster_text(cluster, timed.one);
  const int64_t epoch = options.samples > 0 ? options.samples : task.train_count;
  const std::string title = title_of(*call, timed.one);
  fmt::print("{}: {}\n{}; an epoch is {} samples\n", title, timed.text, nodes, epoch);
  const std::vector<ScaleLine> lines = printed_lines(*call, timed.one, cluster, epoch);
  const ScaleWords words{title, timed.text, nodes, policy_flags(call->config.sync)};
  if (!options.json.empty()) {
    write_file_atomically(options.json, scale_json(lines, epoch, words));
    fmt::print("\nforecast: {}\n", options.json);
  }
  if (!call->config.out.picture.empty()) {
    write_file_atomically(call->config.out.picture, scale_picture(lines, epoch, words));
    fmt::print("\npicture: {}\n", call->config.out.picture);
  }
  return 0;
}

}  // namespace kb
