#include "recipes/answer/store_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "graph/parsed_number.h"
#include "recipes/run/run_folder.h"
#include "recipes/sweep/sweep_store.h"
#include "runtime/comm/halving_doubling.h"
#include "runtime/flat_json.h"
#include "runtime/input_file.h"

namespace kb {
namespace {

// Returns how many gradients ended too late and were dropped before `applied` gradients had been applied, by the order
// in the run's folder; nothing if that holds fewer.
std::optional<int64_t> dropped_gradients(const RunReport& run, double applied) {
  const std::filesystem::path file = run.folder / kOrder;
  if (!is_there(file)) return std::nullopt;
  int64_t dropped = 0;
  double done = 0;
  for_each_flat_json(read_file(file), [&](const FlatJson& line) {
    if (done >= applied) return;
    done += line.text("fate") == "applied" ? 1 : 0;
    dropped += line.text("fate") == "dropped";
  });
  return done >= std::floor(applied) ? std::optional(dropped) : std::nullopt;
}

// Returns the bytes of a backup run, whose k + b workers are a process each.
std::optional<double> backup_bytes(const RunReport& run, double steps, double bytes) {
  const Synchronising& sync = run.policy.sync;
  const auto workers = static_cast<double>(run.policy.workers(run.minibatch));
  double sent = steps * workers;
  if (sync.late == LateGradients::finish) {
    const std::optional<int64_t> dropped = dropped_gradients(run, sent);
    if (!dropped) return std::nullopt;
    sent += static_cast<double>(*dropped);
  }
  return bytes * sent / (workers + static_cast<double>(sync.backups));
}

int64_t element_bytes(const PolicyFlags& policy) { return policy.reduce_precision == "f32" ? 4 : 2; }

double local_bytes(const RunReport& run, double steps, int64_t element) {
  const Synchronising& sync = run.policy.sync;
  const int64_t workers = run.policy.workers(run.minibatch), replicas = run.policy.replicas(run.minibatch);
  const auto sent = [&](int64_t ranks) { return all_reduce_bytes(run.parameters, element, ranks); };
  const double before =
      sync.from ? std::min(steps, static_cast<double>(sync.from->steps(std::max<int64_t>(1, run.steps_per_epoch)))) : 0;
  const double joins = (steps - before) / static_cast<double>(std::max<int64_t>(1, sync.every));
  return before * sent(workers) + (steps - before) * sent(std::max<int64_t>(1, workers / replicas)) +
         joins * sent(replicas);
}

constexpr const char* kRateRange = "lr";

// Returns the number of held-out samples that judge the trials; 0 if the flags do not tell.
int64_t held_out(const SweepDefinition& definition) {
  return parsed_number<int64_t>(value_behind(definition, "--validation")).value_or(0);
}

// Returns what was searched beside the learning rate: "momentum=0.95 weight-decay=0.0001".
std::string setting_of(const PlannedTrial& trial) {
  std::string text;
  for (const auto& [flag, value] : trial.values)
    if (flag != kRateRange) text += fmt::format("{}{}={}", text.empty() ? "" : " ", flag, value);
  return text;
}

// Returns the run as if it had been trained to this target. `own`: the target that it was trained to, whose step its
// manifest tells.
RunReport run_to(const RunReport& run, const TargetFigure& target, const TargetFigure& own) {
  RunReport result = run;
  if (target != own) result.target_step = step_reaching(run, target);
  return result;
}

// A trial with its run to a target, and the steps at which it crossed it.
struct TrialTo {
  const PlannedTrial& plan;
  RunReport run;
  double crossing = 0;
};

// Returns the trial of a minibatch's search that took the fewest steps, as the sweep's plan has it for its own target;
// null if none reached it.
const TrialTo* fewest_steps(const std::vector<TrialTo>& trials) {
  const TrialTo* best = nullptr;
  for (const TrialTo& one : trials) {
    if (!one.plan.is_search || !one.run.target_step) continue;
    if (!best || std::pair(one.crossing, *one.run.target_step) < std::pair(best->crossing, *best->run.target_step))
      best = &one;
  }
  return best;
}

// Returns the measurement that a trial gave. `most_steps`: steps beyond which a trial that searches is hopeless.
Measurement measurement_of(const TrialTo& trial, double most_steps) {
  const std::optional<int64_t>& reached = trial.run.target_step;
  const int64_t steps = reached.value_or(trial.plan.standing.steps);
  Measurement measurement;
  measurement.minibatch = trial.plan.minibatch;
  measurement.rate = trial.run.rate;
  measurement.setting = setting_of(trial.plan);
  measurement.seed = trial.plan.seed;
  measurement.hopeless = trial.plan.is_search && static_cast<double>(steps) > most_steps;
  measurement.diverged = !reached && !measurement.hopeless && trial.plan.standing.end == TrialState::diverged;
  measurement.samples = static_cast<double>(steps * trial.plan.minibatch);
  if (reached) measurement.steps = trial.crossing;
  measurement.policy = trial.run.policy;
  measurement.clock_s = clock_at(trial.run, measurement.steps.value_or(static_cast<double>(steps)));
  if (measurement.policy.sync.policy != Policy::sync || measurement.policy.workers(measurement.minibatch) > 1)
    measurement.sent_bytes = bytes_sent(trial.run, measurement.steps.value_or(static_cast<double>(steps)));
  if (!reached || *reached == trial.run.steps) measurement.seconds = trial.run.train_seconds;  // known at its end alone
  return measurement;
}

// Adds the results of one minibatch.
void add_results(StoreResults& results, const std::vector<TrialTo>& trials, double hopeless) {
  const TrialTo* best = fewest_steps(trials);
  const double most_steps =
      best ? hopeless * static_cast<double>(*best->run.target_step) : std::numeric_limits<double>::infinity();
  for (const TrialTo& trial : trials) results.measurements.push_back(measurement_of(trial, most_steps));
  if (best) results.best_runs.push_back(best->run);
}

std::string steps_text(const std::optional<int64_t>& steps) {
  return steps ? fmt::format("after {} steps", *steps) : "never";
}

// Returns whether the run's figure after so many steps is the target's value, but for the digits of its metrics.
bool is_at(const RunReport& run, const TargetFigure& target, const std::optional<int64_t>& steps) {
  constexpr double kRounding = 1e-5;
  for (const EvaluationPoint& point : run.evaluations)
    if (steps && point.step == *steps)
      return std::abs(figure_at(run, point, target.metric) - target.value) <= kRounding * std::abs(target.value);
  return false;
}

// Throws Error unless the run has the evaluations that its manifest speaks of: its metrics may be cut or damaged.
void check_evaluations(const TargetFigure& target, const RunReport& run) {
  const int64_t last = run.evaluations.empty() ? 0 : run.evaluations.back().step;
  if (run.how == "finished" && last != run.steps)
    throw Error(fmt::format("expected metrics.jsonl with the evaluation after the last of {} steps, got {}", run.steps,
                            last == 0 ? "none" : fmt::format("evaluations up to step {}", last)));
  const std::optional<int64_t> found = step_reaching(run, target);
  if (!run.is_done() || found == run.target_step || is_at(run, target, found) || is_at(run, target, run.target_step))
    return;
  throw Error(
      fmt::format("expected a run to {} with all of its evaluations, got one whose evaluations reach it {} and "
                  "whose manifest says {}",
                  target.text(), steps_text(found), steps_text(run.target_step)));
}

// Reads the run of a trial. Returns nothing if it cannot be read, and adds the reason to `left_out`.
std::optional<RunReport> run_or_fault(const std::filesystem::path& folder, const TargetFigure& target,
                                      std::vector<std::string>& left_out) try {
  RunReport run = read_run(folder);
  check_evaluations(target, run);
  return run;
} catch (const Error& error) {
  left_out.push_back(fmt::format("{} is left out: {}", folder.string(), error.what()));
  return std::nullopt;
}

}  // namespace

std::optional<double> clock_at(const RunReport& run, double steps) {
  const auto at_end_of = [&](double done) {
    if (done == 0) return 0.0;
    const auto place = static_cast<size_t>(done) - 1;
    return place < run.clocks.size() ? run.clocks[place] : std::numeric_limits<double>::quiet_NaN();
  };
  if (!(steps > 0)) return std::nullopt;
  const double low = at_end_of(std::floor(steps)), high = at_end_of(std::ceil(steps));
  const double clock = low + (steps - std::floor(steps)) * (high - low);
  return std::isfinite(clock) ? std::optional(clock) : std::nullopt;
}

double all_reduce_bytes(int64_t elements, int64_t element_bytes, int64_t ranks) {
  const auto bytes = static_cast<double>(elements * element_bytes);
  if (std::has_single_bit(static_cast<uint64_t>(ranks)))
    return 2 * bytes * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  int64_t sent = 0;
  for (int rank = 0; rank < static_cast<int>(ranks); ++rank) {
    std::vector<Move> moves;
    plan_halving_doubling(rank, static_cast<int>(ranks), elements, 1, moves);
    for (const Move& move : moves) sent += move.send.elements();
  }
  return static_cast<double>(sent * element_bytes) / static_cast<double>(ranks);
}

std::optional<double> bytes_sent(const RunReport& run, double steps) {
  if (run.parameters == 0) return std::nullopt;
  const int64_t element = element_bytes(run.policy);
  const double bytes = static_cast<double>(run.parameters * element);
  switch (run.policy.sync.policy) {
    case Policy::sync:
      return steps * all_reduce_bytes(run.parameters, element, run.policy.workers(run.minibatch));
    case Policy::local:
      return local_bytes(run, steps, element);
    case Policy::async:
    case Policy::stale:
      return steps * bytes;
    case Policy::backup:
      return backup_bytes(run, steps, bytes);
  }
  return std::nullopt;
}

StoreRuns read_store(const std::filesystem::path& store) {
  SweepView view(store);
  view.refresh();
  StoreRuns runs{view.definition(), {}, {}, foreign_runs(view), view.plan().waiting().size()};
  std::vector<RunReport> trained;
  const TargetFigure target = target_of(runs.definition);
  for (const MinibatchPlan& plan : view.plan().minibatches)
    for (const PlannedTrial& trial : plan.trials) {
      const bool is_begun = trial.state != TrialState::waiting || is_there(store / trial.name / kManifest);
      if (!is_begun || trial.state == TrialState::refused || trial.state == TrialState::foreign) continue;
      std::optional<RunReport> run = run_or_fault(store / trial.name, target, runs.left_out);
      if (!run || trial.state == TrialState::waiting) continue;
      runs.trials.push_back({trial, std::move(*run)});
      trained.push_back(runs.trials.back().run);
      trained.back().evaluations.clear();  // the study's head needs neither evaluations nor clocks
      trained.back().clocks.clear();
    }
  runs.head = study_head(runs.definition, trained);
  return runs;
}

StoreResults results_to(const StoreRuns& runs, const TargetFigure& target) {
  StoreResults results{target};
  const TargetFigure own = target_of(runs.definition);
  std::map<int64_t, std::vector<TrialTo>> trials;  // trials by minibatch
  for (const StoredTrial& trial : runs.trials) {
    TrialTo to{trial.plan, run_to(trial.run, target, own)};
    if (to.run.target_step) to.crossing = target_crossing(to.run, target);
    trials[trial.plan.minibatch].push_back(std::move(to));
  }
  for (const auto& [minibatch, of_minibatch] : trials)
    add_results(results, of_minibatch, runs.definition.constants.hopeless);
  results.noise = target_noise(target, held_out(runs.definition), results.best_runs);
  results.gradient_noise = gradient_noise(results.best_runs);
  return results;
}

}  // namespace kb
