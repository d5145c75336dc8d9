#include "recipes/compare/kept_curve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "graph/error.h"
#include "recipes/run/run_folder.h"
#include "recipes/trials/run_reader.h"
#include "recipes/trials/statistics.h"
#include "runtime/json.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

// Keys of a manifest's "versions" that bits depend on.
constexpr const char* kMachineKeys[] = {"compiler", "kernel_compiler", "processor", "library"};

// Returns one member of the same point of every run.
std::vector<double> column(std::span<const RunCurve> runs, size_t point, double KeptPoint::*value) {
  std::vector<double> values;
  for (const RunCurve& run : runs) values.push_back(run.points[point].*value);
  return values;
}

Json json_of(const std::vector<KeptPoint>& points) {
  Json list = Json::array();
  for (const KeptPoint& point : points)
    list.push_back({{"epoch", point.epoch}, {"loss", point.loss}, {"goal", point.goal}});
  return list;
}

std::vector<KeptPoint> points_of(const JsonValue& list) {
  std::vector<KeptPoint> points;
  for (const JsonValue& item : list.items())
    points.push_back({item.get<double>("epoch"), item.get<double>("loss"), item.get<double>("goal")});
  return points;
}

std::string machine_differences(const RunCurve& kept, const RunCurve& run) {
  std::string text;
  for (const auto& [key, value] : kept.machine) {
    const auto at = run.machine.find(key);
    const std::string now = at == run.machine.end() ? "" : at->second;
    if (now != value) text += fmt::format("{}{}: kept {}, here {}", text.empty() ? "" : "; ", key, value, now);
  }
  return text;
}

// Bounds are never narrower than these, even where all seeds agree: a fraction of the loss, and the share of one test
// sample.
constexpr double kLeastLoss = 1e-4;
double one_sample(const RunCurve& run) {
  constexpr double kRounding = 1 + 1e-9;
  return run.test_samples > 0 ? kRounding / static_cast<double>(run.test_samples) : 0;
}

// Returns whether the value lies within the bound around the mean, and appends a line about that to `text`.
bool is_within(std::string& text, const char* what, double epoch, double value, double mean, double bound) {
  const bool holds = std::abs(value - mean) <= bound;
  text += fmt::format("  epoch {:g} {:<5} {:.5f}, kept {:.5f} +- {:.5f}{}\n", epoch, what, value, mean, bound,
                      holds ? "" : "  OUTSIDE");
  return holds;
}

}  // namespace

RunCurve run_curve(const std::filesystem::path& folder) {
  const JsonValue manifest = read_json(folder / kManifest);
  RunCurve curve;
  const JsonValue versions = manifest.at("versions");
  for (const char* key : kMachineKeys) curve.machine[key] = versions.get<std::string>(key);
  curve.machine["kernel_flags"] = fmt::format("{}", fmt::join(versions.at("kernel_flags").list<std::string>(), " "));
  curve.machine["shards"] = fmt::to_string(manifest.at("flags").get<int64_t>("shards"));
  curve.test_samples = manifest.at("data").get<int64_t>("test");
  const RunReport report = read_run(folder);
  for (const EvaluationPoint& point : report.evaluations) curve.points.push_back({point.epoch, point.loss, point.goal});
  curve.state_sha256 = report.state_sha256;
  if (curve.state_sha256.empty() || curve.points.empty())
    throw Error(fmt::format("{}: expected a run that has ended, with evaluations", folder.string()));
  return curve;
}

KeptCurve kept_curve(const std::string& recipe, std::vector<std::string> arguments, std::span<const RunCurve> runs) {
  if (runs.size() < 2) throw Error(fmt::format("a kept curve: expected at least 2 seeds, got {}", runs.size()));
  KeptCurve curve{recipe, std::move(arguments), runs.front(), static_cast<int64_t>(runs.size()), {}, {}};
  for (const RunCurve& run : runs)
    if (run.points.size() != curve.run.points.size())
      throw Error("a kept curve: expected runs with the same evaluations");
  for (size_t p = 0; p < curve.run.points.size(); ++p) {
    const MeanOf loss = *mean_of(column(runs, p, &KeptPoint::loss)), goal = *mean_of(column(runs, p, &KeptPoint::goal));
    const double epoch = curve.run.points[p].epoch;
    curve.mean.push_back({epoch, loss.mean, goal.mean});
    curve.deviation.push_back({epoch, *loss.stddev, *goal.stddev});
  }
  return curve;
}

std::string to_json(const KeptCurve& curve) {
  Json json;
  json["recipe"] = curve.recipe;
  json["arguments"] = curve.arguments;
  json["machine"] = curve.run.machine;
  json["state_sha256"] = curve.run.state_sha256;
  json["points"] = json_of(curve.run.points);
  json["seeds"] = curve.seeds;
  json["mean"] = json_of(curve.mean);
  json["deviation"] = json_of(curve.deviation);
  return json.dump(1) + "\n";
}

KeptCurve parse_kept_curve(const std::string& text, const std::string& file) {
  const JsonValue json = parse_json(text, file);
  KeptCurve curve;
  curve.recipe = json.get<std::string>("recipe");
  curve.arguments = json.at("arguments").list<std::string>();
  curve.run.machine = json.at("machine").texts();
  curve.run.state_sha256 = json.get<std::string>("state_sha256");
  curve.run.points = points_of(json.at("points"));
  curve.seeds = json.get<int64_t>("seeds");
  curve.mean = points_of(json.at("mean"));
  curve.deviation = points_of(json.at("deviation"));
  const size_t count = curve.run.points.size();
  if (count == 0 || curve.mean.size() != count || curve.deviation.size() != count)
    throw Error(fmt::format("{}: expected points, mean and deviation of the same evaluations", file));
  return curve;
}

CurveVerdict compare_with(const KeptCurve& kept, const RunCurve& run, double deviations) {
  const std::string differences = machine_differences(kept.run, run);
  if (differences.empty()) {
    const bool same = run.state_sha256 == kept.run.state_sha256;
    return {same, same ? "the same bits as kept, on the same kind of machine\n"
                       : fmt::format("OTHER BITS than kept, on the same kind of machine: state {}, kept {}\n"
                                     "  hint:     after a change that is meant to change bits: --refresh\n",
                                     run.state_sha256, kept.run.state_sha256)};
  }
  CurveVerdict verdict{
      true, fmt::format("another kind of machine ({}): within {:g} standard deviations over {} seeds\n", differences,
                        deviations, kept.seeds)};
  if (run.points.size() != kept.mean.size())
    return {false, fmt::format("expected {} evaluations as kept, got {}\n", kept.mean.size(), run.points.size())};
  for (size_t p = 0; p < run.points.size(); ++p) {
    const KeptPoint &now = run.points[p], &mean = kept.mean[p], &sd = kept.deviation[p];
    const double loss = std::max(deviations * sd.loss, kLeastLoss * std::abs(mean.loss));
    const double goal = std::max(deviations * sd.goal, one_sample(run));
    verdict.holds &= is_within(verdict.text, "loss", now.epoch, now.loss, mean.loss, loss);
    verdict.holds &= is_within(verdict.text, "error", now.epoch, now.goal, mean.goal, goal);
  }
  return verdict;
}

}  // namespace kb
