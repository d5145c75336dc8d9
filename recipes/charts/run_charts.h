// Draws charts of many runs over one another: what they learned, their learning rate, throughput and waits for data.
#pragma once
#include <string>
#include <vector>

#include "recipes/report/curves.h"

namespace kb {

// A line of the charts: a run, or several that differ by their seeds alone.
struct ChartedLine {
  std::string name;
  std::vector<RunCurves> seeds;
};

// One chart over each axis, as self-contained SVGs.
struct RunChart {
  std::string by_epochs, by_steps;
};

// Returns the charts; those that no line has a point for are left out. Line number i has numbered_stroke(i), and is a
// group `class="run" data-run="i"` with its name as its tip. Several seeds are drawn as their mean and a band from the
// least to the greatest of them (band_of). Curves of steps are means over a hundredth of the steps; each of
// kChartColumns columns keeps their first and last point, the least and the greatest (smoothed, decimated). Samples/s
// and waits, which jump from step to step, are medians over a kMedians-th of the steps; with more than kFewRuns lines
// each is a row with its median and the range of nine tenths of its steps. Lines whose greatest value is more than
// kFarRatio times the median of all lines' greatest values leave the chart at its top: they diverged. Only the chart of
// learning rates holds all.
inline constexpr size_t kChartColumns = 120, kMedians = 40, kFewRuns = 10;
inline constexpr double kFarRatio = 10;
std::vector<RunChart> run_charts(const std::vector<ChartedLine>& lines);

}  // namespace kb
