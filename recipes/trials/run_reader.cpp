#include "recipes/trials/run_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/error.h"
#include "optim/scaling.h"
#include "recipes/run/run_folder.h"
#include "runtime/input_file.h"

namespace kb {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double number_at(const JsonValue& object, const std::string& key) {
  if (!object.has(key) || object.at(key).kind() != JsonValue::Kind::number) return kNaN;
  return object.get<double>(key);
}

constexpr int64_t kMostSteps = int64_t{1} << 53;  // greater whole numbers are not exact in a double

int64_t whole_within(const JsonValue& object, const char* key, int64_t least, int64_t most) {
  const auto value = object.get<int64_t>(key);
  if (value < least || value > most) object.at(key).refuse(fmt::format("a whole number in [{}, {}]", least, most));
  return value;
}

std::optional<double> rate_of_flags(const JsonValue& flags) {
  const auto is_number = [&](const char* flag) { return std::isfinite(number_at(flags, flag)); };
  if (is_number("lr")) return flags.get<double>("lr");
  if (!is_number("base-lr")) return std::nullopt;
  const ReferenceRate base{flags.get<double>("base-lr"), flags.get<int64_t>("base-minibatch"),
                           flags.get<std::string>("scaling")};
  return base.at(flags.get<int64_t>("minibatch"));
}

MetricKind kind_of(const JsonValue& metric) {
  MetricKind kind;
  kind.is_share = metric.get<bool>("is_share");
  kind.higher_is_better = metric.get<bool>("higher_is_better");
  return kind;
}

// Returns the figures among the other numbers of a JSON object. If a manifest does not list its metrics, the figures
// are its goal and the loss.
std::vector<std::pair<std::string, double>> values_in(const JsonValue& figures, const RunReport& report) {
  std::vector<std::pair<std::string, double>> values;
  const auto take = [&](const std::string& name) {
    if (const double value = number_at(figures, name); std::isfinite(value)) values.emplace_back(name, value);
  };
  for (const auto& [name, kind] : report.metric_kinds) take(name);
  if (!report.metric_kinds.contains(kLossName)) take(kLossName);
  return values;
}

void take_figures(const JsonValue& result, RunReport& report) {
  report.result_part = result.get<std::string>("part", report.result_part);
  report.figures.push_back({report.result_part, false, report.steps, values_in(result, report)});
  if (!result.has("best")) return;
  const JsonValue best = result.at("best");
  for (const char* part : {kValidPart, kTestPart})
    if (best.has(part))
      report.figures.push_back({part, true, best.get<int64_t>("step"), values_in(best.at(part), report)});
}

// Takes device, data and build. Parts that are absent, as in a manifest that another program wrote, are skipped.
void take_origin(const JsonValue& manifest, RunReport& report) {
  report.device = manifest.get<std::string>("device", "");
  if (manifest.has("data")) {
    const JsonValue data = manifest.at("data");
    report.data = fmt::format("{} {}", data.get<std::string>("name", ""), data.get<std::string>("fingerprint", ""));
  }
  if (!manifest.has("versions")) return;
  const JsonValue versions = manifest.at("versions");
  report.build =
      fmt::format("{}, {}", versions.get<std::string>("commit", ""), versions.get<std::string>("compiler", ""));
}

// Takes the policy. Flags that are absent, or whose value another program wrote, have their defaults.
void take_policy(const JsonValue& manifest, RunReport& report) {
  for (const auto& [flag, value] : manifest.at("flags").members())
    if (value.kind() != JsonValue::Kind::array && value.kind() != JsonValue::Kind::object)
      set_policy_flag(report.policy, flag, scalar_text(value));
  if (const double count = number_at(manifest, "parameters"); count >= 1 && count < kMostSteps)
    report.parameters = static_cast<int64_t>(count);
}

void take_manifest(const JsonValue& manifest, RunReport& report) {
  take_origin(manifest, report);
  take_policy(manifest, report);
  report.recipe = manifest.get<std::string>("recipe");
  report.seed = manifest.get<int64_t>("seed");
  report.minibatch = manifest.at("flags").get<int64_t>("minibatch");
  const JsonValue flags = manifest.at("flags");
  report.rate = rate_of_flags(flags);
  if (flags.has("target") && flags.at("target").kind() == JsonValue::Kind::text)
    report.target = flags.get<std::string>("target");
  if (const double context = number_at(manifest.at("flags"), "context"); context >= 1 && context < kMostSteps)
    report.context = static_cast<int64_t>(context);
  report.steps_per_epoch = manifest.get<int64_t>("steps_per_epoch");
  if (manifest.has("goal")) {
    const JsonValue goal = manifest.at("goal");
    report.goal = goal.get<std::string>("name");
    report.goal_kind = kind_of(goal);
  }
  if (!manifest.has("goal") && manifest.has("result") && !manifest.at("result").has("error")) report.goal = "loss";
  if (manifest.has("metrics"))
    for (const JsonValue& metric : manifest.at("metrics").items())
      report.metric_kinds[metric.get<std::string>("name")] = kind_of(metric);
  report.metric_kinds.try_emplace(report.goal, report.goal_kind);
  if (!manifest.has("ended")) return;
  report.how = manifest.at("ended").get<std::string>("how");
  report.steps = whole_within(manifest.at("ended"), "step", 0, kMostSteps);
  const JsonValue result = manifest.at("result");
  report.diverged = result.get<bool>("diverged", false);
  report.result = number_at(result, report.goal);
  report.loss = number_at(result, "loss");
  take_figures(result, report);
  if (!result.has("target_step")) return;
  report.target_step = whole_within(result, "target_step", 1, report.steps);
  report.target_samples = result.get<double>("target_samples");
  if (report.target_samples < 1 || report.target_samples > static_cast<double>(kMostSteps))
    result.at("target_samples").refuse("a number of samples");
}

// Returns the figures of an evaluation beside the loss and the goal.
std::map<std::string, double> other_figures(const FlatJson& line, const RunReport& report) {
  std::map<std::string, double> others;
  const auto take = [&](const std::string& name) {
    if (name != kLossName && name != report.goal && line.find(name)) others.emplace(name, line.number(name));
  };
  take(std::string(kAveragedPrefix) + kLossName);
  for (const auto& [name, kind] : report.metric_kinds) {
    take(name);
    take(kAveragedPrefix + name);
  }
  return others;
}

// Adds an evaluation, in the order of steps. Earlier entries of the same step or a later one are dropped: they were
// made before the run was resumed from an older checkpoint.
void take_evaluation(const FlatJson& line, RunReport& report) {
  const std::optional<int64_t> step = step_in(line);
  if (!step) return;
  while (!report.evaluations.empty() && report.evaluations.back().step >= *step) report.evaluations.pop_back();
  if (!line.text("part").empty()) report.part = line.text("part");
  if (const double seconds = line.number("seconds"); std::isfinite(seconds)) report.train_seconds += seconds;
  report.evaluations.push_back({*step, line.number("epoch"), line.number("loss"), line.number(report.goal),
                                line.number("train_loss"), other_figures(line, report), line.number("noise_scale")});
}

// Takes the virtual time of a step. A step that was repeated after the run was resumed replaces its earlier line.
void take_clock(const FlatJson& line, RunReport& report) {
  constexpr int64_t kMostMissing = 4096;  // greatest number of damaged lines before it, which may name any step
  const std::optional<int64_t> step = step_in(line);
  const double clock = line.number("clock_s");
  if (!step || !std::isfinite(clock) || *step > std::ssize(report.clocks) + kMostMissing) return;
  report.clocks.resize(static_cast<size_t>(*step), kNaN);
  report.clocks.push_back(clock);
}

}  // namespace

std::optional<int64_t> step_in(const FlatJson& line) {
  const double step = line.number("step");
  const bool is_step = step >= 0 && step <= static_cast<double>(kMostSteps) && step == std::floor(step);
  return is_step ? std::optional(static_cast<int64_t>(step)) : std::nullopt;
}

RunReport read_manifest(const std::filesystem::path& folder) {
  RunReport report;
  report.folder = folder;
  take_manifest(read_json(folder / kManifest), report);
  return report;
}

RunReport read_run(const std::filesystem::path& folder) {
  const std::filesystem::path metrics = folder / kMetrics;
  RunReport report = read_manifest(folder);
  if (!is_there(metrics)) return report;
  for_each_flat_json(read_file(metrics), [&](const FlatJson& line) {
    const std::string_view kind = line.text("kind");
    if (kind == "step") take_clock(line, report);
    if (kind == "eval") take_evaluation(line, report);
    if (kind != "end" && kind != "stop") return;
    report.state_sha256 = line.text("state_sha256");
    report.seconds = line.number("wall_s");
  });
  return report;
}

std::optional<RunReport> find_run(const std::filesystem::path& folder) try {
  return read_run(folder);
} catch (const Error&) {
  return std::nullopt;
}

int64_t steps_of_run(const std::filesystem::path& folder) {
  constexpr size_t kLines = 4096;  // bytes read at first: several lines of steps; a line of layers may be longer
  try {
    const InputFile file(folder / kMetrics);
    int64_t steps = 0;
    for (size_t bytes = kLines; steps == 0; bytes *= 4) {
      const size_t end = std::min(bytes, file.size());
      for_each_flat_json(file.read(file.size() - end, end), [&](const FlatJson& line) {
        if (line.text("kind") != "step") return;
        if (const std::optional<int64_t> step = step_in(line)) steps = *step + 1;
      });
      if (end == file.size()) break;
    }
    return steps;
  } catch (const Error&) {
    return 0;  // the run has not begun
  }
}

double share_of_run(const std::filesystem::path& folder) {
  try {
    const auto steps = static_cast<double>(read_json(folder / kManifest).get<int64_t>("steps"));
    return steps > 0 ? std::clamp(static_cast<double>(steps_of_run(folder)) / steps, 0.0, 1.0) : 0;
  } catch (const Error&) {
    return 0;  // the run has not begun
  }
}

double figure_at(const RunReport& run, const EvaluationPoint& point, const std::string& metric) {
  if (metric == kLossName) return point.loss;
  if (metric == run.goal) return point.goal;
  const auto other = point.others.find(metric);
  return other == point.others.end() ? std::numeric_limits<double>::quiet_NaN() : other->second;
}

std::optional<MetricKind> kind_of_target(const RunReport& run, const TargetFigure& target) {
  const auto kind = run.metric_kinds.find(target.plain_metric());
  if (kind != run.metric_kinds.end()) return kind->second;
  return target.plain_metric() == kLossName ? std::optional(MetricKind{}) : std::nullopt;
}

std::optional<int64_t> step_reaching(const RunReport& run, const TargetFigure& target) {
  const bool higher_is_better = kind_of_target(run, target).value_or(MetricKind{}).higher_is_better;
  for (const EvaluationPoint& point : run.evaluations)
    if (point.step > 0 && target.is_reached_by(figure_at(run, point, target.metric), higher_is_better))
      return point.step;
  return std::nullopt;
}

std::optional<TargetBracket> target_bracket(const RunReport& run, const TargetFigure& target) {
  ensure(run.target_step.has_value(), "target_bracket: the run has not reached its target");
  const auto figure = [&](const EvaluationPoint& point) { return figure_at(run, point, target.metric); };
  const auto hit = std::find_if(run.evaluations.begin(), run.evaluations.end(),
                                [&](const EvaluationPoint& point) { return point.step == *run.target_step; });
  if (hit == run.evaluations.begin() || hit == run.evaluations.end()) return std::nullopt;
  const EvaluationPoint& before = *(hit - 1);
  const double share = (figure(before) - target.value) / (figure(before) - figure(*hit));
  if (before.step < 1 || !(share >= 0 && share <= 1)) return std::nullopt;
  return TargetBracket{static_cast<double>(before.step), static_cast<double>(hit->step), figure(before), figure(*hit)};
}

double target_crossing(const RunReport& run, const TargetFigure& target) {
  const std::optional<TargetBracket> bracket = target_bracket(run, target);
  if (!bracket) return static_cast<double>(*run.target_step);
  const double share = (bracket->figure_before - target.value) / (bracket->figure_before - bracket->figure_at);
  return bracket->steps_before * std::pow(bracket->steps_at / bracket->steps_before, share);
}

}  // namespace kb
