// Losses that a model gives to be minimised.
#pragma once
#include <string>
#include <vector>

#include "graph/tensor.h"

namespace kb {

struct Loss {
  std::string name = "loss";  // key of metrics.jsonl if there are several losses
  Tensor values = {};         // float [N], a value for each sample; never reduced over N
  // Scope of the parameters that the loss moves, such as "generator": they are a group with a learning rate of its own
  // (TrainConfig::group_learning). Its gradient reaches no other parameter. Empty: the loss moves all parameters.
  std::string group = {};
};

// One loss, which moves all parameters, or several.
struct Losses : std::vector<Loss> {
  Losses() = default;
  Losses(Tensor values) { push_back({.values = values}); }
  Losses(std::initializer_list<Loss> all) : std::vector<Loss>(all) {}
};

}  // namespace kb
