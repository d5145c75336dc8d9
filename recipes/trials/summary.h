// Statistics over several runs of one configuration: seeds of a study.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "recipes/trials/run_reader.h"
#include "recipes/trials/statistics.h"

namespace kb {

// The error of a run is the median of its last five epochs in Goyal et al. 2017, section 5.1.
inline constexpr size_t kLastEpochs = 5;

// Returns the median of the goal over the run's last five epochs with an evaluation, of each the last one; of fewer
// where there are fewer. Nothing where there is none, or one of them is not finite.
std::optional<double> median_of_last(const RunReport& run);

struct Summary {
  std::string goal = "error";
  MetricKind goal_kind = {};
  std::string part = "test";         // that median_of_last is of
  std::string result_part = "test";  // that `last` is of
  std::vector<RunReport> runs;       // that are done
  size_t diverged = 0, failed = 0;   // no part of the means
  std::optional<MeanOf> last;        // goal at the end
  std::optional<MeanOf> median;      // median_of_last
  std::optional<MeanOf> train_loss;
};

// `failed`: runs that are not among these.
Summary summary_of(std::vector<RunReport> runs, size_t failed = 0);

// "10.27 %", "0.1234".
std::string goal_text(const Summary& summary, double value);
// "10.27 +- 0.12 %"; "10.27 %" of one run; "diverged", "10.27 % (1 of 2 diverged)", "-".
std::string goal_text(const Summary& summary, const std::optional<MeanOf>& mean);

// A table, a line a run and one for all.
std::string summary_table(const Summary& summary);
// {"goal": .., "runs": [..], "final": {"mean": .., "stddev": .., "count": .., "part": "test"}, ...}
std::string summary_json(const Summary& summary, const std::string& command);

}  // namespace kb
