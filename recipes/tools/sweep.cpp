// summary: minibatches and learning rates: how many steps each takes to a target
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recipes/config/command_line.h"
#include "recipes/papers/table.h"
#include "recipes/run/command_words.h"
#include "recipes/run/console.h"
#include "recipes/run/interrupt.h"
#include "recipes/sweep/claims.h"
#include "recipes/sweep/gpu_share.h"
#include "recipes/sweep/packing.h"
#include "recipes/sweep/sweep_index.h"
#include "recipes/sweep/sweep_source.h"
#include "recipes/sweep/sweep_store.h"
#include "recipes/sweep/sweep_table.h"
#include "recipes/sweep/sweep_trials.h"
#include "recipes/task/model.h"
#include "recipes/tools/commands.h"
#include "recipes/trials/executor.h"
#include "recipes/trials/study_process.h"
#include "runtime/options.h"

namespace kb {
namespace {

// The work of one process of a sweep.
struct SweepWork {
  std::filesystem::path store;       // folder of the sweep
  std::vector<std::string> program;  // command that starts a trial (trial_program)
  std::string go_on;                 // command that goes on with the sweep if it is stopped
  int64_t jobs = 0;                  // number of trials at once; 0: as many as train faster side by side
  std::optional<std::chrono::duration<double>> budget = {};  // longest wall time of this call
  std::chrono::milliseconds lease{60'000};                   // time without a renewal after which a trial is lost
  bool quiet = false;
};

std::string ending_of(const PlannedTrial& trial, const TrialOutcome& outcome) {
  const TrialStanding& standing = trial.standing;
  if (outcome.end == TrialEnd::failed) return "failed";
  if (trial.state == TrialState::reached) return fmt::format("target after {} steps", standing.target_step);
  if (trial.state == TrialState::diverged) return fmt::format("diverged after {} steps", standing.steps);
  if (trial.state == TrialState::hopeless) return fmt::format("hopeless after {} steps: stopped", standing.steps);
  if (trial.state == TrialState::missed) return fmt::format("target not reached in {} steps", standing.steps);
  return "another process has taken it over";
}

// Prints a line for each trial of this process that ended or waits for its folder, and how long the rest may take.
class SweepConsole : public TrialObserver {
 public:
  // `budget`: time after which it asks to stop. `console` and `view` must outlive this object.
  SweepConsole(Console& console, const SweepView& view, std::optional<std::chrono::duration<double>> budget)
      : console_(console), view_(view), budget_(budget), closed_before_(view.plan().closed()) {}

  void ended(const Trial& trial, const TrialOutcome& outcome) override {
    const PlannedTrial* planned = view_.plan().find(trial.name);
    if (!planned) return;
    const std::string values = values_text(*planned);
    console_.line(ended_text(trial.name + (values.empty() ? "" : ", ") + values, ending_of(*planned, outcome),
                             standing(), outcome));
  }

  void waits(const Trial& trial, const std::filesystem::path& folder) override {
    console_.line(waiting_text(trial, folder));
  }

  void progress(double, size_t running) override {
    if (console_.wants_progress()) console_.status(fmt::format("{}, {} running", standing(), running));
  }

  bool wants_to_stop() override { return Interrupt::number() != 0 || has_spent(); }

 private:
  using Clock = std::chrono::steady_clock;
  bool has_spent() const { return budget_ && Clock::now() - started_ >= *budget_; }

  // Returns how many trials are done and the time that is left at most: that of the greatest possible number of trials,
  // each as long as those that were done. Later trials are capped by earlier ones, and most are stopped before that.
  std::string standing() const {
    const size_t closed = view_.plan().closed(), most = view_.plan().most_trials(view_.definition());
    std::string text = fmt::format("{} of at most {} done", closed, most);
    if (closed <= closed_before_ || closed >= most) return text;
    const double passed = std::chrono::duration<double>(Clock::now() - started_).count();
    const double each = passed / static_cast<double>(closed - closed_before_);
    return text + fmt::format(", at most {} left", time_left_text(each * static_cast<double>(most - closed)));
  }

  Console& console_;
  const SweepView& view_;
  const std::optional<std::chrono::duration<double>> budget_;
  const Clock::time_point started_ = Clock::now();
  const size_t closed_before_;  // number of trials that were closed when this process began
};

std::string what_is_done(const SweepView& view) {
  return fmt::format("{} minibatches, {} of at most {} trials done, in {}", view.definition().minibatches.size(),
                     view.plan().closed(), view.plan().most_trials(view.definition()), view.folder().string());
}

// Trains the trials that wait. Returns false if it was asked to stop.
bool train_waiting(const Recipe& recipe, const SweepWork& work, SweepView& view, SweepConsole& watch, SweepIndex& index,
                   Console& console) {
  if (view.plan().waiting().empty()) return true;
  const auto say = [&](const std::string& line) { console.line(line); };
  const std::unique_ptr<const GpuShare> share =
      may_share_gpu(recipe, view, work.jobs) ? std::make_unique<GpuShare>() : nullptr;
  std::vector<std::string> program = work.program;
  if (share) program.insert(program.begin(), share->words().begin(), share->words().end());
  if (share && !share->shortfall().empty()) say("trials take turns on the GPU: " + share->shortfall());
  const std::optional<TrialResources> resources =
      choose_resources(recipe, view, {program, work.jobs, [&] { return watch.wants_to_stop(); }, say});
  if (!resources) return false;
  say(resources->text());
  ClaimFolder claims(view.folder() / "claims", work.lease);
  const std::unique_ptr<TrialSource> source = make_sweep_source(recipe, view, claims, index, say);
  return run_trials(*source, {view.folder(), program, resources->jobs, resources->threads, view.definition().shards},
                    watch);
}

// Prints what to do next; returns the exit code.
int conclude(const SweepView& view, const SweepWork& work, bool has_stopped, Console& console) {
  if (has_stopped) {
    console.line((Interrupt::number() != 0 ? "stopped; to go on: " : "the budget is spent; to go on: ") + work.go_on);
    return Interrupt::number() != 0 ? 128 + Interrupt::number() : 0;
  }
  if (!view.plan().is_done()) {
    const size_t failed = view.plan().count(TrialState::failed);
    console.line(fmt::format(
        "not done: {} trial{} failed here, and larger minibatches wait for them; to go on, once the reason is gone: {}",
        failed, failed == 1 ? "" : "s", work.go_on));
    return 1;
  }
  console.line("next: ./run study " + shell_quoted(view.folder().string()));
  return 0;
}

// Runs the trials of the store that no other process runs, until all trials are done, also those of other processes.
// Prints the results and writes them to index.sqlite. If a signal or the budget stops it, its trials make checkpoints
// first. A trial that fails here is left to other processes; after three failures in a row this process takes no more.
// Returns an exit code: 128 + the signal's number if one stopped it, 1 if trials that failed here are not done, else 0.
int run_sweep(const Recipe& recipe, const SweepWork& work) {
  Console console(work.quiet);
  check_build(read_sweep(work.store), work.store.string());
  SweepView view(work.store, [&](const SweepDefinition& definition, const PlannedTrial& trial) {
    return refusal_of(recipe, definition, trial);
  });
  view.advance();
  console.line("sweep: " + what_is_done(view));
  for (const std::string& line : foreign_runs(view)) console.line("NOTE: " + line);
  const Interrupt interrupt;
  Interrupt::remember(false);
  SweepConsole watch(console, view, work.budget);
  SweepIndex index;
  const bool has_stopped = !train_waiting(recipe, work, view, watch, index, console);
  view.refresh();
  if (const std::string reason = index.write(view); !reason.empty()) console.line("NOTE: " + reason);
  console.line("\n" + sweep_table(view.plan()) + "store: " + view.folder().string() +
               " (index.sqlite, a run folder for each trial)");
  return conclude(view, work, has_stopped, console);
}

constexpr const char* kWorkerFlag = "--worker";

// Flags as the user gives them.
struct SweepArguments {
  SweepFlags sweep;
  std::string store, worker, budget, lease = "60s";
  int64_t jobs = 0;

  std::vector<ToolSwitch> switches();
};

std::vector<ToolSwitch> SweepArguments::switches() {
  SweepConstants& constants = sweep.constants;
  return {
      // Minibatches, ranges and seeds to try.
      {{"--grid", "minibatch=..", "minibatches: minibatch=8:4096:x2, or minibatch=8,16,32"}, &sweep.grid},
      {{"--search", "FLAG=RANGE",
        "a flag to search, may be given several times: lr=1e-4:10:log; lr=x0.125:8 around the last minibatch's best, "
        "at first around the rate without a search; momentum=0.9:0.999:revlog; weight-decay=0:1e-3; "
        "label-smoothing=0,0.01,0.1"},
       &sweep.search},
      {{"--trials", "N", "points in the ranges for each minibatch; 12 where it is not given"}, &sweep.trials},
      {{"--points", "HOW", "how they lie: halton, a quasi-random sequence, or even; halton where it is not given"},
       &sweep.points},
      {{"--point-seed", "N", "moves the points of the sequence; 0, as it is, where it is not given"},
       &sweep.point_seed,
       0},
      {{"--seeds", "N", "seeds that the best trial of each minibatch is trained under; 1 where it is not given"},
       &sweep.seeds},
      // Ends of trials, and widenings of ranges.
      {{"--cap", "X",
        "a trial ends at X times the samples that the minibatch before took to the target, or at 1.5 times its steps "
        "where that is later; 3 where it is not given"},
       &sweep.cap},
      {{"--seed-cap", "X",
        "further seeds of the best trial end at X times its steps, with --schedule constant; 0: as trials that search; "
        "4 where it is not given"},
       &constants.seed_cap},
      {{"--least-cap", "X", "least steps that --cap leaves a trial, times those of the minibatch before; 1.5"},
       &constants.least_cap},
      {{"--hopeless", "X", "a trial is stopped beyond X times the steps of its minibatch's best one; 1.25"},
       &constants.hopeless},
      {{"--draws", "X",
        "points of a minibatch at most, times --trials, where trials diverge; 2; 1: none is drawn again"},
       &constants.draws},
      {{"--edge", "SHARE", "outer share of a range in which the best trial has it widened; 0.15; 0: its end alone"},
       &constants.edge},
      {{"--widenings", "N", "times that a minibatch's ranges are widened, by a third; 2; 0: they stay"},
       &constants.widenings,
       0},
      // The store, times and jobs.
      {{"--store", "DIR", "the sweep's folder, which goes on where it was stopped; runs/sweep-RECIPE-TIME"}, &store},
      {{"--budget", "TIME", "no trial is trained after it, and the same command goes on: 90s, 45m, 2h"}, &budget},
      {{"--jobs", "J",
        "trials at once; where it is not given as many as train faster side by side, which is measured, and as the "
        "memory holds"},
       &jobs},
      {{"--lease", "TIME",
        "after which another process takes the trials of one that is not heard of; 60s where it is not given"},
       &lease},
      {{kWorkerFlag, "DIR", "alone, with --jobs, --budget and --lease: take trials of the sweep in this folder"},
       &worker}};
}

// Parses a time: "90s", "45m", "2h", "1.5h".
std::chrono::duration<double> parse_time(const std::string& flag, const std::string& text) {
  static constexpr const char* kExpectation = "a time such as 90s, 45m or 2h";
  const auto seconds_of = [](char unit) { return unit == 's' ? 1.0 : unit == 'm' ? 60.0 : unit == 'h' ? 3600.0 : 0.0; };
  const double unit = text.empty() ? 0 : seconds_of(text.back());
  double number = 0;
  try {
    if (unit > 0) number = parse_finite(flag, text.substr(0, text.size() - 1), kExpectation);
  } catch (const UsageError&) {
    number = 0;
  }
  constexpr double kMostSeconds = 1e9;
  if (number <= 0 || number * unit > kMostSeconds) refuse_value(flag, kExpectation, text);
  return std::chrono::duration<double>(number * unit);
}

std::chrono::milliseconds parse_lease(const std::string& text) {
  const auto lease = std::chrono::duration_cast<std::chrono::milliseconds>(parse_time("--lease", text));
  if (lease < kShortestLease || lease > kLongestLease) refuse_value("--lease", "a time from 1s to 24h", text);
  return lease;
}

// Returns the work without the store and the command that goes on with it.
SweepWork work_of(const SweepArguments& given, const ToolArguments& arguments, const std::string& recipe) {
  SweepWork work;
  work.program = trial_program(arguments.recipe ? "" : recipe);
  work.jobs = given.jobs;
  if (!given.budget.empty()) work.budget = parse_time("--budget", given.budget);
  work.lease = parse_lease(given.lease);
  return work;
}

int work_on(SweepWork work, const Recipe& recipe, const ToolArguments& arguments, const std::filesystem::path& store) {
  work.store = std::filesystem::absolute(store).lexically_normal();
  work.go_on = fmt::format("{} {} {}", arguments.recipe ? start_words(recipe) + " sweep" : tool_usage(arguments),
                           kWorkerFlag, shell_quoted(work.store.string()));
  return run_sweep(recipe, work);
}

// Runs `sweep --worker DIR`; the store says what is swept. A launcher may start any number of workers, each of which
// works for itself.
int work_in(SweepArguments given, const ToolArguments& arguments) {
  CommandLine line("Takes trials of a sweep until none is left.",
                   tool_usage(arguments) + " --worker DIR [--jobs J] [--budget TIME]");
  std::optional<int64_t> jobs;
  line.text({kWorkerFlag, "DIR", "folder of the sweep"}, given.worker)
      .required()
      .whole({"--jobs", "J", "trials at once"}, jobs, 1)
      .text({"--budget", "TIME", "no trial is trained after it: 90s, 45m, 2h"}, given.budget)
      .text({"--lease", "TIME", "after which another process takes the trials of one that is not heard of"},
            given.lease);
  if (!line.parse(arguments.words)) return 0;
  given.jobs = jobs.value_or(0);
  RuntimeOptions::forget_launcher();
  const std::string name = read_sweep(given.worker).recipe;
  if (arguments.recipe && arguments.recipe->name != name)
    throw UsageError(fmt::format("--worker: expected a sweep of {}, got one of {}", arguments.recipe->name, name));
  const Recipe recipe = arguments.recipe ? *arguments.recipe : find_recipe(name);
  return work_on(work_of(given, arguments, name), recipe, arguments, given.worker);
}

}  // namespace

int sweep_command(const ToolArguments& arguments) {
  if (const std::optional<int> code = trial_or_rank(arguments)) return *code;
  SweepArguments given;
  for (const std::string& word : arguments.words)
    if (word == kWorkerFlag || word.starts_with(std::string(kWorkerFlag) + "=")) return work_in(given, arguments);
  refuse_launcher();
  const std::vector<ToolSwitch> switches = given.switches();
  const std::optional<ToolCall> call = parse_tool_call(
      arguments, "Searches minibatches and learning rates: how many steps does each take to a target?", switches);
  if (!call) return 0;
  check_choice("--points", given.sweep.points, {"halton", "even"});
  if (given.sweep.grid.empty()) throw UsageError("--grid: expected the minibatches, such as minibatch=8:4096:x2");
  const std::vector<std::string> words(arguments.words.begin() + (arguments.recipe ? 0 : 1), arguments.words.end());
  const int shards = resources_of(call->config, 1).shards;
  const SweepDefinition sweep = define_sweep(call->recipe, given.sweep, words_without(switches, words), shards);
  SweepWork work = work_of(given, arguments, call->recipe.name);
  work.quiet = call->config.out.quiet;
  const auto say = [&](const std::string& line) { Console(work.quiet).line(line); };
  if (const std::string note = beta2_note(sweep); !note.empty()) say("NOTE: " + note);
  const std::filesystem::path store =
      given.store.empty() ? default_sweep_folder(sweep, say) : std::filesystem::path(given.store);
  open_sweep(store, sweep);
  return work_on(std::move(work), call->recipe, arguments, store);
}

}  // namespace kb
