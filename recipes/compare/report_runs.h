// Runs for a report: their folders are looked for, and all that a page says of them is read.
#pragma once
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "recipes/report/curves.h"
#include "recipes/train/metrics.h"
#include "recipes/trials/run_reader.h"

namespace kb {

struct ReportedRun {
  std::string name;  // path within the folder that all of the report's runs have in common
  RunReport run;
  RunCurves curves;
  std::vector<std::pair<std::string, std::string>> flags;  // of the manifest, in its order; the recipe first
  int64_t planned_steps = 0, done_steps = 0;
  std::string reason;        // why it diverged; empty: it did not, or is unknown
  bool is_hopeless = false;  // a trial of a sweep that was stopped, as it needs more steps than its minibatch's best
  double samples_per_s = std::numeric_limits<double>::quiet_NaN();  // median over the steps
  double data_wait_ms = std::numeric_limits<double>::quiet_NaN();   // a step, likewise
  int64_t process_bytes = 0, program_bytes = 0;                     // at the peak, or forecast; 0: unknown
  std::vector<std::string> layers;                                  // names, where the run logged their norms
  std::vector<LayerNorms> norms;
};

struct ReportedRuns {
  std::vector<ReportedRun> runs;      // by name, numbers by their value
  std::vector<std::string> left_out;  // why a folder, or the sweep that runs are trials of, could not be read
};

// `places`: run folders, and folders with run folders below them. Throws Error where a place is not there or holds no
// run, and where no run can be read.
ReportedRuns read_runs(const std::vector<std::filesystem::path>& places);

}  // namespace kb
