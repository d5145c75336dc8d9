#include "recipes/inspect/inspect_overlap.h"

#include <fmt/format.h>

#include "recipes/config/network.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"
#include "recipes/inspect/inspect_pictures.h"
#include "recipes/papers/table.h"
#include "recipes/perf/overlap_forecast.h"
#include "recipes/perf/overlap_report.h"
#include "recipes/perf/step_profiles.h"
#include "recipes/run/step_picture.h"
#include "recipes/train/bucket_choice.h"

namespace kb {

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
