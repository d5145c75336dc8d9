// Charts of many runs over one another: what they learned, their learning rate, throughput and waits for data.
#pragma once
#include <string>
#include <vector>

#include "recipes/report/curves.h"

namespace kb {

// A run, or several that differ by their seeds alone.
struct ChartedLine {
  std::string name;
  std::vector<RunCurves> seeds;
};

// One chart over either axis: self-contained SVGs.
struct RunChart {
  std::string by_epochs, by_steps;
};

// Line number i has numbered_stroke(i), and is a group `class="run" data-run="i"` with its name as its tip. Several
// seeds are their mean and a band from the least to the greatest of them, see band_of. Curves of steps are means over a
// hundredth of the steps, of which kChartColumns columns keep the first and the last point, the least and the greatest:
// see smoothed and decimated. Samples/s and waits, which jump from step to step, are medians over a kMedians-th of the
// steps; those of more than kFewRuns lines are a row a line, with its median and the range of nine tenths of its steps.
// Lines whose greatest value is more than kFarRatio times the median of the lines' greatest leave their chart at the
// top: they diverged. That of learning rates holds all. Charts that no line has a point for are left out.
inline constexpr size_t kChartColumns = 120, kMedians = 40, kFewRuns = 10;
inline constexpr double kFarRatio = 10;
std::vector<RunChart> run_charts(const std::vector<ChartedLine>& lines);

}  // namespace kb
