// Reads the lines of metrics.jsonl of a run that is resumed. From them the instruments learn what they knew when the
// run was stopped.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recipes/train/evaluation.h"
#include "runtime/flat_json.h"

namespace kb {

// A function that calls `take` with every line that the run keeps, in order. It may be called only once.
using PastLines = std::function<void(const std::function<void(const FlatJson&)>& take)>;

bool is_step(const FlatJson& line);
bool is_evaluation(const FlatJson& line);
// Returns the number of steps done before the line's step or evaluation, which is also the step's number; 0 if the line
// lacks it.
int64_t step_of(const FlatJson& line);
// Returns the loss of a step or an evaluation; NaN if it was not finite, 0 if the line lacks it.
double loss_of(const FlatJson& line);
// Returns the means of the training metrics over a step's samples: NaN for one that was not finite, 0 for one that the
// line lacks.
std::vector<double> means_of(const FlatJson& line, const std::vector<NamedMetric>& metrics);
// Returns an evaluation, with NaN for figures that were not finite or that the line lacks. The figures'
// names in the line begin with `prefix`.
Evaluation evaluation_of(const FlatJson& line, const std::vector<NamedMetric>& metrics, const std::string& prefix = "");
// Returns that of the averaged parameters; nothing where the line has none.
std::optional<Evaluation> averaged_of(const FlatJson& line, const std::vector<NamedMetric>& metrics);

}  // namespace kb
