#include "recipes/inspect/inspect_pictures.h"

#include <fmt/format.h>

#include "recipes/config/network.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"
#include "recipes/papers/table.h"
#include "recipes/perf/overlap_report.h"
#include "recipes/perf/step_profiles.h"
#include "recipes/report/picture.h"
#include "recipes/run/step_picture.h"
#include "recipes/train/bucket_choice.h"
#include "recipes/train/timed_inputs.h"

namespace kb {
namespace {

std::string draw(const ToolCall& call, const Compiled& compiled, std::span<const Schedule* const> programs,
                 const Profile& profile, const std::string& what, const std::string& device) {
  const Timeline timeline =
      step_timeline(compiled, programs, profile, {fmt::format("{}, {}", call.recipe.name, what), device});
  return write_pictures(call.config, timeline, {trace_events(timeline, 0)});
}

// Returns the programs of a recipe, loaded and with inputs for timing.
std::unique_ptr<LoadedPrograms> timed_programs(const ToolCall& call, const Device& device, const Task& task) {
  Programs programs =
      compile_programs(task, settle_for_one_step(call.config, device.backend->target(), call.config.machine.processes));
  auto loaded = std::make_unique<LoadedPrograms>(*device.backend, std::move(programs),
                                                 static_cast<uint32_t>(call.config.arithmetic.seed));
  for (Session* session : {&loaded->update(), &loaded->evaluate()}) fill_timed_inputs(*session, task, call.config);
  return loaded;
}

}  // namespace

void check_picture(const RunConfig& config, const InspectOptions& options) {
  if (!wants_picture(config)) return;
  if (!options.target.empty() && options.rates.empty())
    throw UsageError(
        "--picture, --trace: a step is timed, which needs the GPU that --target has not\n  hint:     --rates "
        "h200 or BYTES,OPERATIONS a second predicts it; --device cuda on a machine with one measures");
  if (config.machine.processes == 1) return check_picture_files(config);
  if (!options.target.empty() && !config.machine.net)
    throw UsageError("--picture, --trace: expected --net LATENCY,BANDWIDTH, the network between the processes");
  if (options.target.empty() && !config.looking.explain_overlap)
    throw UsageError(
        "--picture, --trace: of several processes inspect runs one, and predicts what lies between them\n  hint:     "
        "--explain-overlap --net LATENCY,BANDWIDTH; or --picture with the recipe itself, which measures");
  check_picture_files(config);
}

std::string draw(const ToolCall& call, const Session& session, const Profile& profile, const std::string& what,
                 const Device& device) {
  return draw(call, session.compiled(), session.profiled(), profile, what, device.backend->description());
}

std::string draw_from_rates(const ToolCall& call, const InspectOptions& options, const Compiled& compiled,
                            const StepModel& model) {
  const std::optional<Network> network = call.config.machine.net;
  const std::vector<const Schedule*> programs = last_routine(compiled);
  std::vector<double> seconds;
  for (const LaunchModel& launch : model.launches) seconds.push_back(1e-3 * launch.total_ms);
  const Profile profile =
      predicted_profile(programs, seconds, reduction_seconds(compiled, network.value_or(Network{})));
  const std::string what = options.predict ? fmt::format("minibatch {}: an evaluation", call.config.batch.minibatch)
                                           : batch_plan(call.config).derivation() + ": a step";
  return draw(
      call, compiled, programs, profile,
      fmt::format("{}, predicted from {}{}", what, options.rates, network ? " over " + network_text(*network) : ""),
      options.target);
}

std::string draw_measured(const ToolCall& call, const InspectOptions& options) {
  World world(make_local_communicator());
  const Device device = choose_device(call.config.machine, call.config.arithmetic.shards, &world);
  const Task task = timed_task(call.recipe, call.config);
  const std::unique_ptr<LoadedPrograms> loaded = timed_programs(call, device, task);
  Session& session = options.predict ? loaded->evaluate() : loaded->update();
  return draw(call, session, median_profile(session),
              options.predict ? fmt::format("minibatch {}: an evaluation, measured", call.config.batch.minibatch)
                              : batch_plan(call.config).derivation() + ": a step, measured",
              device);
}

void explain_overlap(ToolCall call) {
  const std::optional<Network> network = call.config.machine.net;
  if (!network || call.config.machine.processes == 1)
    throw UsageError("--explain-overlap: expected --processes P and --net LATENCY,BANDWIDTH, of which it predicts");
  if (call.config.machine.all_reduce != Algorithm::halving_doubling)
    throw UsageError("--explain-overlap: expected --all-reduce halving-doubling, of which its model is");
  World world(make_local_communicator());
  Device device = choose_device(call.config.machine, call.config.arithmetic.shards, &world);
  const Task task = timed_task(call.recipe, call.config);
  const Target& target = device.backend->target();
  if (call.config.arithmetic.bucket_mb == 0 && target.processor == Processor::gpu)
    call.config.arithmetic.bucket_mb = kGpuBucketMb;
  if (call.config.arithmetic.bucket_mb == 0) {
    const BucketChoice choice =
        choose_bucket(compile_finely(task, settle_for_one_step(call.config, target, call.config.machine.processes)),
                      *network, measure_rates(static_cast<int>(call.config.machine.threads)));
    call.config.arithmetic.bucket_mb = choice.megabytes;
    fmt::print("{}\n", choice.text);
  }
  const std::unique_ptr<LoadedPrograms> loaded = timed_programs(call, device, task);
  const Compiled& compiled = loaded->update().compiled();
  print_heading(call, device.backend->description(), device.reason);
  const BatchPlan batch = batch_plan(call.config);
  fmt::print("{}; predicted over {} from the times of its steps in one process{}\n", batch.derivation(),
             network_text(*network), batch.virtual_workers > 1 ? ", the last virtual worker's part" : "");
  const std::vector<double> seconds = routine_seconds(loaded->update());
  const Profile profile =
      predicted_profile(loaded->update().profiled(), seconds, reduction_seconds(compiled, *network));
  fmt::print("{}", overlap_text(compiled, measured_overlap(loaded->update(), profile)));
  if (wants_picture(call.config))
    fmt::print("{}\n", draw(call, loaded->update(), profile,
                            fmt::format("{}: a step, predicted over {} from the times of its parts", batch.derivation(),
                                        network_text(*network)),
                            device));
}

}  // namespace kb
