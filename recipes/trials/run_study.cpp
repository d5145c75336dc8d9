#include "recipes/trials/run_study.h"

#include <fmt/format.h>

#include "recipes/run/interrupt.h"
#include "recipes/trials/executor.h"
#include "recipes/trials/study_console.h"
#include "recipes/trials/study_folder.h"

namespace kb {
namespace {

StudyRuns runs_of(const Study& study, const std::vector<Trial>& asked, const std::vector<TrialOutcome>& outcomes) {
  StudyRuns result{study.folder, {}, {}, {}};
  for (size_t i = 0; i < asked.size(); ++i)
    if (outcomes[i].end == TrialEnd::failed) result.failed.insert(asked[i].name);
  for (const Trial& trial : study.trials) {
    result.names.push_back(trial.name);
    try {
      RunReport run = read_run(study.folder / trial.name);
      if (run.is_done()) result.runs.emplace(trial.name, std::move(run));
    } catch (const Error&) {
      // The run folder of a trial that an earlier call asked for, and that has not begun, holds no manifest.
    }
  }
  return result;
}

}  // namespace

std::optional<StudyRuns> run_study(const StudyRequest& request, Console& console) {
  const auto& [name, out, trials, resources, program, go_on] = request;
  const Study study = open_study(name, out, trials, resources.shards);
  console.line(fmt::format("{} training{}, {} at once, {} thread{} each, in {}", trials.size(),
                           trials.size() == 1 ? "" : "s", resources.jobs, resources.threads,
                           resources.threads == 1 ? "" : "s", study.folder.string()));
  const Interrupt interrupt;
  Interrupt::remember(false);
  StudyConsole watch(console, study.folder, trials.size());
  const ExecutorOptions options{study.folder, program, resources.jobs, resources.threads, study.shards};
  const auto outcomes = run_trials(trials, options, watch);
  if (!outcomes) {
    console.line("stopped; to go on: " + go_on);
    return std::nullopt;
  }
  return runs_of(study, trials, *outcomes);
}

}  // namespace kb
