#include "recipes/train/past_lines.h"

#include "recipes/config/target_figure.h"
#include "recipes/train/metrics.h"

namespace kb {
namespace {

// Returns a number of a line; 0 if the line lacks it.
double number_in(const FlatJson& line, std::string_view key) { return line.find(key) ? line.number(key) : 0; }

}  // namespace

bool is_step(const FlatJson& line) { return line.text("kind") == "step"; }

bool is_evaluation(const FlatJson& line) { return line.text("kind") == "eval"; }

int64_t step_of(const FlatJson& line) { return static_cast<int64_t>(number_in(line, "step")); }

double loss_of(const FlatJson& line) { return number_in(line, "loss"); }

std::vector<double> means_of(const FlatJson& line, const std::vector<NamedMetric>& metrics) {
  std::vector<double> means;
  for (const auto& [name, how] : metrics) means.push_back(number_in(line, how.finish ? name + kMeanSuffix : name));
  return means;
}

Evaluation evaluation_of(const FlatJson& line, const std::vector<NamedMetric>& metrics, const std::string& prefix) {
  Evaluation evaluation{number_in(line, prefix + kLossName), static_cast<int64_t>(number_in(line, "count")), {}};
  for (const auto& [name, how] : metrics) evaluation.figures.push_back({name, line.number(prefix + name), how});
  return evaluation;
}

std::optional<Evaluation> averaged_of(const FlatJson& line, const std::vector<NamedMetric>& metrics) {
  if (!line.find(std::string(kAveragedPrefix) + kLossName)) return std::nullopt;
  return evaluation_of(line, metrics, kAveragedPrefix);
}

}  // namespace kb
