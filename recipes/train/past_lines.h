// Lines of metrics.jsonl that a training which goes on is told again: all that its instruments knew when it stopped
// follows from them.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recipes/train/evaluation.h"
#include "runtime/flat_json.h"

namespace kb {

// Calls `take` with every line that the run keeps, in their order. It may be called once.
using PastLines = std::function<void(const std::function<void(const FlatJson&)>& take)>;

bool is_step(const FlatJson& line);
bool is_evaluation(const FlatJson& line);
// Returns the steps that were done before the line's own step, or before the evaluation.
int64_t step_of(const FlatJson& line);
// Returns the training loss of a step; NaN if it was not finite.
double loss_of(const FlatJson& line);
// Returns the means of the training metrics over a step's samples, each NaN if it was not finite.
std::vector<double> means_of(const FlatJson& line, const std::vector<NamedMetric>& metrics);
// Returns an evaluation, with NaN for figures that were not finite or that the line lacks. The figures'
// names in the line begin with `prefix`.
Evaluation evaluation_of(const FlatJson& line, const std::vector<NamedMetric>& metrics, const std::string& prefix = "");
// Returns that of the averaged parameters; nothing where the line has none.
std::optional<Evaluation> averaged_of(const FlatJson& line, const std::vector<NamedMetric>& metrics);

}  // namespace kb
