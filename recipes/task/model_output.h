// A model function returns its losses, metrics and drawings of a minibatch.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "graph/tensor.h"
#include "recipes/task/metric.h"

namespace kb {

// A loss of a model, which a training minimises.
struct Loss {
  std::string name = "loss";  // key of the loss in metrics.jsonl if there are several losses
  Tensor values = {};         // float [N], one value per sample; a model never reduces it over N
  // Scope of the parameters that the loss moves, such as "generator". These parameters are a group, which may learn in
  // its own way (TrainConfig::group_learning); the loss's gradient reaches no other parameter. Empty: the loss moves
  // all parameters, which a user may divide into groups if it is so for all losses.
  std::string group = {};
  // float [N], what each sample counts, such as its number of tokens: the loss is then the sum of `values` over the sum
  // of `count`, both over the global minibatch or the whole part that is evaluated. Such a loss is its group's only
  // one. Invalid: every sample counts 1.
  Tensor count = {};
};

// The losses of a model. A single tensor converts to one loss that moves all parameters.
struct Losses : std::vector<Loss> {
  Losses() = default;
  Losses(Tensor values) { push_back({.values = values}); }
  Losses(std::initializer_list<Loss> all) : std::vector<Loss>(all) {}
};

struct ModelOutput {
  Losses losses;                     // one loss, or several with different names
  std::vector<Metric> metrics = {};  // the first figure is the goal, by which the best state and length.stop_at judge
  Tensor logits = {};                // float [N, ..., classes] of a classifier, for build_logits_graph(); else invalid
  std::vector<Drawing> drawings = {};  // images that every evaluation draws
};

}  // namespace kb
