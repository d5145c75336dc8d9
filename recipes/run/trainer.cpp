#include "recipes/run/trainer.h"

#include <fmt/format.h>

#include <csignal>

#include "recipes/config/learning.h"
#include "recipes/perf/memory_answer.h"
#include "recipes/perf/overlap_report.h"
#include "recipes/perf/step_profiles.h"
#include "recipes/run/advice.h"
#include "recipes/run/branch.h"
#include "recipes/run/command_words.h"
#include "recipes/run/guarded_main.h"
#include "recipes/run/interrupt.h"
#include "recipes/run/process_memory.h"
#include "recipes/run/processes.h"
#include "recipes/run/resume.h"
#include "recipes/run/run_observer.h"
#include "recipes/run/run_setup.h"
#include "recipes/run/run_start.h"
#include "recipes/run/run_texts.h"
#include "recipes/run/schedule_text.h"
#include "recipes/run/start_time.h"
#include "recipes/train/train.h"
#include "runtime/atomic_file.h"
#include "runtime/input_file.h"
#include "runtime/process.h"
#include "runtime/standard_streams.h"

namespace kb {
namespace {

// One run of a command line.
class Run {
 public:
  // `resumed`: the run to go on with, whose flags these are; `branch`: the state that a new run, or one without a
  // checkpoint, begins with.
  Run(const Recipe& recipe, const RunConfig& config, World& world, std::optional<ResumedRun> resumed,
      std::optional<BranchPoint> branch = std::nullopt)
      : recipe_(recipe),
        world_(world),
        resumed_(std::move(resumed)),
        branch_(std::move(branch)),
        console_(config.out.quiet || !world.leads(), world.size() == 1),
        setup_(recipe, config, world, console_, origin()) {}

  int go() {
    if (resumed_)
      for (const std::string& note : resumed_->notes) say_of_this_process(note);
    StateStore& store = programs_.store;
    Session &training = programs_.training, &inference = programs_.inference;
    std::map<std::string, std::string> facts = checkpoint_facts(recipe_, config_, programs_, setup_.data);
    check_resumable(facts);
    facts[kAlgorithmChoices] = setup_.algorithm_choices();
    for (const std::string& line : program_lines(programs_, config_)) console_.line(line);
    const ProcessMemory memory = process_memory(setup_);
    for (const std::string& line : memory_lines(setup_, memory)) console_.line(line);
    if (const std::string text =
            adaptation_text(config_, make_scalars(recipe_.optimizers, config_, plan_), training.compiled().space);
        !text.empty())
      console_.line(text);
    setup_.load_state([&](const std::string& line) { console_.line(line); });
    setup_.check_alike(facts);
    if (world_.leads() && (!config_.looking.dry_run || !programs_.dumps.empty()))
      open_folder(training.compiled(), inference.compiled(), memory.total());
    if (config_.looking.dry_run) return 0;
    Interrupt::remember(world_.size() == 1);  // several processes the launcher ends all at once
    const LoopStart start = loop_start();
    const auto say_line = [this](const std::string& line) { console_.line(line); };
    RunRecord record = folder_ ? RunRecord(*folder_, resumed_.has_value(), start.step, store, hyperparameters(), facts,
                                           config_.out.keep, say_line)
                               : RunRecord();
    if (world_.heartbeat()) world_.heartbeat()->set_hint(world_.broadcast(folder_ ? how_to_go_on() : ""));
    const StepPicture picture(recipe_, config_, setup_.device.backend->description(), world_, console_, start.step,
                              plan_.steps);
    MlperfLog log = mlperf_log();
    log.run_begins(start.step);
    RunObserver observer(console_, record, picture, log, started_, config_.looking.explain_overlap);
    const LoopResult result = run_loop({setup_.task,
                                        config_,
                                        plan_,
                                        {*setup_.device.backend, world_},
                                        programs_,
                                        setup_.loader_threads,
                                        [this] { setup_.load_state([](const std::string&) {}); }},
                                       start, observer);
    log.run_ends(result.ending == Ending::finished);
    return finish(result, store, record, observer.overlaps());
  }

 private:
  const Checkpoint* checkpoint() const { return resumed_ && resumed_->checkpoint ? &*resumed_->checkpoint : nullptr; }
  // State that the first step begins with; null: the run's initial one.
  const Checkpoint* origin() const { return branch_ ? &branch_->checkpoint : checkpoint(); }
  RunSchedule first_schedule() const {
    return make_run_schedule(recipe_.optimizers, config_, plan_, first_step(), schedule_state());
  }
  std::string schedule_state() const { return origin() ? origin()->fact(kScheduleState) : ""; }
  int64_t first_step() const {
    if (branch_) return steps_done(*branch_, plan_);
    return checkpoint() ? checkpoint()->step : 0;
  }

  // The flags that the manifest has, and the recipe.
  Hyperparameters hyperparameters() const {
    Hyperparameters all = {{"recipe", recipe_.name}};
    for (const FlagValue& flag : flag_values(recipe_, setup_.with_bucket()))
      if (flag.effect != FlagEffect::call) all.emplace_back(flag.name, flag.value);
    return all;
  }

  LoopStart loop_start() {
    LoopStart own{first_step(), !branch_, !config_.resume.init.empty(), schedule_state()};
    if (!resumed_) return own;
    std::string lines;
    if (folder_)
      lines = lines_before(folder_->file(kMetrics), first_step(),
                           evaluation_is_due(config_, plan_, first_schedule(), first_step()), resumed_->begins_at,
                           console_);
    own.past = leaders_lines(world_, std::move(lines));
    own.saved_model = [this](int64_t step) { return saved_model(world_, resumed_->folder.checkpoints(), step); };
    return own;
  }

  // Logs the settings; a process that does not lead logs nothing.
  MlperfLog mlperf_log() const {
    if (!world_.leads()) return {};
    return MlperfLog({recipe_.benchmark.empty() ? recipe_.name : recipe_.benchmark,
                      setup_.device.backend->description(), config_, plan_, batch_plan(config_),
                      make_rate(config_, plan_).spec(), judged_part(setup_.task).count(), resumed_.has_value()});
  }

  void check_resumable(const std::map<std::string, std::string>& facts) const {
    const int64_t done = first_step();
    if (!checkpoint()) return;
    check_belongs(recipe_, *checkpoint(), facts);
    if (done > plan_.steps)
      throw Error(
          fmt::format("--resume: {} steps are done already, of which the flags given ask for {}", done, plan_.steps));
    check_schedule(*checkpoint(), first_schedule());
  }

  void open_folder(const Compiled& training, const Compiled& inference, int64_t process_bytes) {
    const std::string device = setup_.device.backend->description();
    const RunConfig config = setup_.with_bucket();
    const ManifestFacts facts{recipe_,
                              config,
                              plan_,
                              training,
                              inference,
                              programs_.parameters,
                              setup_.task,
                              programs_.metrics.test,
                              setup_.data,
                              rate_derivation(config_, plan_),
                              device,
                              setup_.device.backend->library(),
                              setup_.algorithm_choices(),
                              setup_.residency,
                              setup_.fit,
                              branch_ ? &*branch_ : nullptr,
                              total_memory(all_of(programs_)),
                              process_bytes,
                              setup_.target.processor == Processor::cpu ? 0 : setup_.device.backend->memory_bytes()};
    if (!resumed_) {
      folder_.emplace(recipe_.name, config_.out.folder);
      if (branch_)
        console_.line(fmt::format("branch of {} at {}: {} of {} steps are done", branch_->run.string(),
                                  branch_->checkpoint.path.filename().string(), first_step(), plan_.steps));
      write_file_atomically(folder_->file(kManifest), manifest_text(facts));
    } else {
      folder_.emplace(resumed_->folder);
      if (!config_.looking.dry_run) write_file_atomically(folder_->file(kManifest), describe_resumed(facts));
    }
    for (const DumpFile& dump : programs_.dumps) write_file_atomically(folder_->file(dump.name), dump.text);
    if (!programs_.dumps.empty())
      console_.line(fmt::format("dumped {} files into {}", programs_.dumps.size(), folder_->path().string()));
    programs_.dumps.clear();
  }

  // Says what goes on; gives the manifest's new text.
  std::string describe_resumed(const ManifestFacts& facts) {
    const std::string from = origin() ? origin()->path.filename().string() : "no checkpoint: from the start";
    console_.line(fmt::format("resuming {}: {}; {} of {} steps are done", folder_->path().string(), from, first_step(),
                              plan_.steps));
    if (checkpoint() && has_earlier_graph(*checkpoint()))
      console_.line("the checkpoint is of an earlier Kilobatch: flags, data and tensors were compared, its graph not");
    return resumed_manifest_text(facts, resumed_->manifest, first_step(), [&](const std::string& difference) {
      console_.line("NOTE: not the machine or build that this run began with, so its bits may differ: " + difference);
    });
  }

  int finish(const LoopResult& result, const StateStore& store, RunRecord& record,
             const std::vector<Overlap>& overlaps) {
    const Evaluation evaluation = result.evaluation.value_or(no_evaluation(programs_.metrics.test));
    if (result.ending != Ending::diverged)
      record.end({result.steps, evaluation, store.state_sha256(), result.is_diverged, result.part,
                  result.ending == Ending::finished});
    if (folder_)
      write_file_atomically(
          folder_->file(kManifest),
          ended_manifest_text(read_file(folder_->file(kManifest)), result, evaluation, judged_part_name(setup_.task),
                              replaced_images(setup_.task), peak_process_bytes()));
    const int64_t steps = result.steps - first_step();
    const double samples = static_cast<double>(plan_.samples_in(result.steps) - plan_.samples_in(first_step()));
    for (const std::string& line : final_lines(result)) console_.line(line);
    if (result.best)
      if (const std::string text = best_text(*result.best, result, judged_part_name(setup_.task)); !text.empty())
        console_.line(text);
    if (config_.length.target && result.ending == Ending::finished)
      console_.line(target_text(*config_.length.target, result));
    if (result.iterations) console_.line(iterations_text(config_, plan_, result));
    for (const std::string& line : replaced_lines(setup_.task)) say_of_this_process(line);
    console_.line(fmt::format("trained {} steps in {:.1f} s, {:.0f} samples/s", steps, result.train_seconds,
                              result.train_seconds > 0 ? samples / result.train_seconds : 0));
    if (steps > 0 && programs_.training.lag() > 0)
      console_.line(fmt::format("the host spent {:.0f} us a step enqueueing it",
                                1e6 * result.host_seconds / static_cast<double>(steps)));
    if (!overlaps.empty())
      console_.line(fmt::format("the step of median time, of rank 0\n{}",
                                overlap_text(programs_.training.compiled(), median_step(overlaps))));
    const int code = exit_code(result);
    if (!folder_) return code;
    draw_layers();
    console_.line(fmt::format(
        "run folder: {} (curves.svg, metrics.csv, metrics.jsonl, manifest.json, model.safetensors, checkpoints)",
        folder_->path().string()));
    if (result.is_cut)
      console_.line(fmt::format("stopped after {} of {} steps: --stop-at {}", result.steps, plan_.steps,
                                config_.length.stop_at.text()));
    if (const std::string next = closing_advice(result); !next.empty()) console_.line(next);
    return code;
  }

  // Tells why the run diverged, if it ended so.
  int exit_code(const LoopResult& result) const {
    if (result.ending == Ending::interrupted) return 128 + world_.stop_reason();
    if (!result.reason.empty() && world_.leads()) print_error(recipe_.name + ": " + result.reason);
    const bool goes_on = config_.judging.keep_going && result.ending != Ending::diverged;
    return result.is_diverged && !goes_on ? kDivergedExitCode : 0;
  }

  // Each process has read other samples; the console is the leading one's, and silent under --quiet.
  void say_of_this_process(const std::string& line) {
    if (!world_.leads())
      fmt::print(stderr, "rank {}: {}\n", world_.rank(), line);
    else if (config_.out.quiet)
      print_error(recipe_.name + ": " + line);
    else
      console_.line(line);
  }

  std::string closing_advice(const LoopResult& result) const {
    if (result.ending == Ending::diverged) return "";
    if (result.is_cut) return how_to_go_on(fmt::format(" --stop-at {}st", plan_.steps));
    if (result.ending == Ending::interrupted) return how_to_go_on();
    return result.is_diverged ? "" : what_next(recipe_, setup_.given, plan_);
  }

  void draw_layers() {
    if (!config_.judging.log_layers) return;
    const std::vector<LoggedLayer> layers = logged_layers(programs_.store.space());
    const std::vector<LayerNorms> norms = read_layer_norms(folder_->file(kMetrics), layers.size());
    if (norms.empty()) return;
    const std::string title =
        fmt::format("{}, optimizer {}, kn {}", recipe_.name, config_.learning.optimizer, plan_.minibatch);
    write_file_atomically(folder_->file(kLayerPicture), layer_picture(title, layers, norms));
    console_.line(fmt::format("norms of {} layers at {} steps: {}", layers.size(), norms.size(),
                              folder_->file(kLayerPicture).string()));
  }

  // `flags`: those that the run did not have.
  std::string how_to_go_on(const std::string& flags = "") const {
    if (config_.resume.run == kResumeAuto && flags.empty()) return "go on: the same command again";
    return fmt::format("go on: {} --resume {}{}", start_words(recipe_), shell_quoted(folder_->path().string()), flags);
  }

  const std::chrono::steady_clock::time_point started_ = program_start();
  const Recipe& recipe_;
  World& world_;
  std::optional<ResumedRun> resumed_;
  std::optional<BranchPoint> branch_;
  Console console_;
  RunSetup setup_;
  const RunConfig& config_ = setup_.config;
  const RunPlan& plan_ = setup_.plan;
  LoadedPrograms& programs_ = *setup_.programs;
  std::optional<RunFolder> folder_;
};

// Before anything is compiled.
void check_files(const RunConfig& config, bool resumes) {
  check_picture_files(config);
  check_mlperf_file(config, resumes);
  const bool has_folder = !config.looking.dry_run || !config.looking.dump.empty();
  if (!resumes && has_folder && !config.out.folder.empty()) check_unused(config.out.folder);
}

int resume(const Recipe& recipe, const RunConfig& given, World& world, const std::vector<std::string>& arguments) {
  ResumedRun run = open_resumed(recipe, given, arguments, world.leads() ? RunFolder::Use::own : RunFolder::Use::share);
  run.config.machine.processes = world.size();
  if (!run.ended.empty()) {
    Console(run.config.out.quiet || !world.leads())
        .line(fmt::format("{} has ended: {}", run.folder.path().string(), run.ended));
    return 0;
  }
  const RunConfig config = run.config;
  std::optional<BranchPoint> branch = std::move(run.branch);
  return Run(recipe, config, world, std::move(run), std::move(branch)).go();
}

}  // namespace

int train_recipe(const Recipe& recipe, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& program) {
  std::optional<RunConfig> config = parse_with_origin(recipe, start_words(recipe), arguments);
  if (!config) return 0;
  if (!config->looking.print_schedule.empty()) {
    print_schedule(recipe, *config);
    return 0;
  }
  const bool resumes = goes_on(*config);
  if (config->resume.run.empty() && !config->resume.checkpoint.empty())
    throw UsageError("--checkpoint: it names what --resume goes on from; to begin with its weights: --init FILE");
  std::vector<std::string> command{own_program()};
  command.insert(command.end(), program.begin(), program.end());
  command.insert(command.end(), arguments.begin(), arguments.end());
  if (config->looking.dry_run && wants_picture(*config))
    throw UsageError("--picture, --trace: a dry run takes no step to time\n  hint:     ./run inspect RECIPE times one");
  if (const std::optional<int> code = launch_processes(*config, resumes, command)) return *code;
  const Interrupt interrupt;
  const std::unique_ptr<World> world = join_world(*config);
  if (world->leads()) check_files(*config, resumes);
  std::signal(SIGPIPE, SIG_IGN);  // a run outlives the reader of what it says
  const bool all_resume = world->broadcast(resumes ? "resume" : "") == "resume";  // as the first sees the folder
  if (all_resume) return resume(recipe, *config, *world, arguments);
  std::optional<BranchPoint> branch;
  if (!config->resume.branch.empty()) branch = open_branch(with_absolute_paths(*config).resume.branch);
  return Run(recipe, *config, *world, std::nullopt, std::move(branch)).go();
}

}  // namespace kb
