#include "recipes/hour/hour.h"

#include <fmt/format.h>

#include <filesystem>

#include "recipes/config/flags.h"
#include "recipes/config/plan.h"
#include "recipes/hour/hour_report.h"
#include "recipes/papers/table.h"
#include "recipes/run/interrupt.h"
#include "recipes/trials/run_study.h"
#include "recipes/trials/study_folder.h"
#include "recipes/trials/study_lines.h"
#include "runtime/atomic_file.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHourRecipe = "lenet_mnist";

std::string trial_name(const HourArm& arm, int64_t seed) { return fmt::format("{}-seed-{}", arm.name, seed); }

// Command line of an arm under a seed.
RunConfig config_of(const Recipe& recipe, const HourRequest& request, const HourArm& arm, int64_t seed) {
  std::vector<std::string> words = arm.words;
  words.insert(words.end(), {"--dataset", request.dataset, "--seed", std::to_string(seed)});
  if (!request.data.empty()) words.insert(words.end(), {"--data", request.data});
  RunConfig config = with_absolute_paths(*parse_flags(recipe, kHourRecipe, words));
  config.jobs = request.jobs;
  return config;
}

StudyRequest study_of(const HourRequest& request, const std::vector<HourArm>& arms) {
  const Recipe recipe = find_recipe(kHourRecipe);
  const std::string go_on = request.out.empty() ? "the same command again" : request.command;
  StudyRequest study{"hour-" + request.dataset, request.out, {}, {}, trial_program(kHourRecipe), go_on};
  for (const HourArm& arm : arms)
    for (const int64_t seed : request.seeds)
      study.trials.push_back({trial_name(arm, seed), flag_words(recipe, config_of(recipe, request, arm, seed))});
  study.resources = resources_of(config_of(recipe, request, arms.front(), 1), study.trials.size());
  return study;
}

HourReport report_of(const HourRequest& request, const std::vector<HourArm>& arms, const StudyRuns& study) {
  HourReport report;
  report.title =
      fmt::format("ImageNet in 1 hour, in small: LeNet with batch norm on {}, {} epochs, {} seed{}", request.dataset,
                  request.epochs, request.seeds.size(), request.seeds.size() == 1 ? "" : "s");
  report.command = request.command;
  report.arms = arms;
  for (const HourArm& arm : arms) {
    std::vector<RunReport> runs;
    for (const int64_t seed : request.seeds)
      if (const auto run = study.runs.find(trial_name(arm, seed)); run != study.runs.end()) runs.push_back(run->second);
    const size_t failed = request.seeds.size() - runs.size();
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
  write_file_atomically(store / "hour.html", hour_page(report, curves));
  write_file_atomically(store / kStudySummary, hour_json(report));
}

}  // namespace

int run_hour(const HourRequest& request) {
  refuse_launcher();
  Console console(false);
  const std::vector<HourArm> arms = hour_arms(request.plan, request.epochs);
  console.line(fmt::format("hour: {} configurations x {} seed{} on {}", arms.size(), request.seeds.size(),
                           request.seeds.size() == 1 ? "" : "s", request.dataset));
  const std::optional<StudyRuns> study = run_study(study_of(request, arms), console);
  if (!study) return 128 + Interrupt::number();
  const HourReport report = report_of(request, arms, *study);
  write_report(study->folder, report);
  console.line("\n" + report.title + "\n\n" + hour_table(report) + "\n" + hour_claims_text(report));
  console.line(fmt::format("study: {} (hour.html, curves.svg, summary.json, a run folder for each training)",
                           study->folder.string()));
  if (const std::string next = hour_next(request.plan); !next.empty()) console.line(next);
  return study->failed.empty() ? 0 : 1;
}

}  // namespace kb
