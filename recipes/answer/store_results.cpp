#include "recipes/answer/store_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "recipes/run/run_folder.h"
#include "recipes/sweep/sweep_store.h"
#include "runtime/input_file.h"

namespace kb {
namespace {

constexpr const char* kRateRange = "lr";

// Returns the number of held-out samples that judge the trials; 0 if the flags do not tell.
int64_t held_out(const SweepDefinition& definition) {
  const auto at = std::find(definition.words.begin(), definition.words.end(), "--validation");
  int64_t samples = 0;
  if (at != definition.words.end() && at + 1 != definition.words.end())
    std::from_chars((at + 1)->data(), (at + 1)->data() + (at + 1)->size(), samples);
  return samples;
}

// Returns what was searched beside the learning rate: "momentum=0.95 weight-decay=0.0001".
std::string setting_of(const PlannedTrial& trial) {
  std::string text;
  for (const auto& [flag, value] : trial.values)
    if (flag != kRateRange) text += fmt::format("{}{}={}", text.empty() ? "" : " ", flag, value);
  return text;
}

// Returns the measurement that a trial gave. `most_steps`: steps beyond which a trial that searches is hopeless.
Measurement measurement_of(const RunReport& run, const PlannedTrial& trial, double most_steps) {
  Measurement measurement;
  measurement.minibatch = trial.minibatch;
  measurement.rate = run.rate;
  measurement.setting = setting_of(trial);
  measurement.seed = trial.seed;
  measurement.diverged = trial.state == TrialState::diverged;
  measurement.hopeless =
      trial.state == TrialState::hopeless || (trial.is_search && trial.state == TrialState::reached &&
                                              static_cast<double>(trial.standing.target_step) > most_steps);
  measurement.samples = static_cast<double>(trial.standing.steps * trial.minibatch);
  measurement.seconds = run.train_seconds;
  if (trial.state != TrialState::reached) return measurement;
  measurement.steps = trial.standing.crossing;
  measurement.samples = trial.standing.samples;
  return measurement;
}

// Reads a run. Returns nothing if it cannot be read, and adds the reason to `left_out`.
std::optional<RunReport> run_or_fault(const std::filesystem::path& folder, std::vector<std::string>& left_out) try {
  return read_run(folder);
} catch (const Error& error) {
  left_out.push_back(fmt::format("{} is left out: {}", folder.string(), error.what()));
  return std::nullopt;
}

}  // namespace

StoreResults read_store(const std::filesystem::path& store) {
  SweepView view(store);
  view.refresh();
  StoreResults results;
  results.target = target_of(view.definition());
  std::vector<RunReport> trained;
  results.waiting = view.plan().waiting().size();
  for (const MinibatchPlan& plan : view.plan().minibatches) {
    const double most_steps = plan.best ? view.definition().constants.hopeless *
                                              static_cast<double>(plan.trials[*plan.best].standing.target_step)
                                        : 0;
    for (size_t i = 0; i < plan.trials.size(); ++i) {
      const PlannedTrial& trial = plan.trials[i];
      const bool is_begun = trial.state != TrialState::waiting || is_there(store / trial.name / kManifest);
      if (!is_begun || trial.state == TrialState::refused) continue;
      const std::optional<RunReport> read = run_or_fault(store / trial.name, results.left_out);
      if (!read || trial.state == TrialState::waiting) continue;
      const RunReport& run = *read;
      trained.push_back(run);
      trained.back().evaluations.clear();  // the study's head needs no evaluations
      results.measurements.push_back(measurement_of(run, trial, most_steps));
      if (plan.best != i) continue;
      results.best_runs.push_back(run);
    }
  }
  results.head = study_head(view.definition(), trained);
  results.noise = target_noise(results.target, held_out(view.definition()), results.best_runs);
  return results;
}

}  // namespace kb
