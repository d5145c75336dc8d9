// Reads measurements from a table (CSV, recipes/answer/csv.h): the first line names the columns, each other is a
// training.
//
// - minibatch: samples per step, a whole number
// - steps, samples or epochs: length of the run up to the target, by the first of these columns that is there; epochs
//   need the samples of one
// - rate: learning rate; optional, like all columns below
// - setting: any text, which names other values that were varied
// - seed: a whole number
// - reached: 1 or 0, whether the target was reached; if it was not, steps are those until the run was given up. Without
//   the column it was reached if steps stand there and the run did not diverge
// - diverged: 1 or 0
// - seconds: seconds that the run took
// - eval_every: distance between evaluations, in the unit of the length, if the length is that of the first one that
// reached
//   the target; the run counts with half of it less, and intervals take in that its steps are known to within it
// - policy: flags by which workers were kept alike, "policy=local replicas=4 every=8" (recipes/trials/policy_flags.h);
//   such words in `setting` count, too
// - clock_s, sent_bytes: virtual seconds of the run, and bytes that a process sent (recipes/answer/store_results.h)
//
// Any cell but minibatch may be empty. true and false stand for 1 and 0. Other columns are ignored.
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
  std::vector<std::string> ignored;  // names of the columns that were ignored
};

// Reads a table. Throws DataError with file, line, expected, got and a hint.
Measurements parse_measurement_table(std::string_view text, const std::string& file,
                                     std::optional<double> samples_per_epoch = std::nullopt);
// Reads the table in a file. Throws Error if the file cannot be read.
Measurements read_measurement_table(const std::filesystem::path& file,
                                    std::optional<double> samples_per_epoch = std::nullopt);

// Returns such a table with all of the run's values; steps of a run that did not reach the target are those that it
// took.
std::string measurement_table(std::span<const Measurement> runs);

}  // namespace kb
