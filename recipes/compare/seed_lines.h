// Runs that differ by their seeds alone, which are one line of a chart.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "recipes/compare/report_runs.h"

namespace kb {

struct SeedLine {
  std::string name;          // the run's; of several what their names begin with, "kn512, 3 seeds"
  std::vector<size_t> runs;  // numbers of the report's runs, ascending
};

// Returns the lines in the order of their first runs: runs with the same flags, --seed, --seed-weights and --seed-order
// apart, share one; a run that diverged has one of its own.
std::vector<SeedLine> seed_lines(const std::vector<ReportedRun>& runs);

// Returns the number of each run's line.
std::vector<size_t> line_numbers(const std::vector<SeedLine>& lines);

}  // namespace kb
