// Finds the run folders for a report and reads all that its page says of them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "recipes/report/curves.h"
#include "recipes/train/metrics.h"
#include "recipes/trials/run_reader.h"
#include "runtime/json_reader.h"

namespace kb {

struct ReportedRun {
  std::string name;  // path relative to the deepest folder that contains all runs of the report
  RunReport run;
  RunCurves curves;
  std::vector<std::pair<std::string, std::string>> flags;  // flags of the manifest, in its order; the recipe first
  int64_t planned_steps = 0, done_steps = 0;
  std::string reason;        // why it diverged; empty if it did not, or if that is unknown
  bool is_hopeless = false;  // whether a sweep stopped it, as it needs more steps than its minibatch's best trial
  double samples_per_s = std::numeric_limits<double>::quiet_NaN();  // median over the steps
  double data_wait_ms = std::numeric_limits<double>::quiet_NaN();   // median over the steps
  int64_t process_bytes = 0, program_bytes = 0;                     // peak, or forecast, bytes; 0: unknown
  std::vector<std::string> layers;  // names of the layers, if the run logged their norms
  std::vector<LayerNorms> norms;
};

struct ReportedRuns {
  std::vector<ReportedRun> runs;      // runs sorted by name, numbers in names by their value
  std::vector<std::string> left_out;  // reasons why a folder, or the sweep that trials belong to, could not be read
};

// Returns the flags in a manifest, in its order.
std::vector<std::pair<std::string, std::string>> flags_of_manifest(const JsonValue& manifest);

// Reads the runs in `places`: run folders, and folders with run folders below them. Throws Error if a place does not
// exist or holds no run, and if no run can be read.
ReportedRuns read_runs(const std::vector<std::filesystem::path>& places);

// Returns flags of a run without those of seeds and without those on which no bit of a result depends: --threads,
// --processes, --loader-threads, --resident.
std::vector<std::pair<std::string, std::string>> compared_flags(std::vector<std::pair<std::string, std::string>> flags);

// Runs that differ by their seeds alone, or by what no bit depends on, are one line of a chart.
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
