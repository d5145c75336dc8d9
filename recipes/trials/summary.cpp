#include "recipes/trials/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/json.h"
#include "runtime/median.h"

namespace kb {
namespace {

constexpr double kRounding = 1e-9;  // tolerance for rounding errors of an epoch's number

Json mean_json(const std::optional<MeanOf>& mean, bool is_share) {
  if (!mean) return nullptr;
  Json json = {{"mean", mean->mean}, {"stddev", mean->stddev}, {"interval", nullptr}, {"count", mean->count}};
  if (const auto ends = mean->interval(is_share)) json["interval"] = {{"low", ends->low}, {"high", ends->high}};
  return json;
}

// Returns the goal at the end, with the part of the data on which it was measured.
Json final_json(const Summary& summary) {
  Json json = mean_json(summary.last, summary.goal_kind.is_share);
  if (summary.last) json["part"] = summary.result_part;
  return json;
}

double train_loss_of(const RunReport& run) {
  return run.evaluations.empty() ? std::numeric_limits<double>::quiet_NaN() : run.evaluations.back().train_loss;
}

Json run_json(const RunReport& run) {
  Json json = {{"folder", run.folder.filename().string()},
               {"seed", run.seed},
               {"ended", run.how},
               {"diverged", run.diverged},
               {"steps", run.steps},
               {run.goal, run.result},
               {"part", run.result_part},
               {"median_of_last_5", median_of_last(run)}};
  json["loss"] = run.loss;  // it may be the goal
  json["train_loss"] = train_loss_of(run);
  json["seconds"] = run.seconds;
  json["state_sha256"] = run.state_sha256;
  return json;
}

std::string time_text(double seconds) { return std::isfinite(seconds) ? fmt::format("{:.0f} s", seconds) : "-"; }

// Returns "\n  95 % interval of the mean: 7.46 to 8.80 %"; nothing where a single run counts.
std::string interval_text(const Summary& summary) {
  if (!summary.last || !summary.last->stddev) return "";
  const bool is_share = summary.goal_kind.is_share;
  const std::optional<MeanEnds> ends = summary.last->interval(is_share);
  if (!ends) return "\n  no interval of the mean: runs that are all equal do not tell how far others lie";
  return "\n  95 % interval of the mean: " + (is_share
                                                  ? fmt::format("{:.2f} to {:.2f} %", 100 * ends->low, 100 * ends->high)
                                                  : fmt::format("{:.4g} to {:.4g}", ends->low, ends->high));
}

std::string loss_text(double loss) { return std::isfinite(loss) ? fmt::format("{:.4f}", loss) : "-"; }

}  // namespace

std::optional<double> median_of_last(const RunReport& run) {
  std::map<double, double> epochs;  // goal at the last evaluation of each epoch, by its number
  for (const EvaluationPoint& point : run.evaluations)
    if (std::isfinite(point.epoch)) epochs[std::ceil(point.epoch - kRounding)] = point.goal;
  std::vector<double> values;
  for (auto epoch = epochs.rbegin(); epoch != epochs.rend() && values.size() < kLastEpochs; ++epoch)
    values.push_back(epoch->second);
  if (values.empty() || std::any_of(values.begin(), values.end(), [](double v) { return !std::isfinite(v); }))
    return std::nullopt;
  return median_of(std::move(values));
}

Summary summary_of(std::vector<RunReport> runs, size_t failed) {
  Summary summary;
  summary.failed = failed;
  std::vector<double> last, medians, losses;
  for (const RunReport& run : runs) {
    summary.goal = run.goal;
    summary.goal_kind = run.goal_kind;
    summary.part = run.part;
    if (run.diverged) {
      ++summary.diverged;
      continue;
    }
    summary.result_part = run.result_part;
    if (std::isfinite(run.result)) last.push_back(run.result);
    if (const std::optional<double> median = median_of_last(run)) medians.push_back(*median);
    if (const double loss = train_loss_of(run); std::isfinite(loss)) losses.push_back(loss);
  }
  summary.runs = std::move(runs);
  summary.last = mean_of(last);
  summary.median = mean_of(medians);
  summary.train_loss = mean_of(losses);
  return summary;
}

std::vector<double> final_errors(const Summary& summary) {
  std::vector<double> errors;
  for (const RunReport& run : summary.runs) {
    const bool has_none = run.diverged || !std::isfinite(run.result);
    const double sign = run.goal_kind.higher_is_better ? -1 : 1, unit = run.goal_kind.is_share ? 100 : 1;
    errors.push_back(has_none ? std::numeric_limits<double>::infinity() : sign * unit * run.result);
  }
  return errors;
}

std::string goal_text(const Summary& summary, double value) {
  if (!std::isfinite(value)) return "-";
  return summary.goal_kind.is_share ? fmt::format("{:.2f} %", 100 * value) : fmt::format("{:.4g}", value);
}

std::string goal_text(const Summary& summary, const std::optional<MeanOf>& mean) {
  const size_t done = summary.runs.size();
  if (done > 0 && summary.diverged == done) return "diverged";
  if (!mean) return "-";
  std::string text = goal_text(summary, mean->mean);
  if (mean->stddev)
    text = summary.goal_kind.is_share ? fmt::format("{:.2f} +- {:.2f} %", 100 * mean->mean, 100 * *mean->stddev)
                                      : fmt::format("{:.4g} +- {:.2g}", mean->mean, *mean->stddev);
  return summary.diverged == 0 ? text : fmt::format("{} ({} of {} diverged)", text, summary.diverged, done);
}

std::string summary_table(const Summary& summary) {
  std::string text = fmt::format("{:<6} {:>12} {:>18} {:>12} {:>8}\n", "seed", summary.result_part + " " + summary.goal,
                                 summary.part + ", last 5", "train loss", "time");
  for (const RunReport& run : summary.runs) {
    const std::optional<double> median = median_of_last(run);
    text += fmt::format("{:<6} {:>12} {:>18} {:>12} {:>8}\n", run.seed,
                        run.diverged ? "diverged" : goal_text(summary, run.result),
                        run.diverged || !median ? "-" : goal_text(summary, *median), loss_text(train_loss_of(run)),
                        time_text(run.seconds));
  }
  text += fmt::format(
      "mean +- standard deviation of the sample: {} {} {}{}\n  median of the last 5 epochs, on the {} part: {}",
      summary.result_part, summary.goal, goal_text(summary, summary.last), interval_text(summary), summary.part,
      goal_text(summary, summary.median));
  if (summary.failed > 0) text += fmt::format("\n  {} failed", summary.failed);
  return text + "\n";
}

std::string summary_json(const Summary& summary, const std::string& command) {
  Json json = {{"command", command},
               {"goal", summary.goal},
               {"evaluated_on", summary.part},
               {"final", final_json(summary)},
               {"median_of_last_5", mean_json(summary.median, summary.goal_kind.is_share)},
               {"train_loss", mean_json(summary.train_loss, false)},
               {"diverged", summary.diverged},
               {"failed", summary.failed},
               {"runs", Json::array()}};
  for (const RunReport& run : summary.runs) json["runs"].push_back(run_json(run));
  return json.dump(2) + "\n";
}

StudyLine line_of(const RunReport& run, const std::string& label) {
  StudyLine line{label, {}, {}};
  for (const EvaluationPoint& point : run.evaluations) {
    if (std::abs(point.goal) <= kMostDrawn) line.goal.push_back({point.epoch, point.goal});
    if (std::abs(point.train_loss) <= kMostDrawn) line.train_loss.push_back({point.epoch, point.train_loss});
  }
  return line;
}

GoalCurve goal_curve(const Summary& summary) {
  return {summary.goal, summary.goal_kind.is_share, summary.goal_kind.higher_is_better, summary.part};
}

}  // namespace kb
