// Charts of many runs over one another: what they learned, their learning rate, throughput and waits for data.
#pragma once
#include <string>
#include <vector>

#include "recipes/report/curves.h"

namespace kb {

struct ChartedRun {
  std::string name;
  RunCurves curves;
};

// One chart over either axis: self-contained SVGs.
struct RunChart {
  std::string by_epochs, by_steps;
};

// Run number i has numbered_stroke(i), and is a group `class="run" data-run="i"` with its name as its tip. Curves of
// steps are means over a hundredth of the steps, of which kChartColumns columns keep the first and the last point, the
// least and the greatest: see smoothed and decimated. Samples/s and waits, which jump from step to step, are medians
// over a kMedians-th of the steps; those of more than kFewRuns runs are a row a run, with its median and the range of
// nine tenths of its steps. Runs whose greatest value is more than kFarRatio times the median of the runs' greatest
// leave their chart at the top: they diverged. That of learning rates holds all. Charts that no run has a point for are
// left out.
inline constexpr size_t kChartColumns = 120, kMedians = 40, kFewRuns = 10;
inline constexpr double kFarRatio = 10;
std::vector<RunChart> run_charts(const std::vector<ChartedRun>& runs);

}  // namespace kb
