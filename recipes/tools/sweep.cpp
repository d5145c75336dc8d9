// summary: minibatches and learning rates: how many steps each takes to a target
#include <fmt/format.h>

#include <filesystem>

#include "recipes/config/command_line.h"
#include "recipes/papers/table.h"
#include "recipes/run/command_words.h"
#include "recipes/run/console.h"
#include "recipes/sweep/claims.h"
#include "recipes/sweep/sweep.h"
#include "recipes/sweep/sweep_store.h"
#include "recipes/sweep/sweep_trials.h"
#include "recipes/tools/commands.h"
#include "recipes/trials/study_process.h"
#include "runtime/options.h"

namespace kb {
namespace {

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
