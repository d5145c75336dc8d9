#include "recipes/run/run.h"

#include <fmt/format.h>

#include "recipes/config/learning.h"
#include "recipes/config/preset.h"
#include "recipes/config/run_plan.h"
#include "recipes/perf/overlap_report.h"
#include "recipes/perf/step_profiles.h"
#include "recipes/run/advice.h"
#include "recipes/run/command_words.h"
#include "recipes/run/folder_room.h"
#include "recipes/run/guarded_main.h"
#include "recipes/run/interrupt.h"
#include "recipes/run/resume.h"
#include "recipes/run/run_texts.h"
#include "recipes/run/start_time.h"
#include "recipes/train/init_weights.h"
#include "recipes/train/layer_log.h"
#include "runtime/atomic_file.h"
#include "runtime/input_file.h"
#include "runtime/process.h"
#include "runtime/standard_streams.h"

namespace kb {
namespace {

constexpr const char* kAlgorithmChoices = "picks";  // key of a checkpoint's fact

// Returns the flags under which the run is recorded: they leave nothing open that its bits depend on.
RunConfig as_settled(const RunConfig& given, const Settled& settled) {
  RunConfig config = with_absolute_paths(given);
  config.batch.per_worker = settled.batch.per_worker;
  config.batch.batch_norm = {};
  config.arithmetic.shards = settled.shards;
  config.arithmetic.bucket_mb = settled.bucket_mb;
  return config;
}

// Checks that all processes have the same version, recipe and flags, before they do anything else together.
World& with_equal_flags(World& world, const Recipe& recipe, const RunConfig& config) {
  world.check_alike({{"version", KB_VERSION}, {"recipe", recipe.name}, {"flags", shared_flags(recipe, config)}});
  return world;
}

Device device_of(const RunConfig& config, World& world) {
  MachineOptions options = config.machine;
  options.threads = threads_of(options.threads, world);
  return choose_device(options, config.arithmetic.shards, &world);
}

}  // namespace

Run::Run(const Recipe& recipe, const RunConfig& config, World& world, std::optional<ResumedRun> resumed,
         std::optional<BranchPoint> branch)
    : RunObserver(config.out.quiet || !world.leads(), world.size() == 1, program_start()),
      recipe_(recipe),
      given_(config),
      recorded_(given_),
      world_(with_equal_flags(world, recipe, config)),
      resumed_(std::move(resumed)),
      branch_(std::move(branch)),
      device_(device_of(config, world)) {}

int Run::go() {
  tell_device();
  train(task_to_train(recipe_, given_, data_), given_, {*device_.backend, world_, given_.machine}, *this);
  return code_;
}

void Run::settled(const Task& task, const Settled& settled) {
  recorded_ = as_settled(given_, settled);
  for (const std::string& reason : settled.reasons) note(reason);
  for (const std::string& line : plan_lines(given_, settled, task, data_)) note(line);
}

bool Run::ready(const Ready& ready, LoopStart& start) {
  if (resumed_)
    for (const std::string& text : resumed_->notes) say_of_this_process(text);
  std::map<std::string, std::string> facts = checkpoint_facts(recipe_, recorded_, ready.programs, data_);
  check_resumable(ready, facts);
  facts[kAlgorithmChoices] = algorithm_choices();
  const ProcessMemory memory = tell_programs(ready);
  start.load_state = [this, &ready] { load_state(ready.programs.store, [](const std::string&) {}); };
  load_state(ready.programs.store, [this](const std::string& line) { note(line); });
  check_alike(ready, facts);
  if (world_.leads() && (!given_.looking.dry_run || !ready.programs.dumps.empty())) open_folder(ready, memory.total());
  if (given_.looking.dry_run) return false;
  Interrupt::remember(world_.size() == 1);  // several processes are ended by their launcher
  begin_at(ready, start);
  if (start.updates_ahead != 0) facts[kUpdatesAhead] = std::to_string(start.updates_ahead);
  open_record(ready, start, std::move(facts));
  return true;
}

void Run::ended(const Ready& ready, const LoopResult& result) {
  log_.run_ends(result.ending == Ending::finished);
  record_end(ready, result);
  tell_end(ready, result);
  code_ = exit_code(result);
  if (!folder_) return;
  draw_layers(ready);
  note(fmt::format(
      "run folder: {} (curves.svg, metrics.csv, metrics.jsonl, manifest.json, model.safetensors, checkpoints)",
      folder_->path().string()));
  const RunPlan& plan = ready.settled.plan;
  if (result.is_cut)
    note(fmt::format("stopped after {} of {} steps: --stop-at {}", result.steps, plan.steps,
                     given_.length.stop_at.text()));
  if (const std::string next = closing_advice(result, ready); !next.empty()) note(next);
}

int64_t Run::first_step(const RunPlan& plan) const {
  if (branch_) return steps_done(*branch_, plan);
  return checkpoint() ? checkpoint()->step : 0;
}

int64_t Run::updates_ahead(const RunPlan& plan) const {
  const std::string before = origin() ? origin()->fact(kUpdatesAhead) : "";
  return (before.empty() ? 0 : std::stoll(before)) + (branch_ ? branch_->checkpoint.step - first_step(plan) : 0);
}

RunSchedule Run::first_schedule(const Ready& ready) const {
  const Settled& settled = ready.settled;
  RunSchedule schedule =
      make_run_schedule(rules_of(recipe_), learning_of_groups(settled.config, ready.programs.metrics.groups),
                        settled.batch, settled.plan);
  schedule.go_to(first_step(settled.plan), schedule_state());
  return schedule;
}

void Run::tell_device() {
  const Backend& backend = *device_.backend;
  note(fmt::format("{} on {} ({})", recipe_.name, backend.description(), device_.reason));
  for (const std::string& text : preset_notes(recipe_, given_)) note(text);
  if (world_.size() > 1) note(world_.communicator().description());
  if (!device_.sums.empty()) note("GPUs sum their gradients: " + device_.sums);
  const std::string choices =
      origin() ? use_algorithm_choices(*device_.backend, origin()->fact(kAlgorithmChoices)) : "";
  for (const std::string& text : {world_.note(), threads_note(given_.machine.threads, world_.processors()),
                                  precision_note(backend, given_.arithmetic.precision),
                                  without_effect_note(backend, given_.machine, given_.arithmetic.products), choices})
    if (!text.empty()) note(text);
}

ProcessMemory Run::tell_programs(const Ready& ready) {
  const Settled& settled = ready.settled;
  for (const std::string& line : program_lines(ready.programs, settled)) note(line);
  const ProcessMemory memory = process_memory(ready);
  const Looking& looking = given_.looking;
  for (const std::string& line : memory_lines(ready, memory, looking.memory_report || looking.dry_run)) note(line);
  const std::string adaptation =
      adaptation_text(settled.config.learning, make_scalars(rules_of(recipe_), settled.config.learning, settled.plan),
                      ready.programs.update().compiled().space);
  if (!adaptation.empty()) note(adaptation);
  return memory;
}

void Run::load_state(StateStore& store, const std::function<void(const std::string&)>& say) const {
  const Resume& resume = given_.resume;
  if (origin())
    load_checkpoint(store, *origin());
  else if (!resume.init.empty())
    init_weights(store, resume.init, resume.init_partial ? InitExtent::partial : InitExtent::whole, resume.init_scope,
                 say);
}

std::string Run::algorithm_choices() const {
  const std::string own = algorithm_choices_text(*device_.backend);
  return own.empty() && origin() ? origin()->fact(kAlgorithmChoices) : own;
}

void Run::check_alike(const Ready& ready, const std::map<std::string, std::string>& facts) const {
  if (world_.size() == 1) return;
  const Backend& backend = *device_.backend;
  World::Facts all{{"shards", std::to_string(ready.settled.shards)},
                   {"the library of convolutions and matmuls", backend.library()},
                   {"graph", facts.at("graph")}};
  std::string schedule;
  for (const Schedule* program : ready.programs.update().compiled().program.all()) schedule += to_text(*program);
  all.emplace_back("schedule", std::move(schedule));
  all.emplace_back("state", ready.programs.store.own_sha256());
  if (backend.target().processor == Processor::gpu) all.emplace_back("device", backend.description());
  all.emplace_back("library's implementations", algorithm_choices());
  world_.check_alike(all);
}

Hyperparameters Run::hyperparameters() const {
  Hyperparameters all = {{"recipe", recipe_.name}};
  for (const FlagValue& flag : flag_values(recipe_, recorded_))
    if (flag.effect != FlagEffect::call) all.emplace_back(flag.name, flag.value);
  return all;
}

void Run::begin_at(const Ready& ready, LoopStart& start) {
  const RunPlan& plan = ready.settled.plan;
  const int64_t first = first_step(plan);
  start.step = first;
  start.is_saved = !branch_;
  start.has_trained_weights = !given_.resume.init.empty();
  start.schedule_state = schedule_state();
  start.updates_ahead = updates_ahead(plan);
  if (!resumed_) return;
  if (folder_ && std::filesystem::exists(folder_->file(kOrder))) start.order = folder_->file(kOrder).string();
  std::string lines;
  if (folder_)
    lines = lines_before(folder_->file(kMetrics), first,
                         evaluation_is_due(given_.judging.eval_every, plan, first_schedule(ready), first),
                         resumed_->begins_at, console_);
  start.past = leaders_lines(world_, std::move(lines));
  start.saved_model = [this](int64_t step) { return saved_model(world_, resumed_->folder.checkpoints(), step); };
}

void Run::open_record(const Ready& ready, const LoopStart& start, std::map<std::string, std::string> facts) {
  const auto say = [this](const std::string& line) { note(line); };
  std::unique_ptr<RunRecord> record;
  if (folder_) {
    const StateStore& store = ready.programs.store;
    record = std::make_unique<RunRecord>(*folder_, resumed_.has_value(), start.step, store, hyperparameters(),
                                         std::move(facts), given_.out.keep, say);
    const std::string room = over_disk_note(folder_->path(), free_bytes(folder_->path()),
                                            files_to_write(store, given_.out.keep, resumed_.has_value()));
    if (!room.empty()) note(room);
  }
  if (world_.heartbeat()) world_.heartbeat()->set_hint(world_.broadcast(folder_ ? how_to_go_on() : ""));
  StepPicture picture(recipe_, given_, device_.backend->description(), world_, console_, start.step,
                      ready.settled.plan.steps);
  MlperfLog log = mlperf_log(ready);
  log.run_begins(start.step);
  open(std::move(record), std::move(picture), std::move(log), given_.looking.explain_overlap);
}

MlperfLog Run::mlperf_log(const Ready& ready) const {
  if (!world_.leads()) return {};
  const Settled& settled = ready.settled;
  return MlperfLog({recipe_.benchmark.empty() ? recipe_.name : recipe_.benchmark, device_.backend->description(),
                    given_, settled.plan, settled.batch,
                    make_rate(rules_of(recipe_), settled.config.learning, settled.plan).spec(),
                    judged_part(ready.task).count(), resumed_.has_value()});
}

void Run::check_resumable(const Ready& ready, const std::map<std::string, std::string>& facts) const {
  const RunPlan& plan = ready.settled.plan;
  const int64_t done = first_step(plan);
  if (!checkpoint()) return;
  check_belongs(recipe_, *checkpoint(), facts);
  if (done > plan.steps)
    throw Error(
        fmt::format("--resume: {} steps are done already, of which the flags given ask for {}", done, plan.steps));
  check_schedule(*checkpoint(), first_schedule(ready));
}

void Run::open_folder(const Ready& ready, int64_t process_bytes) {
  const ManifestFacts facts{.recipe = recipe_,
                            .config = recorded_,
                            .ready = ready,
                            .data = data_,
                            .picks = algorithm_choices(),
                            .branch = branch_ ? &*branch_ : nullptr,
                            .process_bytes = process_bytes};
  const RunPlan& plan = ready.settled.plan;
  if (!resumed_) {
    folder_.emplace(recipe_.name, given_.out.folder);
    if (branch_)
      note(fmt::format("branch of {} at {}: {} of {} steps are done", branch_->run.string(),
                       branch_->checkpoint.path.filename().string(), first_step(plan), plan.steps));
    write_file_atomically(folder_->file(kManifest), manifest_text(facts));
  } else {
    folder_.emplace(resumed_->folder);
    if (!given_.looking.dry_run) write_file_atomically(folder_->file(kManifest), describe_resumed(facts));
  }
  std::vector<DumpFile>& dumps = ready.programs.dumps;
  for (const DumpFile& dump : dumps) write_file_atomically(folder_->file(dump.name), dump.text);
  if (!dumps.empty()) note(fmt::format("dumped {} files into {}", dumps.size(), folder_->path().string()));
  dumps.clear();
}

std::string Run::describe_resumed(const ManifestFacts& facts) {
  const RunPlan& plan = facts.ready.settled.plan;
  const std::string from = origin() ? origin()->path.filename().string() : "no checkpoint: from the start";
  note(fmt::format("resuming {}: {}; {} of {} steps are done", folder_->path().string(), from, first_step(plan),
                   plan.steps));
  if (checkpoint() && has_earlier_graph(*checkpoint()))
    note("the checkpoint is of an earlier Kilobatch: flags, data and tensors were compared, its graph not");
  return resumed_manifest_text(facts, resumed_->manifest, first_step(plan), [&](const std::string& difference) {
    note("NOTE: not the machine or build that this run began with, so its bits may differ: " + difference);
  });
}

void Run::record_end(const Ready& ready, const LoopResult& result) {
  const Evaluation evaluation = result.evaluation.value_or(no_evaluation(ready.programs.metrics.test));
  if (result.ending != Ending::diverged) {
    const std::string state = ready.programs.store.state_sha256();  // every process takes part
    if (record_)
      record_->end(
          {result.steps, evaluation, state, result.is_diverged, result.part, result.ending == Ending::finished});
  }
  if (folder_)
    write_file_atomically(
        folder_->file(kManifest),
        ended_manifest_text(read_file(folder_->file(kManifest)), result, evaluation, judged_part_name(ready.task),
                            replaced_images(ready.task), peak_process_bytes()));
}

void Run::tell_end(const Ready& ready, const LoopResult& result) {
  const RunPlan& plan = ready.settled.plan;
  const Session& training = ready.programs.update();
  const int64_t first = first_step(plan), steps = result.steps - first;
  const double samples = static_cast<double>(plan.samples_in(result.steps) - plan.samples_in(first));
  for (const std::string& line : final_lines(result)) note(line);
  if (result.best)
    if (const std::string text = best_text(*result.best, result, judged_part_name(ready.task)); !text.empty())
      note(text);
  if (given_.length.target && result.ending == Ending::finished) note(target_text(*given_.length.target, result));
  if (result.iterations) note(iterations_text(ready.settled, result));
  for (const std::string& line : replaced_lines(ready.task)) say_of_this_process(line);
  note(fmt::format("trained {} steps in {:.1f} s, {:.0f} samples/s", steps, result.train_seconds,
                   result.train_seconds > 0 ? samples / result.train_seconds : 0));
  if (steps > 0 && training.lag() > 0)
    note(fmt::format("the host spent {:.0f} us a step enqueueing it",
                     1e6 * result.host_seconds / static_cast<double>(steps)));
  if (!overlaps_.empty())
    note(fmt::format("the step of median time, of rank 0\n{}",
                     overlap_text(training.compiled(), median_step(overlaps_))));
}

int Run::exit_code(const LoopResult& result) const {
  if (result.ending == Ending::interrupted) return 128 + world_.stop_reason();
  if (!result.reason.empty() && world_.leads()) print_error(recipe_.name + ": " + with_flags(result.reason));
  const bool goes_on = given_.judging.keep_going && result.ending != Ending::diverged;
  return result.is_diverged && !goes_on ? kDivergedExitCode : 0;
}

void Run::say_of_this_process(const std::string& line) {
  if (!world_.leads())
    fmt::print(stderr, "rank {}: {}\n", world_.rank(), line);
  else if (given_.out.quiet)
    print_error(recipe_.name + ": " + line);
  else
    note(line);
}

std::string Run::closing_advice(const LoopResult& result, const Ready& ready) const {
  const RunPlan& plan = ready.settled.plan;
  if (result.ending == Ending::diverged) return "";
  if (result.is_cut) return how_to_go_on(fmt::format(" --stop-at {}st", plan.steps));
  if (result.ending == Ending::interrupted) return how_to_go_on();
  if (result.is_diverged) return "";
  return what_next(recipe_, given_, plan, command_that_writes(ready.task));
}

// Returns the command that shows what the run's model writes, or "" if it writes nothing.
std::string Run::command_that_writes(const Task& task) const {
  const char* tool = task.sequences ? "translate" : task.next_token ? "sample" : nullptr;
  return tool ? tool_words(recipe_, tool) + " " + shell_quoted(folder_->path().string()) : "";
}

void Run::draw_layers(const Ready& ready) {
  if (!given_.judging.log_layers) return;
  const std::vector<LoggedLayer> layers = logged_layers(ready.programs.store.space());
  const std::vector<LayerNorms> norms = read_layer_norms(folder_->file(kMetrics), layers.size());
  if (norms.empty()) return;
  const std::string title =
      fmt::format("{}, optimizer {}, kn {}", recipe_.name, given_.learning.optimizer, ready.settled.plan.minibatch);
  write_file_atomically(folder_->file(kLayerPicture), layer_picture(title, layers, norms));
  note(fmt::format("norms of {} layers at {} steps: {}", layers.size(), norms.size(),
                   folder_->file(kLayerPicture).string()));
}

std::string Run::how_to_go_on(const std::string& flags) const {
  if (given_.resume.run == kResumeAuto && flags.empty()) return "go on: the same command again";
  return fmt::format("go on: {} --resume {}{}", start_words(recipe_), shell_quoted(folder_->path().string()), flags);
}

}  // namespace kb
