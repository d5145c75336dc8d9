#include "recipes/train/declared_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "recipes/task/suggest.h"
#include "recipes/train/evaluation.h"

namespace kb {
namespace {

// Returns the names that length.target may have.
std::vector<std::string> target_names(const std::vector<NamedMetric>& metrics, bool has_averages) {
  std::vector<std::string> names;
  for (const NamedMetric& metric : metrics) names.push_back(metric.name);
  names.emplace_back(kLossName);
  const size_t plain = has_averages ? names.size() : 0;
  for (size_t i = 0; i < plain; ++i) names.push_back(kAveragedPrefix + names[i]);
  return names;
}

// Returns the shape of a graph that is declared for its names alone. It has the samples of a worker, because a model
// may need several, as batch norm over samples alone does.
BatchShape any_shape(const Batching& batch) { return batch.per_worker > 0 ? batch.per_worker : batch.minibatch; }

}  // namespace

std::vector<NamedMetric> figures_of(const std::vector<GatheredMetric>& metrics) {
  std::vector<NamedMetric> figures;
  for (const GatheredMetric& metric : metrics)
    figures.insert(figures.end(), metric.figures.begin(), metric.figures.end());
  return figures;
}

std::vector<std::string> groups_of(const std::vector<Objective>& objectives) {
  std::vector<std::string> groups;
  for (const Objective& objective : objectives)
    if (std::find(groups.begin(), groups.end(), objective.group) == groups.end()) groups.push_back(objective.group);
  return groups;
}

std::vector<std::string> groups_of(const Task& task, const Batching& batch) {
  return groups_of(declare_training(task, any_shape(batch), DType::f32, false).objectives);
}

void check_target(const TrainConfig& config, const std::vector<NamedMetric>& metrics) {
  const std::optional<TargetFigure>& target = config.length.target;
  if (!target) return;
  if (target->is_of_averages() && !config.judging.eval_ema)
    throw Error(
        fmt::format("length.target = {}: expected evaluations of the averaged parameters, got none\n"
                    "  hint:     judging.eval_ema, and learning.ema = 0.999 for the averages",
                    target->text()));
  for (const auto& [name, kind] : metrics)
    if (name == target->plain_metric() && kind.is_share)
      if (const std::string fault = target->share_fault(kind.higher_is_better); !fault.empty())
        throw Error("length.target: " + fault);
  const std::vector<std::string> names = target_names(metrics, config.judging.eval_ema);
  if (std::find(names.begin(), names.end(), target->metric) != names.end()) return;
  throw Error(fmt::format("length.target: expected a metric of the model: {}; got '{}'{}", fmt::join(names, ", "),
                          target->metric, did_you_mean(target->metric, names)));
}

void check_target(const TrainConfig& config, const Task& task) {
  if (!config.length.target) return;
  check_target(config, figures_of(declare_inference(task, any_shape(config.batch), DType::f32).metrics));
}

}  // namespace kb
