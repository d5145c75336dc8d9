// The table of a report: one row per run, with the flags that differ, how the run ended, its figures and its costs.
#pragma once
#include <string>
#include <vector>

#include "recipes/compare/report_runs.h"

namespace kb {

// Returns the value of the flag in the run's manifest; "-" if the manifest lacks it.
std::string flag_of(const ReportedRun& run, const std::string& name);
// Returns the names of the flags of all runs, in the order of their manifests.
std::vector<std::string> all_flags(const std::vector<ReportedRun>& runs);
// Returns the names of the flags that do not have the same value in all runs, in the order of the manifests; none for
// one run.
std::vector<std::string> differing_flags(const std::vector<ReportedRun>& runs);

// Returns an SVG of a short piece of the charts' line number `line`, for legends.
std::string key_of(size_t line);
// Returns the HTML attributes of an element that picks out line number `line`.
std::string picked_by(size_t line);

// Returns the HTML table. Each metric on each part of the data has a column for the final state and one for the best
// state; columns that no run has a figure for are left out. Figures of a run that has not ended are those so far.
// `lines`: number of each run's line.
std::string results_table(const std::vector<ReportedRun>& runs, const std::vector<size_t>& lines);

}  // namespace kb
