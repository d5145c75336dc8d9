// what the compiler makes of a recipe: passes, schedule, memory, kernels
#include <fmt/format.h>
#include "recipes/commands/commands.h"

#include "recipes/config/network.h"
#include "recipes/config/plan.h"
#include "recipes/config/run_task.h"
#include "recipes/papers/table.h"
#include "recipes/perf/device_kernels.h"
#include "recipes/perf/inspect.h"
#include "recipes/perf/overlap_forecast.h"
#include "recipes/perf/overlap_report.h"
#include "recipes/perf/step_profiles.h"
#include "recipes/report/picture.h"
#include "recipes/run/step_picture.h"
#include "recipes/run/tool.h"
#include "recipes/train/bucket_choice.h"
#include "recipes/train/device.h"
#include "recipes/train/programs.h"
#include "recipes/train/timed_inputs.h"
#include "runtime/cuda/open.h"
#include "runtime/options.h"
#include "runtime/usable_processors.h"
#include "runtime/worker_programs.h"

namespace kb {
namespace {

struct InspectOptions {
  bool json = false, predict = false;
  std::string target, rates;
};

const Compiled& chosen(const Programs& programs, const InspectOptions& options) {
  return options.predict ? programs.inference : programs.training;
}

Programs compiled_for(const ToolCall& call, const Target& target) {
  const Task task = declared_task(call.recipe, call.config);
  return compile_programs(task, call.config, target, choose_residency(call.config, task, target));
}

void print_heading(const ToolCall& call, const std::string& where) {
  fmt::print("{} on {}, minibatch {}, {}\n\n", call.recipe.name, where, call.config.minibatch,
             word_of(kPrecisions, call.config.precision));
}

// The programs that end a step, in their order.
std::vector<const Schedule*> last_routine(const Compiled& compiled) {
  const WorkerPrograms all = worker_programs(compiled.program, compiled.workers.virtual_workers);
  std::vector<const Schedule*> programs;
  for (const size_t number : all.routines.at(0)) programs.push_back(all.programs[number].schedule);
  return programs;
}

struct Inspected {
  Programs programs;
  std::optional<StepModel> model;  // where --rates gives a GPU's
};

// For a GPU that need not be there.
Inspected inspect_for_target(const ToolCall& call, const InspectOptions& options) {
  Target target = gpu_target(options.target);
  const DevicelessLibrary library = open_deviceless_library(options.target);
  target.library = library.query;
  Inspected result{compiled_for(call, target), std::nullopt};
  const Compiled& compiled = chosen(result.programs, options);
  const int jobs = call.config.threads > 0 ? static_cast<int>(call.config.threads) : usable_processors();
  const RuntimeOptions runtime = RuntimeOptions::from_environment();
  const DeviceKernels kernels = compile_device_kernels(compiled.program, target.isa, runtime.cache_dir.string(), jobs,
                                                       options.rates.empty() ? "" : runtime.cuobjdump);
  if (!options.rates.empty())
    result.model = model_step(last_routine(compiled), kernels.work, target, parse_gpu_rates(options.rates));
  if (!options.json) {
    print_heading(call, fmt::format("{} (no device is asked)", target.isa));
    fmt::print("library calls: {}\n\n", library.name);
  }
  const StepModel* model = result.model ? &*result.model : nullptr;
  fmt::print("{}",
             options.json ? inspection_json(compiled, kernels, model) + "\n" : inspection_text(compiled, kernels));
  if (model && !options.json) fmt::print("{}", to_text(*model, last_routine(compiled), parse_gpu_rates(options.rates)));
  return result;
}

Programs inspect_on_device(const ToolCall& call, const InspectOptions& options) {
  World world(make_local_communicator());  // for programs of several processes, none of which runs
  Device device = choose_device(call.config, &world);
  Programs programs = compiled_for(call, device.backend->target());
  const Compiled& compiled = chosen(programs, options);
  LoadReport load;
  const std::vector<const Schedule*> schedules = compiled.program.all();
  device.backend->load(schedules, load);
  if (!options.json) print_heading(call, fmt::format("{} ({})", device.backend->description(), device.reason));
  fmt::print("{}", options.json ? inspection_json(compiled, load) + "\n" : inspection_text(compiled, load));
  return programs;
}

// Gives a line to print.
std::string draw(const ToolCall& call, const Compiled& compiled, std::span<const Schedule* const> programs,
                 const Profile& profile, const std::string& what, const std::string& device) {
  const Timeline timeline =
      step_timeline(compiled, programs, profile, {fmt::format("{}, {}", call.recipe.name, what), device});
  return write_pictures(call.config, timeline, {trace_events(timeline, 0)});
}

// A step of a GPU that need not be there, every part as long as the model says.
std::string draw_from_rates(const ToolCall& call, const InspectOptions& options, const Compiled& compiled,
                            const StepModel& model) {
  const std::optional<Network> network = call.config.net;
  const std::vector<const Schedule*> programs = last_routine(compiled);
  std::vector<double> seconds;
  for (const LaunchModel& launch : model.launches) seconds.push_back(1e-3 * launch.total_ms);
  const Profile profile =
      predicted_profile(programs, seconds, reduction_seconds(compiled, network.value_or(Network{})));
  const std::string what = options.predict ? fmt::format("minibatch {}: an evaluation", call.config.minibatch)
                                           : batch_plan(call.config).derivation() + ": a step";
  return draw(
      call, compiled, programs, profile,
      fmt::format("{}, predicted from {}{}", what, options.rates, network ? " over " + network_text(*network) : ""),
      options.target);
}

std::unique_ptr<LoadedPrograms> timed_programs(const ToolCall& call, const Device& device, const Task& task) {
  Programs programs = compile_programs(task, call.config, device.backend->target());
  auto loaded =
      std::make_unique<LoadedPrograms>(*device.backend, std::move(programs), static_cast<uint32_t>(call.config.seed));
  for (Session* session : {&loaded->training, &loaded->inference}) fill_timed_inputs(*session, task, call.config);
  return loaded;
}

std::string draw(const ToolCall& call, const Session& session, const Profile& profile, const std::string& what,
                 const Device& device) {
  return draw(call, session.compiled(), session.profiled(), profile, what, device.backend->description());
}

// The step of one of the processes is timed here, alone.
void explain_overlap(ToolCall call) {
  const std::optional<Network> network = call.config.net;
  if (!network || call.config.processes == 1)
    throw UsageError("--explain-overlap: expected --processes P and --net LATENCY,BANDWIDTH, of which it predicts");
  if (call.config.all_reduce != Algorithm::halving_doubling)
    throw UsageError("--explain-overlap: expected --all-reduce halving-doubling, of which its model is");
  World world(make_local_communicator());
  Device device = choose_device(call.config, &world);
  const Task task = timed_task(call.recipe, call.config);
  const Target& target = device.backend->target();
  if (call.config.bucket_mb == 0 && target.processor == Processor::gpu) call.config.bucket_mb = kGpuBucketMb;
  if (call.config.bucket_mb == 0) {
    const BucketChoice choice = choose_bucket(compile_finely(task, call.config, target, {}), *network,
                                              measure_rates(static_cast<int>(call.config.threads)));
    call.config.bucket_mb = choice.megabytes;
    fmt::print("{}\n", choice.text);
  }
  const std::unique_ptr<LoadedPrograms> loaded = timed_programs(call, device, task);
  const Compiled& compiled = loaded->training.compiled();
  print_heading(call, fmt::format("{} ({})", device.backend->description(), device.reason));
  const BatchPlan batch = batch_plan(call.config);
  fmt::print("{}; predicted over {} from the times of its steps in one process{}\n", batch.derivation(),
             network_text(*network), batch.virtual_workers > 1 ? ", the last virtual worker's part" : "");
  const std::vector<double> seconds = routine_seconds(loaded->training);
  const Profile profile =
      predicted_profile(loaded->training.profiled(), seconds, reduction_seconds(compiled, *network));
  fmt::print("{}", overlap_text(compiled, measured_overlap(loaded->training, profile)));
  if (wants_picture(call.config))
    fmt::print("{}\n", draw(call, loaded->training, profile,
                            fmt::format("{}: a step, predicted over {} from the times of its parts", batch.derivation(),
                                        network_text(*network)),
                            device));
}

// One step, on this machine.
std::string draw_measured(const ToolCall& call, const InspectOptions& options) {
  World world(make_local_communicator());
  const Device device = choose_device(call.config, &world);
  const Task task = timed_task(call.recipe, call.config);
  const std::unique_ptr<LoadedPrograms> loaded = timed_programs(call, device, task);
  Session& session = options.predict ? loaded->inference : loaded->training;
  return draw(call, session, median_profile(session),
              options.predict ? fmt::format("minibatch {}: an evaluation, measured", call.config.minibatch)
                              : batch_plan(call.config).derivation() + ": a step, measured",
              device);
}

void check_picture(const RunConfig& config, const InspectOptions& options) {
  if (!wants_picture(config)) return;
  if (!options.target.empty() && options.rates.empty())
    throw UsageError(
        "--picture, --trace: a step is timed, which needs the GPU that --target has not\n  hint:     --rates "
        "h200 or BYTES,OPERATIONS a second predicts it; --device cuda on a machine with one measures");
  if (config.processes == 1) return check_picture_files(config);
  if (!options.target.empty() && !config.net)
    throw UsageError("--picture, --trace: expected --net LATENCY,BANDWIDTH, the network between the processes");
  if (options.target.empty() && !config.explain_overlap)
    throw UsageError(
        "--picture, --trace: of several processes inspect runs one, and predicts what lies between them\n  hint:     "
        "--explain-overlap --net LATENCY,BANDWIDTH; or --picture with the recipe itself, which measures");
  check_picture_files(config);
}

}  // namespace

int inspect_command(const ToolArguments& arguments) {
  InspectOptions options;
  std::optional<ToolCall> call = parse_tool_call(
      arguments,
      {{{"--json", "", "one JSON object in place of the tables"}, &options.json},
       {{"--predict", "", "the evaluation in place of the training step"}, &options.predict},
       {{"--target", "ARCH", "for a GPU that need not be here, its kernels by NVRTC: sm_80, sm_90, sm_100"},
        nullptr,
        nullptr,
        &options.target},
       {{"--rates", "B,F",
         "predicts that GPU's time of every launch from h100, h200, or the bytes it copies and the operations of a "
         "matmul a second: 4.8TB/s,790TFLOP/s"},
        nullptr,
        nullptr,
        &options.rates}});
  if (!call) return 0;
  if (!options.rates.empty() && options.target.empty())
    throw UsageError("--rates: expected --target ARCH, the GPU that they are of");
  check_picture(call->config, options);
  if (call->config.explain_overlap) {
    if (options.json || options.predict || !options.target.empty())
      throw UsageError(
          "--explain-overlap: it times the training step on this machine and prints a table, so --json, "
          "--predict and --target do not go with it");
    return explain_overlap(std::move(*call)), 0;
  }
  const Inspected inspected = options.target.empty() ? Inspected{inspect_on_device(*call, options), std::nullopt}
                                                     : inspect_for_target(*call, options);
  write_dumps(call->config, inspected.programs.dumps);
  if (!wants_picture(call->config)) return 0;
  const std::string line = options.target.empty()
                               ? draw_measured(*call, options)
                               : draw_from_rates(*call, options, chosen(inspected.programs, options), *inspected.model);
  fmt::print(options.json ? stderr : stdout, "{}\n", line);
  return 0;
}

}  // namespace kb
