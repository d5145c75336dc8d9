#include "recipes/study/hour.h"

#include <fmt/format.h>

#include <filesystem>

#include "recipes/config/flags.h"
#include "recipes/config/plan.h"
#include "recipes/papers/table.h"
#include "recipes/run/command_words.h"
#include "recipes/run/interrupt.h"
#include "recipes/study/executor.h"
#include "recipes/study/hour_report.h"
#include "recipes/study/study_console.h"
#include "recipes/study/study_folder.h"
#include "recipes/study/study_lines.h"
#include "recipes/study/study_process.h"
#include "runtime/atomic_file.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHourRecipe = "lenet_mnist";

struct HourTrials {
  std::vector<HourArm> arms;
  std::vector<Trial> trials;      // seeds of the first arm, then those of the next
  TrialResources resources = {};  // of each
};

std::string trial_name(const HourArm& arm, int64_t seed) { return fmt::format("{}-seed-{}", arm.name, seed); }

HourTrials trials_of(const HourRequest& request) {
  HourTrials result{hour_arms(request.plan, request.epochs), {}, {}};
  const Recipe recipe = find_recipe(kHourRecipe);
  for (const HourArm& arm : result.arms) {
    std::vector<std::string> words = arm.words;
    words.insert(words.end(), {"--dataset", request.dataset});
    if (!request.data.empty()) words.insert(words.end(), {"--data", request.data});
    RunConfig config = with_absolute_paths(*parse_flags(recipe, kHourRecipe, words));
    config.jobs = request.jobs;
    result.resources = resources_of(config, result.arms.size() * request.seeds.size());
    for (const int64_t seed : request.seeds) {
      RunConfig one = with_resources(config, result.resources);
      one.seed = seed;
      result.trials.push_back({trial_name(arm, seed), flag_words(recipe, one)});
    }
  }
  return result;
}

HourReport report_of(const HourRequest& request, const HourTrials& all, const std::vector<TrialOutcome>& outcomes,
                     const fs::path& store) {
  HourReport report;
  report.title =
      fmt::format("ImageNet in 1 hour, in small: LeNet with batch norm on {}, {} epochs, {} seed{}", request.dataset,
                  request.epochs, request.seeds.size(), request.seeds.size() == 1 ? "" : "s");
  report.command = request.command;
  report.arms = all.arms;
  size_t trial = 0;
  for (const HourArm& arm : all.arms) {
    std::vector<RunReport> runs;
    size_t failed = 0;
    for (size_t seed = 0; seed < request.seeds.size(); ++seed, ++trial) {
      if (outcomes[trial].end == TrialEnd::failed)
        ++failed;
      else
        runs.push_back(read_run(store / all.trials[trial].name));
    }
    if (!runs.empty()) report.results[arm.name] = summary_of(std::move(runs), failed);
  }
  report.claims = hour_claims(request.plan, report.results);
  return report;
}

std::string curves_of(const HourReport& report) {
  std::vector<StudyLine> lines;
  GoalCurve goal;
  for (const HourArm& arm : report.arms) {
    const auto at = report.results.find(arm.name);
    if (at == report.results.end()) continue;
    goal = goal_curve(at->second);
    for (const RunReport& run : at->second.runs) lines.push_back(line_of(run, arm.name));
  }
  return study_picture(report.title, lines, goal);
}

void write_report(const fs::path& store, const HourReport& report) {
  const std::string curves = curves_of(report);
  write_file_atomically(store / "curves.svg", curves);
  write_file_atomically(store / kStudySummary, hour_json(report));
  write_file_atomically(store / "hour.html", hour_page(report, curves));
}

}  // namespace

int run_hour(const HourRequest& request) {
  refuse_launcher();
  const HourTrials all = trials_of(request);
  const fs::path store = open_study("hour-" + request.dataset, request.out, all.trials);
  Console console(false);
  console.line(fmt::format("hour: {} configurations x {} seed{} = {} trainings, {} at once, in {}", all.arms.size(),
                           request.seeds.size(), request.seeds.size() == 1 ? "" : "s", all.trials.size(),
                           all.resources.jobs, store.string()));
  const Interrupt interrupt;
  Interrupt::remember(false);
  StudyConsole watch(console, store, all.trials.size());
  const auto outcomes = run_trials(all.trials, {store, trial_program(kHourRecipe), all.resources.jobs}, watch);
  if (!outcomes) {
    console.line(fmt::format("stopped; to go on: {} --out {}", request.command, shell_quoted(store.string())));
    return 128 + Interrupt::number();
  }
  const HourReport report = report_of(request, all, *outcomes, store);
  write_report(store, report);
  console.line("\n" + report.title + "\n\n" + hour_table(report) + "\n" + hour_claims_text(report));
  console.line(
      fmt::format("study: {} (hour.html, curves.svg, summary.json, a run folder for each training)", store.string()));
  for (const TrialOutcome& outcome : *outcomes)
    if (outcome.end == TrialEnd::failed) return 1;
  return 0;
}

}  // namespace kb
