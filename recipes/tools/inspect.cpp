// summary: what the compiler makes of a recipe: passes, schedule, memory, kernels
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "recipes/config/flag_names.h"
#include "recipes/config/network.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"
#include "recipes/inspect/device_kernels.h"
#include "recipes/inspect/inspect.h"
#include "recipes/inspect/step_model.h"
#include "recipes/perf/overlap_report.h"
#include "recipes/perf/step_profiles.h"
#include "recipes/report/picture.h"
#include "recipes/run/console.h"
#include "recipes/run/step_picture.h"
#include "recipes/run/tool.h"
#include "recipes/tools/commands.h"
#include "recipes/train/bucket_choice.h"
#include "recipes/train/device.h"
#include "recipes/train/loaded_programs.h"
#include "recipes/train/programs.h"
#include "recipes/train/residency.h"
#include "recipes/train/timed_inputs.h"
#include "runtime/cuda/open.h"
#include "runtime/options.h"
#include "runtime/session.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

struct InspectOptions {
  bool json = false, predict = false;
  std::string target, rates;
};

struct Inspected {
  Programs programs;
  std::optional<StepModel> model;  // forecast of a step; set with --rates
};

const Compiled& chosen(const Programs& programs, const InspectOptions& options) {
  return options.predict ? programs.evaluate() : programs.update();
}

Programs compiled_for(const ToolCall& call, const Target& target) {
  const RunConfig& config = call.config;
  const Task task = declared_task(call.recipe, config);
  return compile_programs(task,
                          settle_for_one_step(config, target, config.machine.processes,
                                              choose_residency(config.arithmetic.resident, task, target)),
                          config.looking.dump);
}

void print_heading(const ToolCall& call, const std::string& where, const std::string& reason) {
  fmt::print("{} on {}\n{}\nminibatch {}, {}\n\n", call.recipe.name, where, with_flags(reason),
             call.config.batch.minibatch, word_of(kPrecisions, call.config.arithmetic.precision));
}

std::vector<const Schedule*> last_routine(const Compiled& compiled) {
  return compiled.program.parts_of(compiled.program.routines.at(0));
}

Inspected inspect_for_target(const ToolCall& call, const InspectOptions& options) {
  Target target = gpu_target(options.target);
  const DevicelessLibrary library = open_deviceless_library(options.target);
  target.library = library.query;
  Inspected result{compiled_for(call, target), std::nullopt};
  const Compiled& compiled = chosen(result.programs, options);
  const int jobs =
      call.config.machine.threads > 0 ? static_cast<int>(call.config.machine.threads) : usable_processors();
  const RuntimeOptions runtime = RuntimeOptions::from_environment();
  const DeviceKernels kernels = compile_device_kernels(compiled.program, target.isa, runtime.cache_dir.string(), jobs,
                                                       options.rates.empty() ? "" : runtime.cuobjdump);
  if (!options.rates.empty())
    result.model = model_step(last_routine(compiled), kernels.work, target, parse_gpu_rates(options.rates));
  if (!options.json) {
    print_heading(call, target.isa, fmt::format("no device is asked; library calls: {}", library.name));
  }
  const StepModel* model = result.model ? &*result.model : nullptr;
  fmt::print("{}", options.json ? inspection_json(compiled, kernels, model) + "\n"
                                : inspection_text(compiled, kernels, usable_columns(kTableColumns)));
  if (model && !options.json)
    fmt::print("{}", to_text(*model, last_routine(compiled), parse_gpu_rates(options.rates), {}, 0,
                             usable_columns(kTableColumns)));
  return result;
}

// Draws a step and returns a line to print: draw() from a profile; draw_from_rates() for a GPU that need not be
// present, with each part as long as the model says; draw_measured() as measured on this machine.
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

// Throws UsageError for flags whose step cannot be drawn, Error for a file that cannot be written.
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

// Times the step of one of the processes here, alone, and prints the table. Throws UsageError if flags are missing.
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

Programs inspect_on_device(const ToolCall& call, const InspectOptions& options) {
  World world(make_local_communicator());  // programs may be for several processes, but none runs
  Device device = choose_device(call.config.machine, call.config.arithmetic.shards, &world);
  Programs programs = compiled_for(call, device.backend->target());
  const Compiled& compiled = chosen(programs, options);
  LoadReport load;
  const std::vector<const Schedule*> schedules = compiled.program.all();
  device.backend->load(schedules, {}, load);
  if (!options.json)
    print_heading(call, device.backend->description(),
                  reason_and_note(device, call.config.machine, call.config.arithmetic.products));
  fmt::print("{}", options.json ? inspection_json(compiled, load) + "\n"
                                : inspection_text(compiled, load, usable_columns(kTableColumns)));
  return programs;
}

}  // namespace

int inspect_command(const ToolArguments& arguments) {
  InspectOptions options;
  std::optional<ToolCall> call = parse_tool_call(
      arguments, "Shows what the compiler makes of a recipe: passes, schedule, memory, kernels.",
      {{{"--json", "", "one JSON object in place of the tables"}, &options.json},
       {{"--predict", "", "show the evaluation in place of the training step"}, &options.predict},
       {{"--target", "ARCH", "compile for a GPU that need not be here, its kernels by NVRTC: sm_80, sm_90, sm_100"},
        &options.target},
       {{"--rates", "B,F",
         "with --target: predict the time of every launch on an h100, an h200, or a GPU of which you know the rates of "
         "copying and of matrix products: 4.8TB/s,790TFLOP/s"},
        &options.rates}});
  if (!call) return 0;
  if (!options.rates.empty() && options.target.empty())
    throw UsageError("--rates: expected --target ARCH, the GPU that they are of");
  check_picture(call->config, options);
  if (call->config.looking.explain_overlap) {
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
