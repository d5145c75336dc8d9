// Reads measurements from a table (CSV, recipes/answer/csv.h): the first line names the columns, each other is a
// training.
//
// - minibatch: samples of a step, a whole number
// - steps, samples or epochs: to the target; the first of them that is there counts; epochs need the samples of one
// - rate: learning rate; optional, like all below
// - setting: any text, of whatever else was varied
// - seed: a whole number
// - reached: 1 or 0, whether the target was reached; else steps are those until the run was given up. Without the
//   column it was reached if steps stand there and the run did not diverge
// - diverged: 1 or 0
// - seconds: that the run took
//
// A cell may be empty, but for minibatch. true and false stand for 1 and 0. Other columns are passed over.
#pragma once
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/answer/measurement.h"

namespace kb {

struct Measurements {
  std::vector<Measurement> runs;
  std::vector<std::string> ignored;  // names of columns that were passed over
};

// Throws DataError with file, line, expected, got and a hint.
Measurements parse_measurement_table(std::string_view text, const std::string& file,
                                     std::optional<double> samples_per_epoch = std::nullopt);
// Throws Error where the file cannot be read.
Measurements read_measurement_table(const std::filesystem::path& file,
                                    std::optional<double> samples_per_epoch = std::nullopt);

// Writes such a table, with all the columns; steps of a run that did not reach the target are those that it took.
std::string measurement_table(std::span<const Measurement> runs);

}  // namespace kb
