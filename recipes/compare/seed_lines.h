// Runs that differ by their seeds alone, or by what no bit depends on, are one line of a chart.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "recipes/compare/report_runs.h"

namespace kb {

// Returns flags of a run without those of seeds and without those on which no bit of a result depends: --threads,
// --processes, --loader-threads, --resident.
std::vector<std::pair<std::string, std::string>> compared_flags(std::vector<std::pair<std::string, std::string>> flags);

struct SeedLine {
  // The name of the run. Several runs have the beginning that their names share: "kn512, 3 seeds", or "kn512, 3 runs"
  // if two of them have the same seeds.
  std::string name;
  std::vector<size_t> runs;  // indices of the report's runs, ascending
};

// Returns the lines in the order of their first runs. Runs share a line if their compared_flags() are equal; a run that
// diverged has a line of its own.
std::vector<SeedLine> seed_lines(const std::vector<ReportedRun>& runs);

// Returns the index of the line of each run.
std::vector<size_t> line_numbers(const std::vector<SeedLine>& lines);

}  // namespace kb
