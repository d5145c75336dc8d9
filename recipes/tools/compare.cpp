// summary: epochs and samples of runs to a goal; with --rcp MLPerf's test of convergence
//
// ./run compare RUN... --goal error=24.1% prints mean and standard deviation over the runs, which must have one recipe
// and one minibatch. With --rcp the mean is judged by the reference convergence points of MLPerf's ResNet-50
// (recipes/papers/reference_check.h): runs that take too few epochs fail, because their training must differ
// from the reference's. Runs of several policies (--policy), of any minibatches, are compared by their final errors
// instead, and claims of papers are judged by them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <limits>
#include <optional>
#include <set>

#include "recipes/compare/epochs_to_goal.h"
#include "recipes/compare/error_claims.h"
#include "recipes/config/command_line.h"
#include "recipes/config/values.h"
#include "recipes/papers/reference_check.h"
#include "recipes/run/tool.h"
#include "recipes/trials/statistics.h"

namespace kb {
namespace {

constexpr double kReferenceError = 24.1;  // per cent: 100 - kReferenceTarget without its rounding error

void print_verdict(const char* name, Deviation deviation, int64_t minibatch, std::span<const double> epochs) {
  const ConvergenceVerdict v = check_convergence(resnet_points(deviation), minibatch, epochs);
  fmt::print(
      "{}\n  reference  {:.2f} epochs, standard deviation {:.3f}, {} runs count\n  these      {:.2f} epochs, at "
      "least {:.2f} allowed, p {:.3g}: {}\n",
      name, v.reference.mean, v.reference.deviation, v.reference.runs, v.mean, v.least, v.p,
      v.passes ? "pass" : "FAIL");
  if (v.score_factor > 1) fmt::print("  a time counts x {:.4f}: faster than the reference's mean\n", v.score_factor);
}

// Returns the goal that was asked for, or the reference's error where the run is judged by an error. Throws UsageError
// if the run's metric cannot have it.
TargetFigure goal_of(const RunReport& run, const std::string& asked) {
  const MetricKind& judging = run.goal_kind;
  if (asked.empty() && (!judging.is_share || judging.higher_is_better))
    throw UsageError(fmt::format("--goal: expected one for {}, which judges these runs: [error={}%] is of an error",
                                 run.goal, kReferenceError));
  if (asked.empty()) return {run.goal, kReferenceError / 100};
  const TargetFigure goal = parse_target("--goal", asked);
  const std::optional<MetricKind> kind = kind_of_target(run, goal);
  if (!kind) {
    std::vector<std::string> names = {kLossName};
    for (const auto& [name, other] : run.metric_kinds) names.push_back(name);
    throw UsageError(
        fmt::format("--goal: expected a metric of these runs: {}; got '{}'", fmt::join(names, ", "), goal.metric));
  }
  if (const std::string fault = goal.share_fault(kind->higher_is_better); kind->is_share && !fault.empty())
    throw UsageError("--goal: " + fault);
  return goal;
}

// Judges the runs by the reference points. `epochs` are of those that reached the goal.
void judge_convergence(const std::vector<EpochsToGoal>& runs, std::vector<double> epochs) {
  if (epochs.size() + 1 < runs.size())
    throw Error(
        fmt::format("--rcp: expected at most one run that did not reach the goal, which counts as the "
                    "slowest, got {}",
                    runs.size() - epochs.size()));
  if (epochs.size() < runs.size()) epochs.push_back(std::numeric_limits<double>::infinity());
  const EpochsToGoal& first = runs.front();
  if (!first.recipe.starts_with("imagenet_"))
    fmt::print("NOTE: the reference points are ResNet-50's on ImageNet; these runs are of {}\n", first.recipe);
  print_verdict("by the rules' standard deviation (of the runs that count)", Deviation::of_rules, first.minibatch,
                epochs);
  print_verdict("by the checker's standard deviation (of all runs)", Deviation::of_checker, first.minibatch, epochs);
  fmt::print(
      "NOTE: p is that of the rules' t test, made for runs of which none is trimmed; runs that are as the reference's "
      "fail the first test in 2 to 11 %, the second one in 1 to 5 %\n");
}

int compare(const std::vector<std::string>& folders, const TargetFigure& goal, bool wants_reference) {
  std::vector<EpochsToGoal> runs;
  std::vector<double> epochs, samples;
  for (const std::string& folder : folders) {
    runs.push_back(epochs_to_goal(folder, goal, wants_reference ? GoalBy::equal : GoalBy::better));
    const EpochsToGoal& run = runs.back();
    if (run.epochs) {
      epochs.push_back(*run.epochs);
      samples.push_back(*run.epochs * run.samples_per_epoch());
    }
    const std::string text = run.epochs     ? fmt::format("{:g} epochs, {:.0f} samples", epochs.back(), samples.back())
                             : run.diverged ? "not reached: it diverged"
                                            : "not reached";
    fmt::print("{:<40} {}\n", folder, text);
  }
  check_comparable(runs);
  for (const std::string& note : pooled_notes(runs)) fmt::print("NOTE: {}\n", note);
  const EpochsToGoal& first = runs.front();
  const bool is_share = kind_of_target(first, goal).value_or(MetricKind{}).is_share;
  fmt::print("{}, kn {}: {} of {} runs reached a {} {} of {:.12g}{}\n", first.recipe, first.minibatch, epochs.size(),
             runs.size(), first.part, goal.metric, is_share ? 100 * goal.value : goal.value, is_share ? " %" : "");
  if (epochs.empty()) return 1;
  if (const size_t missed = runs.size() - epochs.size())
    fmt::print("NOTE: {} run{} did not reach it and {} left out of the mean, which is too low\n", missed,
               missed == 1 ? "" : "s", missed == 1 ? "is" : "are");
  const MeanOf all = *mean_of(epochs);
  fmt::print("epochs to it: mean {:.4g}, standard deviation {}; samples: mean {:.0f}\n", all.mean,
             all.stddev ? fmt::format("{:.3g}", *all.stddev) : "unknown of one run", mean_of(samples)->mean);
  if (wants_reference) judge_convergence(runs, epochs);
  return 0;
}

// Compares the final errors of runs of several policies.
int compare_policies(const std::vector<ReportedRun>& runs) {
  const PolicyGroups found = policy_groups(runs);
  for (const std::string& left_out : found.left_out) fmt::print("NOTE: {}\n", left_out);
  if (found.groups.empty()) return 1;
  fmt::print("{}\n{}", groups_text(found.groups), claims_text(error_claims(found.groups)));
  return 0;
}

// Returns the folders, each once, and tells those that are given again.
std::vector<std::string> told_once(const std::vector<std::string>& folders) {
  std::vector<std::string> once;
  std::set<std::filesystem::path> places;
  for (const std::string& folder : folders)
    if (std::error_code error; places.insert(std::filesystem::canonical(folder, error)).second || error)
      once.push_back(folder);
    else
      fmt::print("NOTE: {} is given more than once, and counts once\n", folder);
  return once;
}

// Returns whether the runs have several policies. Their other flags are compared later.
bool differ_in_policy(const std::vector<std::string>& folders) {
  std::set<std::string> policies;
  for (const std::string& folder : folders) policies.insert(policy_words({.sync = read_manifest(folder).policy.sync}));
  return policies.size() > 1;
}

int compare_any(const std::vector<std::string>& folders, const std::string& goal, bool wants_reference) {
  if (!differ_in_policy(folders))
    return compare(folders, goal_of(read_manifest(folders.front()), goal), wants_reference);
  if (!goal.empty() || wants_reference)
    throw UsageError(fmt::format("{}: expected runs of one --policy, got several, whose final errors are compared",
                                 goal.empty() ? "--rcp" : "--goal"));
  const ReportedRuns runs = read_runs({folders.begin(), folders.end()});
  for (const std::string& left_out : runs.left_out) fmt::print("NOTE: {}\n", left_out);
  return compare_policies(runs.runs);
}

}  // namespace

int compare_command(const ToolArguments& arguments) {
  std::vector<std::string> folders;
  std::string goal;
  bool wants_reference = false;
  CommandLine line("Epochs and samples that runs took to a goal; of runs of several policies, their final errors.",
                   "./run compare RUN... [--goal METRIC=X] [--rcp]");
  line.texts({"RUN", "",
              "run folders, of one recipe, one minibatch and one part of the data; of several --policy, they may have "
              "several minibatches"},
             folders)
      .required()
      .text({"--goal", "METRIC=X",
             "figure that an evaluation in the run's course is to be better than, as --target takes it: error=0.241, "
             "error=24.1%, loss=0.1, ema_loss=0.1; with --rcp it may be the same [24.1% of an error]"},
            goal)
      .flag("--rcp", wants_reference,
            "judge the mean by MLPerf's reference convergence points of ResNet-50; at least 3 runs");
  if (!line.parse(arguments.words)) return 0;
  return compare_any(told_once(folders), goal, wants_reference);
}

}  // namespace kb
