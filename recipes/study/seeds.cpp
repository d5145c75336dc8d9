#include "recipes/study/seeds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "recipes/config/flags.h"
#include "recipes/config/plan.h"
#include "recipes/run/advice.h"
#include "recipes/run/command_words.h"
#include "recipes/run/guarded_main.h"
#include "recipes/run/interrupt.h"
#include "recipes/study/executor.h"
#include "recipes/study/study_console.h"
#include "recipes/study/study_folder.h"
#include "recipes/study/study_lines.h"
#include "recipes/study/study_process.h"
#include "recipes/study/summary.h"
#include "runtime/atomic_file.h"

namespace kb {
namespace {

void check_seed_flags(const Recipe& recipe, const RunConfig& config) {
  if (config.seed != default_config(recipe).seed) throw UsageError("--seed: expected --seeds alone, got both");
  const bool looks_inside = config.dry_run || config.explain_overlap || config.sync_steps || config.check_finite ||
                            !config.dump.empty() || !config.picture.empty() || !config.trace.empty();
  if (looks_inside)
    throw UsageError(
        "--seeds: expected no flag that looks inside one training (--dry-run, --dump, --picture, --trace, "
        "--explain-overlap, --sync-steps, --check-finite)\n  hint:     the same command without --seeds");
  if (config.fit)
    throw UsageError(
        "--fit: expected no --seeds, whose trainings have one n\n  hint:     --fit --dry-run names it: --per-worker N");
  if (!config.mllog.empty()) throw UsageError("--mllog: expected no --seeds: it is the log of one training");
  if (!config.resume.empty())
    throw UsageError("--seeds: expected no --resume: the same --seeds and --out go on with what was stopped");
}

std::vector<Trial> seed_trials(const Recipe& recipe, const RunConfig& config, const TrialResources& resources) {
  std::vector<Trial> trials;
  for (const int64_t seed : config.seeds) {
    RunConfig one = with_resources(with_plan(with_absolute_paths(config)), resources);
    one.seed = seed;
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

int train_seeds(const Recipe& recipe, const RunConfig& config) {
  check_seed_flags(recipe, config);
  refuse_launcher();
  const TrialResources resources = resources_of(config, config.seeds.size());
  const std::vector<Trial> trials = seed_trials(recipe, config, resources);
  const std::filesystem::path store = open_study(recipe.name + "-seeds", config.out, trials);
  Console console(config.quiet);
  console.line(fmt::format("{}: {} trainings, {} at once, {} thread{} each, in {}", recipe.name, trials.size(),
                           resources.jobs, resources.threads, resources.threads == 1 ? "" : "s", store.string()));
  const Interrupt interrupt;
  Interrupt::remember(false);
  StudyConsole watch(console, store, trials.size());
  const auto outcomes = run_trials(trials, {store, trial_program(), resources.jobs}, watch);
  if (!outcomes) {
    console.line("stopped; the same command with --out " + shell_quoted(store.string()) + " goes on");
    return 128 + Interrupt::number();
  }
  std::vector<RunReport> runs;
  size_t failed = 0;
  for (size_t i = 0; i < trials.size(); ++i) {
    if ((*outcomes)[i].end == TrialEnd::failed)
      ++failed;
    else
      runs.push_back(read_run(store / trials[i].name));
  }
  const Summary summary = summary_of(std::move(runs), failed);
  const std::string command =
      command_with(recipe, config, {{"--seeds", fmt::format("{}", fmt::join(config.seeds, ","))}});
  write_file_atomically(store / kStudySummary, summary_json(summary, command));
  write_file_atomically(store / "curves.svg", study_picture(recipe.name, seed_lines(summary), goal_curve(summary)));
  console.line("\n" + summary_table(summary) + "study: " + store.string() +
               " (summary.json, curves.svg, a run folder for each seed)");
  if (failed > 0) return 1;
  return summary.diverged == summary.runs.size() ? kDivergedExitCode : 0;
}

}  // namespace kb
