// summary: "ImageNet in 1 hour" in small, on drawn glyphs: no download; minutes
//
// Repeats the trainings of Goyal et al. 2017 with a net that trains in minutes: baseline, linear scaling rule and
// warmups; LARS is added.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "recipes/config/command_line.h"
#include "recipes/config/flags.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/values.h"
#include "recipes/hour/hour_plan.h"
#include "recipes/hour/hour_report.h"
#include "recipes/papers/table.h"
#include "recipes/run/command_words.h"
#include "recipes/run/interrupt.h"
#include "recipes/run/tool.h"
#include "recipes/trials/run_study.h"
#include "recipes/trials/study_folder.h"
#include "recipes/trials/study_process.h"
#include "recipes/trials/summary.h"
#include "runtime/atomic_file.h"

namespace kb {
namespace {

struct HourRequest {
  std::string dataset = "glyphs-hour";
  std::string data;                  // folder of the data set; empty: $KB_DATA
  std::vector<int64_t> seeds = {1};  // seeds of every arm; with three or more, claims may ask for further ones
  int64_t jobs = 0, epochs = 12;
  HourPlan plan = HourPlan::brief;
  std::string out;      // folder of the study; empty: one below runs/
  std::string command;  // command that the report shows
};

namespace fs = std::filesystem;

constexpr const char* kHourRecipe = "lenet_mnist";

std::string trial_name(const HourArm& arm, int64_t seed) { return fmt::format("{}-seed-{}", arm.name, seed); }

// Returns the flags of an arm's training with a seed, complete and with absolute paths.
std::vector<std::string> words_of(const HourRequest& request, std::vector<std::string> words, int64_t seed) {
  words.insert(words.end(), {"--dataset", request.dataset, "--seed", std::to_string(seed)});
  if (!request.data.empty()) words.insert(words.end(), {"--data", request.data});
  const Recipe recipe = find_recipe(kHourRecipe);
  return flag_words(recipe, with_absolute_paths(*parse_flags(recipe, kHourRecipe, words)));
}

int64_t seed_of(const HourRequest& request, size_t number) {
  if (number < request.seeds.size()) return request.seeds[number];
  return *std::max_element(request.seeds.begin(), request.seeds.end()) +
         static_cast<int64_t>(number - request.seeds.size()) + 1;
}

// The results of the trainings that are done, and the trainings that the study needs.
struct HourStanding {
  HourReport report;
  std::vector<Trial> asked;  // trials that the study needs so far, including those that are done
};

void add_search(HourStanding& standing, const HourRequest& request, const HourArm& arm) {
  for (const HourTrial& trial : trials_of_search(arm))
    standing.asked.push_back({trial.name, words_of(request, trial.words, request.seeds.front())});
}

void add_seeds(HourStanding& standing, const HourRequest& request, const HourArm& arm, size_t seeds) {
  for (size_t i = 0; i < seeds; ++i)
    standing.asked.push_back({trial_name(arm, seed_of(request, i)), words_of(request, arm.words, seed_of(request, i))});
}

void add_result(HourReport& report, const HourRequest& request, const HourArm& arm, const StudyRuns& study) {
  std::vector<RunReport> runs;
  size_t asked = 0;
  for (size_t i = 0; i < std::max(request.seeds.size(), kMostHourSeeds); ++i) {
    const std::string name = trial_name(arm, seed_of(request, i));
    asked += std::find(study.names.begin(), study.names.end(), name) != study.names.end();
    if (const auto run = study.runs.find(name); run != study.runs.end()) runs.push_back(run->second);
  }
  const size_t failed = asked - runs.size();
  if (!runs.empty()) report.results[arm.name] = summary_of(std::move(runs), failed);
}

// Returns the standing that follows from `study`. An arm whose search is complete has its best values and counts among
// the results; other arms that are searched do not.
HourStanding standing_of(const HourRequest& request, const StudyRuns& study) {
  HourStanding standing;
  HourReport& report = standing.report;
  std::vector<HourArm> settled;
  for (HourArm& arm : hour_arms(request.plan, request.epochs)) {
    bool is_settled = true;
    if (!arm.search.empty()) {
      add_search(standing, request, arm);
      const HourChoice choice = choice_of(arm, study.runs);
      if (choice.done > 0) report.searches.push_back(choice_text(arm, choice));
      is_settled = choice.is_complete() && choice.best;
      if (is_settled) arm = at_trial(std::move(arm), *choice.best);
    }
    if (is_settled) {
      add_result(report, request, arm, study);
      settled.push_back(arm);
    }
    report.arms.push_back(std::move(arm));
  }
  report.claims = hour_claims(request.plan, report.results, request.seeds.size());
  for (const HourArm& arm : settled)
    add_seeds(standing, request, arm, seeds_wanted(report.claims, arm.name, request.seeds.size()));
  report.command = request.command;
  report.title = fmt::format("ImageNet in 1 hour, in small: LeNet with batch norm on {}, {} epochs", request.dataset,
                             request.epochs);
  return standing;
}

// Trains the trials that are asked for, then those that follow from their results, until there are none. Returns
// nothing if a signal stopped it.
std::optional<StudyRuns> train_all(const HourRequest& request, Console& console) {
  StudyRuns study;
  StudyRequest next{"hour-" + request.dataset, request.out, {}, {}, trial_program(kHourRecipe), ""};
  next.go_on = request.out.empty() ? "the same command again" : request.command;
  const Recipe recipe = find_recipe(kHourRecipe);
  std::set<std::string> failed;
  for (;;) {
    next.trials.clear();
    for (Trial& trial : standing_of(request, study).asked)
      if (!study.runs.contains(trial.name) && !failed.contains(trial.name)) next.trials.push_back(std::move(trial));
    if (next.trials.empty()) break;
    RunConfig config = *parse_flags(recipe, kHourRecipe, next.trials.front().words);
    config.looking.jobs = request.jobs;
    next.resources = resources_of(config, next.trials.size());
    std::optional<StudyRuns> done = run_study(next, console);
    if (!done) return std::nullopt;
    study = std::move(*done);
    failed.merge(std::set<std::string>(study.failed));
    next.out = study.folder.string();
  }
  study.failed = failed;
  return study;
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

// Returns an exit code: 128 + N if signal N stopped it, 1 if a training failed, else 0, because a claim that does not
// hold is a result. Leaves hour.html, curves.svg, summary.json and a run folder for each training.
int run_hour(const HourRequest& request) {
  refuse_launcher();
  Console console(false);
  const std::optional<StudyRuns> study = train_all(request, console);
  if (!study) return 128 + Interrupt::number();
  const HourReport report = standing_of(request, *study).report;
  write_report(study->folder, report);
  console.line("\n" + report.title + "\n\n" + hour_table(report) + "\n" + hour_searches_text(report) +
               hour_claims_text(report) + hour_intervals_text(report));
  console.line(fmt::format("study: {} (hour.html, curves.svg, summary.json, a run folder for each training)",
                           study->folder.string()));
  if (const std::string next = hour_next(request.plan); !next.empty()) console.line(next);
  return study->failed.empty() ? 0 : 1;
}

constexpr const char* kDrawn = "glyphs-hour";

}  // namespace

int hour_command(const ToolArguments& arguments) {
  HourRequest request;
  std::string seeds, plan;
  CommandLine line(
      "\"Accurate, large minibatch SGD: training ImageNet in 1 hour\" (Goyal et al. 2017) in small: LeNet with batch "
      "norm, n = 32 samples a worker. Prints a table beside the paper's and what became of its claims, and leaves "
      "hour.html.",
      "./run hour [--plan full] [--seeds 1..3] [--out DIR]");
  line.text({"--dataset", "NAME", "data set: glyphs-hour (drawn on the spot), fashion-mnist, mnist"}, request.dataset)
      .text({"--data", "DIR", "folder of the data set, or the one above it; $KB_DATA where it is not given"},
            request.data)
      .choice({"--plan", "PLAN",
               "brief: the linear rule at kn 256; full: also warmups, 512 to 4096, LARS; brief on glyphs-hour, else "
               "full"},
              plan, {"brief", "full"})
      .text({"--seeds", "A..B",
             "seeds of each configuration: a range such as 1..3, or numbers; of three and more each claim that they "
             "leave undecided gets further ones, up to five; 1 for brief, 1..3 for full"},
            seeds)
      .whole({"--epochs", "E", "passes over the training set"}, request.epochs, 1)
      .whole({"--jobs", "J", "trainings at once, which share the processors; 0: one a core, one on a GPU"},
             request.jobs, 0)
      .text({"--out", "DIR", "folder of the study; one that was stopped goes on; runs/hour-DATASET-TIME"}, request.out);
  if (const std::optional<int> code = trial_or_rank(arguments)) return *code;
  if (!line.parse(arguments.words)) return 0;
  request.plan = plan == "full" || (plan.empty() && request.dataset != kDrawn) ? HourPlan::full : HourPlan::brief;
  request.seeds = parse_seeds("--seeds", !seeds.empty() ? seeds : request.plan == HourPlan::full ? "1..3" : "1");
  request.command = "./run hour";
  for (const std::string& word : arguments.words) request.command += " " + shell_quoted(word);
  return run_hour(request);
}

}  // namespace kb
