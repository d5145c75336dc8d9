// Statistics over several runs of one configuration, such as the seeds of a study, and their lines in its picture.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "recipes/report/study_picture.h"
#include "recipes/trials/run_reader.h"
#include "recipes/trials/statistics.h"

namespace kb {

// Number of last epochs whose median error is the error of a run, as in Goyal et al. 2017, section 5.1.
inline constexpr size_t kLastEpochs = 5;

// Returns the median of the goal over the run's last kLastEpochs epochs that have an evaluation, or over fewer if there
// are fewer; an epoch counts with its last evaluation. Returns nothing if there is none, or one of the values is not
// finite.
std::optional<double> median_of_last(const RunReport& run);

struct Summary {
  std::string goal = "error";
  MetricKind goal_kind = {};
  std::string part = "test";         // part of the data on which `median` is measured
  std::string result_part = "test";  // part of the data on which `last` is measured
  std::vector<RunReport> runs;       // runs that are done
  size_t diverged = 0, failed = 0;   // numbers of runs that the means leave out
  std::optional<MeanOf> last;        // goal at the end
  std::optional<MeanOf> median;      // median_of_last()
  std::optional<MeanOf> train_loss;  // training loss at the last evaluation
};

// Returns the summary of runs that are done. `failed`: number of further runs, which failed.
Summary summary_of(std::vector<RunReport> runs, size_t failed = 0);

// Returns the goal at the end of each run as what is better the lower it is, to judge differences by: in per cent if it
// is a share, with the other sign if higher is better, infinity for a run that diverged.
std::vector<double> final_errors(const Summary& summary);

// Returns a value of the goal as text: "10.27 %" for a share, otherwise "0.1234"; "-" if it is not finite.
std::string goal_text(const Summary& summary, double value);
// Returns a mean as text: "10.27 +- 0.12 %", for one run "10.27 %", for none "-"; if runs diverged "10.27 % (1 of 2
// diverged)" or, if all did, "diverged".
std::string goal_text(const Summary& summary, const std::optional<MeanOf>& mean);

// Returns a table with a line for each run, and the means below.
std::string summary_table(const Summary& summary);
// Returns {"goal": .., "runs": [..], "final": {"mean": .., "stddev": .., "count": .., "part": "test"}, ...}.
std::string summary_json(const Summary& summary, const std::string& command);

// Returns the run's evaluations; values that are not finite, or too large to draw, have no point.
StudyLine line_of(const RunReport& run, const std::string& label);
GoalCurve goal_curve(const Summary& summary);

}  // namespace kb
