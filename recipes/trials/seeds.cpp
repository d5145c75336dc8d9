#include "recipes/trials/seeds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "recipes/config/flags.h"
#include "recipes/config/run_plan.h"
#include "recipes/run/advice.h"
#include "recipes/run/guarded_main.h"
#include "recipes/run/interrupt.h"
#include "recipes/trials/run_study.h"
#include "recipes/trials/study_folder.h"
#include "recipes/trials/summary.h"
#include "runtime/atomic_file.h"

namespace kb {
namespace {

// Throws UsageError for flags that exclude --seeds. `words`: the command line, since the configuration does not tell
// whether --seed was given.
void check_seed_flags(const RunConfig& config, const std::vector<std::string>& words) {
  const auto is_seed = [](const std::string& word) { return word == "--seed" || word.starts_with("--seed="); };
  if (std::any_of(words.begin(), words.end(), is_seed)) throw UsageError("--seed: expected --seeds alone, got both");
  refuse_flags_of_one("--seeds", "the same --seeds and --out", config);
}

std::vector<Trial> seed_trials(const Recipe& recipe, const RunConfig& config) {
  std::vector<Trial> trials;
  for (const int64_t seed : config.looking.seeds) {
    RunConfig one = with_plan(with_absolute_paths(config));
    one.arithmetic.seed = seed;
    trials.push_back({fmt::format("seed-{}", seed), flag_words(recipe, one)});
  }
  return trials;
}

std::vector<StudyLine> seed_lines(const Summary& summary) {
  std::vector<StudyLine> lines;
  for (const RunReport& run : summary.runs) lines.push_back(line_of(run, fmt::format("seed {}", run.seed)));
  return lines;
}

}  // namespace

int train_seeds(const Recipe& recipe, const RunConfig& config, const std::vector<std::string>& words) {
  check_seed_flags(config, words);
  refuse_launcher();
  Console console(config.out.quiet);
  const std::string command =
      command_with(recipe, config, {{"--seeds", fmt::format("{}", fmt::join(config.looking.seeds, ","))}});
  const std::optional<StudyRuns> study =
      run_study({recipe.name + "-seeds", config.out.folder, seed_trials(recipe, config),
                 resources_of(config, config.looking.seeds.size()), trial_program(), "the same command again"},
                console);
  if (!study) return 128 + Interrupt::number();
  std::vector<RunReport> runs;
  for (const std::string& name : study->names)
    if (const auto run = study->runs.find(name); run != study->runs.end()) runs.push_back(run->second);
  const Summary summary = summary_of(std::move(runs), study->failed.size());
  write_file_atomically(study->folder / "curves.svg",
                        study_picture(recipe.name, seed_lines(summary), goal_curve(summary)));
  write_file_atomically(study->folder / kStudySummary, summary_json(summary, command));
  console.line("\n" + summary_table(summary) + "study: " + study->folder.string() +
               " (summary.json, curves.svg, a run folder for each seed)");
  if (summary.failed > 0) return 1;
  return summary.diverged == summary.runs.size() ? kDivergedExitCode : 0;
}

}  // namespace kb
