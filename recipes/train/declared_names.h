// Names that a model declares: figures of its metrics, and groups of its parameters.
#pragma once
#include <string>
#include <vector>

#include "recipes/config/train_config.h"
#include "recipes/task/model.h"
#include "recipes/task/task.h"

namespace kb {

// Returns the figures that evaluations tell, those of all metrics in their order.
std::vector<NamedMetric> figures_of(const std::vector<GatheredMetric>& metrics);

// Return the names of the parameter groups that the losses train, in the order in which the losses name them.
std::vector<std::string> groups_of(const std::vector<Objective>& objectives);
std::vector<std::string> groups_of(const Task& task, const Batching& batch);

// Throw Error where the model has no metric as length.target names it, where no training can be better than the
// figure, and where it names averaged parameters that are not evaluated.
void check_target(const TrainConfig& config, const std::vector<NamedMetric>& metrics);
void check_target(const TrainConfig& config, const Task& task);

}  // namespace kb
