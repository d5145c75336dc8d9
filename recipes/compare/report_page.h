// One HTML page about runs: results beside the flags that differ, curves over one another, trust ratios of layers.
#pragma once
#include <string>

#include "recipes/compare/report_runs.h"

namespace kb {

// Returns a page that needs no other file. It is of use without JavaScript; with it, the table is sorted and filtered.
// Curves are decimated as run_charts says. The trust ratios of all runs together have at most kTrustCells cells, those
// of one run at most kTrustCellsOfRun, so that 50 runs take less than 5 MB.
inline constexpr size_t kTrustCells = 80'000, kTrustCellsOfRun = 8'000;
std::string report_page(const ReportedRuns& reported);

}  // namespace kb
