#include "recipes/run/trainer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <cstring>
#include <future>
#include <limits>

#include "recipes/config/learning.h"
#include "recipes/config/run_task.h"
#include "recipes/perf/overlap_report.h"
#include "recipes/perf/step_profiles.h"
#include "recipes/run/advice.h"
#include "recipes/run/command_words.h"
#include "recipes/run/interrupt.h"
#include "recipes/run/processes.h"
#include "recipes/run/resume.h"
#include "recipes/run/run_observer.h"
#include "recipes/run/run_texts.h"
#include "recipes/run/schedule_text.h"
#include "recipes/run/start_time.h"
#include "recipes/train/bucket_choice.h"
#include "recipes/train/device.h"
#include "recipes/train/init_weights.h"
#include "recipes/train/metrics_cut.h"
#include "recipes/train/train.h"
#include "recipes/train/world.h"
#include "runtime/atomic_file.h"
#include "runtime/input_file.h"

namespace kb {
namespace {

constexpr const char* kAlgorithmChoices = "picks";  // in a checkpoint

// Everything of one run that is there before step 0.
class Run {
 public:
  // `resumed`: the run to go on with, whose flags these are.
  Run(const Recipe& recipe, const RunConfig& config, World& world, std::optional<ResumedRun> resumed = std::nullopt)
      : recipe_(recipe),
        given_(config),
        world_(with_equal_flags(world, recipe, config)),
        resumed_(std::move(resumed)),
        console_(config.quiet || !world.leads(), world.size() == 1),
        device_(choose_device(own_part(config), &world)),
        config_(settled(config, device_.backend->target())) {
    console_.line(fmt::format("{} on {} ({})", recipe.name, device_.backend->description(), device_.reason));
    if (world.size() > 1) console_.line(world.communicator().description());
    if (!device_.sums.empty()) console_.line("GPUs sum their gradients: " + device_.sums);
    if (const std::string note = world.note(); !note.empty()) console_.line(note);
    if (const std::string note = threads_note(config.threads, world.processors()); !note.empty()) console_.line(note);
    if (const std::string note = precision_note(*device_.backend, config); !note.empty()) console_.line(note);
    if (const std::string note = without_effect_note(*device_.backend, config); !note.empty()) console_.line(note);
    if (checkpoint())
      if (const std::string note = use_algorithm_choices(*device_.backend, checkpoint()->fact(kAlgorithmChoices));
          !note.empty())
        console_.line(note);
    load_and_compile();
  }

  int go() {
    StateStore& store = programs_->store;
    Session &training = programs_->training, &inference = programs_->inference;
    std::map<std::string, std::string> facts = checkpoint_facts(recipe_, config_, *programs_, data_);
    check_resumable(facts);
    facts[kAlgorithmChoices] = algorithm_choices();
    say(program_lines(*programs_, config_));
    if (const std::string text =
            adaptation_text(config_, make_scalars(recipe_.optimizers, config_, plan_), training.compiled().space);
        !text.empty())
      console_.line(text);
    load_state([&](const std::string& line) { console_.line(line); });
    check_alike(facts);
    if (world_.leads() && (!config_.dry_run || !programs_->dumps.empty()))
      open_folder(training.compiled(), inference.compiled());
    if (config_.dry_run) return 0;
    Interrupt::remember(world_.size() == 1);  // several processes the launcher ends all at once
    const LoopStart start = shared_start();
    const auto say_line = [this](const std::string& line) { console_.line(line); };
    RunRecord record =
        folder_ ? RunRecord(*folder_, resumed_.has_value(), store, facts, config_.keep, say_line) : RunRecord();
    if (world_.heartbeat()) world_.heartbeat()->set_hint(world_.broadcast(folder_ ? how_to_go_on() : ""));
    const StepPicture picture(recipe_, config_, device_.backend->description(), world_, console_, start.step,
                              plan_.steps);
    RunObserver observer(console_, record, picture, started_);
    const LoopResult result = run_loop({task_,
                                        config_,
                                        plan_,
                                        {*device_.backend, world_},
                                        *programs_,
                                        loader_threads_,
                                        [this] { load_state([](const std::string&) {}); }},
                                       start, observer);
    return finish(result, store, record);
  }

 private:
  // Over the initial values that the store has.
  void load_state(const std::function<void(const std::string&)>& say) {
    if (const Checkpoint* from = checkpoint())
      load_checkpoint(programs_->store, *from);
    else if (!config_.init.empty())
      init_weights(programs_->store, config_.init, config_.init_partial ? InitExtent::partial : InitExtent::whole, say);
  }

  // Returns the configuration of the same run that leaves nothing of its bits open.
  static RunConfig settled(const RunConfig& given, const Target& target) {
    RunConfig config = with_plan(with_absolute_paths(given));
    if (config.shards == 0) config.shards = target.shards;
    return config;
  }

  RunConfig with_bucket() const {
    RunConfig config = config_;
    config.bucket_mb = bucket_mb_;
    return config;
  }

  // Returns the flags with this process's share of the threads of a machine, which other processes may use too.
  RunConfig own_part(RunConfig config) const {
    config.threads = threads_of(config, world_);
    return config;
  }

  // Before anything that they do together.
  static World& with_equal_flags(World& world, const Recipe& recipe, const RunConfig& config) {
    world.check_alike({{"version", KB_VERSION}, {"recipe", recipe.name}, {"flags", shared_flags(recipe, config)}});
    return world;
  }

  // Every process takes the same steps.
  void check_alike(const std::map<std::string, std::string>& facts) {
    if (world_.size() == 1) return;
    World::Facts all{{"shards", std::to_string(config_.shards)},
                     {"the library of convolutions and matmuls", device_.backend->library()},
                     {"graph", facts.at("graph")}};
    std::string schedule;
    for (const Schedule* program : programs_->training.compiled().program.all()) schedule += to_text(*program);
    all.emplace_back("schedule", std::move(schedule));
    all.emplace_back("state", programs_->store.state_sha256());
    if (on_gpu()) all.emplace_back("device", device_.backend->description());
    all.emplace_back("library's implementations", algorithm_choices());
    world_.check_alike(all);
  }

  // At the same time where the programs follow from the data set's name. Of two faults that of the data is told.
  void load_and_compile() {
    const auto compile = [this](const Task& task, const Residency& residency) {
      // Until this has ended no other thread of this process uses the communicator.
      Programs programs = compile_alike(world_, *device_.backend, [&] {
        return compile_programs(task, with_bucket(), device_.backend->target(), residency);
      });
      return std::make_unique<LoadedPrograms>(*device_.backend, std::move(programs),
                                              static_cast<uint32_t>(config_.seed));
    };
    std::future<std::unique_ptr<LoadedPrograms>> compiling;
    Residency expected;
    if (const std::optional<Task> task = task_before_data(recipe_, config_)) {
      expected = residency(*task);
      choose_bucket_size(*task, expected);
      compiling = std::async(compile, *task, expected);  // by get() where no thread can be made
    }
    LoadedTask loaded = load_task(recipe_, config_);
    task_ = std::move(loaded.task);
    data_ = std::move(loaded.data);
    loader_threads_ = choose_loader_threads(own_part(config_), world_.processors());
    residency_ = residency(task_);
    plan_ = make_plan(config_, task_.train_count);
    say(plan_lines(given_, plan_, task_, data_, residency_, loader_threads_));
    if (compiling.valid()) programs_ = compiling.get();
    // Whether they compile anew follows from these.
    const std::string resident = fmt::format("{} training and {} test samples", residency_.train, residency_.test);
    world_.check_alike({{"data", data_.name + " " + data_.fingerprint}, {"what is on the device", resident}});
    if (!programs_ || residency_ != expected) {  // a variant of a published set has other rows
      programs_.reset();
      choose_bucket_size(task_, residency_);
      programs_ = compile(task_, residency_);
    }
  }

  bool on_gpu() const { return device_.backend->target().processor == Processor::gpu; }

  void choose_bucket_size(const Task& task, const Residency& residency) {
    const BucketChoice choice = bucket_of_run(task, own_part(config_), device_.backend->target(), residency, world_);
    bucket_mb_ = choice.megabytes;
    if (!choice.text.empty()) console_.line(choice.text);
  }

  Residency residency(const Task& task) const {
    return choose_residency(config_, task, device_.backend->target(), device_.backend->memory_bytes());
  }

  void say(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) console_.line(line);
  }

  std::string derivation() const { return rate_derivation(config_, plan_); }

  const Checkpoint* checkpoint() const { return resumed_ && resumed_->checkpoint ? &*resumed_->checkpoint : nullptr; }
  // This device's; where it makes none, those of the one that the run comes from, and may go back to.
  std::string algorithm_choices() const {
    const std::string own = algorithm_choices_text(*device_.backend);
    return own.empty() && checkpoint() ? checkpoint()->fact(kAlgorithmChoices) : own;
  }
  int64_t first_step() const { return checkpoint() ? checkpoint()->step : 0; }

  void check_resumable(const std::map<std::string, std::string>& facts) const {
    if (!checkpoint()) return;
    check_belongs(recipe_, *checkpoint(), facts);
    if (first_step() > plan_.steps)
      throw Error(fmt::format("--resume: {} steps are done already, of which the flags given ask for {}", first_step(),
                              plan_.steps));
    check_schedule(*checkpoint(), make_scalars(recipe_.optimizers, config_, plan_));
  }

  void open_folder(const Compiled& training, const Compiled& inference) {
    const std::string device = device_.backend->description();
    const RunConfig config = with_bucket();
    const ManifestFacts facts{recipe_,
                              config,
                              plan_,
                              training,
                              inference,
                              programs_->parameters,
                              task_,
                              data_,
                              derivation(),
                              device,
                              device_.backend->library(),
                              algorithm_choices(),
                              residency_};
    if (!resumed_) {
      folder_.emplace(recipe_.name, config_.out);
      write_file_atomically(folder_->file(kManifest), manifest_text(facts));
    } else {
      folder_.emplace(resumed_->folder);
      if (!config_.dry_run) write_file_atomically(folder_->file(kManifest), describe_resumed(facts));
    }
    for (const DumpFile& dump : programs_->dumps) write_file_atomically(folder_->file(dump.name), dump.text);
    if (!programs_->dumps.empty())
      console_.line(fmt::format("dumped {} files into {}", programs_->dumps.size(), folder_->path().string()));
    programs_->dumps.clear();
  }

  // Says what goes on; gives the manifest's new text.
  std::string describe_resumed(const ManifestFacts& facts) {
    const std::string from = checkpoint() ? checkpoint()->path.filename().string() : "no checkpoint: from the start";
    console_.line(fmt::format("resuming {}: {}; {} of {} steps are done", folder_->path().string(), from, first_step(),
                              plan_.steps));
    if (checkpoint() && has_earlier_graph(*checkpoint()))
      console_.line("the checkpoint is of an earlier Kilobatch: flags, data and tensors were compared, its graph not");
    return resumed_manifest_text(facts, resumed_->manifest, first_step(), [&](const std::string& difference) {
      console_.line("NOTE: not the machine or build that this run began with, so its bits may differ: " + difference);
    });
  }

  // As the leading process finds it in the folder.
  LoopStart shared_start() {
    if (!resumed_ || world_.size() == 1) return make_start();
    LoopStart start = world_.leads() ? make_start() : LoopStart{};
    const Evaluation e = start.evaluation.value_or(no_evaluation(programs_->metrics.test));
    std::vector<double> numbers = {static_cast<double>(start.step),       start.evaluation ? 1.0 : 0.0, start.sums.loss,
                                   static_cast<double>(start.sums.steps), static_cast<double>(e.count), e.loss};
    for (const Figure& figure : e.figures) numbers.push_back(figure.value);
    start.sums.metrics.resize(programs_->metrics.training.size());
    numbers.insert(numbers.end(), start.sums.metrics.begin(), start.sums.metrics.end());
    const size_t bytes = numbers.size() * sizeof(double);
    std::memcpy(numbers.data(), world_.broadcast({reinterpret_cast<const char*>(numbers.data()), bytes}).data(), bytes);
    start = {static_cast<int64_t>(numbers[0]),
             std::nullopt,
             {static_cast<int64_t>(numbers[3]),
              numbers[2],
              {numbers.end() - static_cast<std::ptrdiff_t>(start.sums.metrics.size()), numbers.end()}},
             start.first_loss};
    if (numbers[1] == 0) return start;
    start.evaluation = Evaluation{numbers[5], static_cast<int64_t>(numbers[4]), e.figures};
    for (size_t i = 0; i < e.figures.size(); ++i) start.evaluation->figures[i].value = numbers[6 + i];
    return start;
  }

  LoopStart make_start() {
    if (!resumed_) return {};
    const int64_t step = first_step();
    const bool is_due = evaluation_is_due(config_, plan_, step);
    const MetricsCut cut = cut_metrics(folder_->file(kMetrics), programs_->metrics, step, is_due);
    if (cut.dropped > 0)
      console_.line(fmt::format("{}: {} line{} past step {}, which is where it goes on, moved to {}", kMetrics,
                                cut.dropped, cut.dropped == 1 ? "" : "s", step, kCutMetrics));
    if (!cut.damaged.empty())
      console_.line(
          fmt::format("NOTE: {}: what cannot be read or is out of order was left as it is and passed over: {}",
                      kMetrics, line_numbers(cut.damaged)));
    if (cut.last_step + 1 < step)
      console_.line(fmt::format("NOTE: {} lacks the steps {} to {}", kMetrics, cut.last_step + 1, step - 1));
    return {step, cut.evaluation, cut.sums, cut.first_loss};
  }

  int finish(const LoopResult& result, const StateStore& store, RunRecord& record) {
    const Evaluation evaluation = result.evaluation.value_or(no_evaluation(programs_->metrics.test));
    record.end({result.steps, evaluation, store.state_sha256()});
    if (folder_)
      write_file_atomically(folder_->file(kManifest),
                            ended_manifest_text(read_file(folder_->file(kManifest)), result, evaluation));
    const int64_t steps = result.steps - first_step();
    const double samples = static_cast<double>(steps * plan_.minibatch);
    if (result.evaluation) console_.line("\n" + evaluation_text(*result.evaluation));
    if (result.averaged) console_.line(evaluation_text(*result.averaged, " of the averaged parameters"));
    console_.line(fmt::format("trained {} steps in {:.1f} s, {:.0f} samples/s", steps, result.train_seconds,
                              result.train_seconds > 0 ? samples / result.train_seconds : 0));
    if (steps > 0 && programs_->training.lag() > 0)
      console_.line(fmt::format("the host spent {:.0f} us a step enqueueing it",
                                1e6 * result.host_seconds / static_cast<double>(steps)));
    if (!result.overlaps.empty())
      console_.line(fmt::format("the step of median time, of rank 0\n{}",
                                overlap_text(programs_->training.compiled(), median_step(result.overlaps))));
    const int code = result.ending == Ending::interrupted ? 128 + world_.stop_reason() : 0;
    if (!folder_) return code;
    draw_layers();
    console_.line(fmt::format(
        "run folder: {} (curves.svg, metrics.csv, metrics.jsonl, manifest.json, model.safetensors, checkpoints)",
        folder_->path().string()));
    if (result.is_cut)
      console_.line(
          fmt::format("stopped after {} of {} steps: --stop-at {}", result.steps, plan_.steps, config_.stop_at.text()));
    if (const std::string next = closing_advice(result); !next.empty()) console_.line(next);
    return code;
  }

  std::string closing_advice(const LoopResult& result) const {
    if (result.is_cut) return how_to_go_on(fmt::format(" --stop-at {}st", plan_.steps));
    if (result.ending == Ending::interrupted) return how_to_go_on();
    return result.is_diverged ? "" : what_next(recipe_, given_, plan_);
  }

  void draw_layers() {
    if (!config_.log_layers) return;
    const std::vector<LoggedLayer> layers = logged_layers(programs_->store.space());
    const std::vector<LayerNorms> norms = read_layer_norms(folder_->file(kMetrics), layers.size());
    if (norms.empty()) return;
    const std::string title = fmt::format("{}, optimizer {}, kn {}", recipe_.name, config_.optimizer, plan_.minibatch);
    write_file_atomically(folder_->file(kLayerPicture), layer_picture(title, layers, norms));
    console_.line(fmt::format("norms of {} layers at {} steps: {}", layers.size(), norms.size(),
                              folder_->file(kLayerPicture).string()));
  }

  // `flags`: those that the run did not have.
  std::string how_to_go_on(const std::string& flags = "") const {
    if (config_.resume == kResumeAuto && flags.empty()) return "go on: the same command again";
    return fmt::format("go on: {} --resume {}{}", start_words(recipe_), shell_quoted(folder_->path().string()), flags);
  }

  const std::chrono::steady_clock::time_point started_ = program_start();
  const Recipe& recipe_;
  const RunConfig given_;
  World& world_;
  std::optional<ResumedRun> resumed_;
  Console console_;
  Device device_;
  const RunConfig config_;
  double bucket_mb_ = 0;  // as given, or chosen for this network
  Residency residency_;
  int loader_threads_ = 0;
  Task task_;
  DataFacts data_;
  RunPlan plan_;
  std::unique_ptr<LoadedPrograms> programs_;
  std::optional<RunFolder> folder_;
};

// Before anything is compiled.
void check_files(const RunConfig& config, bool resumes) {
  check_picture_files(config);
  const bool has_folder = !config.dry_run || !config.dump.empty();
  if (!resumes && has_folder && !config.out.empty()) check_unused(config.out);
}

int resume(const Recipe& recipe, const RunConfig& given, World& world, const std::vector<std::string>& arguments) {
  ResumedRun run = open_resumed(recipe, given, arguments, world.leads() ? RunFolder::Use::own : RunFolder::Use::share);
  run.config.processes = world.size();
  if (run.ended) {
    Console(run.config.quiet || !world.leads())
        .line(fmt::format("{} has ended: all its steps are done, and nothing is left to do\nhint: more --epochs go on "
                          "with it where the schedule does not depend on its length (constant, step)",
                          run.folder.path().string()));
    return 0;
  }
  const RunConfig config = run.config;
  return Run(recipe, config, world, std::move(run)).go();
}

}  // namespace

int train_recipe(const Recipe& recipe, const std::vector<std::string>& arguments) {
  std::optional<RunConfig> config = parse_flags(recipe, start_words(recipe), arguments);
  if (!config) return 0;
  if (!config->print_schedule.empty()) {
    print_schedule(recipe, *config);
    return 0;
  }
  const bool resumes = goes_on(*config);
  if (config->resume.empty() && !config->checkpoint.empty())
    throw UsageError("--checkpoint: it names what --resume goes on from; to begin with its weights: --init FILE");
  std::vector<std::string> command{std::filesystem::read_symlink("/proc/self/exe").string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  if (config->dry_run && wants_picture(*config))
    throw UsageError("--picture, --trace: a dry run takes no step to time\n  hint:     ./run inspect RECIPE times one");
  if (const std::optional<int> code = launch_processes(*config, resumes, command)) return *code;
  const Interrupt interrupt;
  const std::unique_ptr<World> world = join_world(*config);
  if (world->leads()) check_files(*config, resumes);
  std::signal(SIGPIPE, SIG_IGN);  // a run outlives the reader of what it says
  const bool all_resume = world->broadcast(resumes ? "resume" : "") == "resume";  // as the first sees the folder
  return all_resume ? resume(recipe, *config, *world, arguments) : Run(recipe, *config, *world).go();
}

}  // namespace kb
