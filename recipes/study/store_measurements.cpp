#include "recipes/study/store_measurements.h"

#include "optim/scaling.h"
#include "recipes/run/run_folder.h"
#include "recipes/study/run_reader.h"
#include "recipes/study/sweep_store.h"
#include "runtime/input_file.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

Measurement measurement_of(const std::filesystem::path& run, const PlannedTrial& trial) {
  const RunReport report = read_run(run);
  Measurement measurement;
  measurement.minibatch = trial.minibatch;
  measurement.rate = rate_of_run(run);
  measurement.seed = trial.seed;
  measurement.diverged = trial.state == TrialState::diverged;
  measurement.samples = static_cast<double>(trial.standing.steps * trial.minibatch);
  measurement.seconds = report.train_seconds;
  if (trial.state != TrialState::reached) return measurement;
  measurement.steps = static_cast<double>(trial.standing.target_step);
  measurement.samples = trial.standing.samples;
  return measurement;
}

}  // namespace

std::vector<Measurement> store_measurements(const std::filesystem::path& store) {
  SweepView view(store);
  view.refresh();
  std::vector<Measurement> measurements;
  for (const MinibatchPlan& plan : view.plan().minibatches)
    for (const PlannedTrial& trial : plan.trials)
      if (trial.state != TrialState::waiting) measurements.push_back(measurement_of(store / trial.name, trial));
  return measurements;
}

std::optional<double> rate_of_run(const std::filesystem::path& run) {
  const std::filesystem::path file = run / kManifest;
  if (!is_there(file)) return std::nullopt;
  const JsonValue flags = parse_json(read_file(file), file.string()).at("flags");
  const auto is_number = [&](const char* flag) {
    return flags.has(flag) && flags.at(flag).kind() == JsonValue::Kind::number;
  };
  if (is_number("lr")) return flags.get<double>("lr");
  const ReferenceRate base{flags.get<double>("base-lr"), flags.get<int64_t>("base-minibatch"),
                           flags.get<std::string>("scaling")};
  return base.at(flags.get<int64_t>("minibatch"));
}

}  // namespace kb
