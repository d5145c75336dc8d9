// The table of a report: a row a run, with the flags that differ, how it ended, what it found and what it took.
#pragma once
#include <string>
#include <vector>

#include "recipes/compare/report_runs.h"

namespace kb {

// Of the flag in the run's manifest; "-" where it has none.
std::string flag_of(const ReportedRun& run, const std::string& name);
// Of all runs, in the order of their manifests.
std::vector<std::string> all_flags(const std::vector<ReportedRun>& runs);
// Names of the flags that do not have the same value in all runs, in the order of the manifests; of a single run none.
std::vector<std::string> differing_flags(const std::vector<ReportedRun>& runs);

// A piece of the line of this number in the charts.
std::string key_of(size_t line);
// Attributes of what picks the line out.
std::string picked_by(size_t line);

// Each part of the data has columns of its own for the final state and for the best one, of the goal and of every other
// metric; columns that no run has a figure for are left out. Figures of a run that has not ended are those so far.
// `lines`: the number of each run's line.
std::string results_table(const std::vector<ReportedRun>& runs, const std::vector<size_t>& lines);

}  // namespace kb
