// Curves of short runs that the repository keeps (recipes/curves), and the comparison of a new run with one of them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace kb {

// One evaluation: number of epochs done, test loss, and the value of the goal's metric (a test error is in [0, 1]).
struct KeptPoint {
  double epoch = 0, loss = 0, goal = 0;
};

struct RunCurve {
  std::map<std::string, std::string> machine;  // names and values of what bits depend on: compilers, library, ...
  std::string state_sha256;                    // SHA-256 of the trained state
  std::vector<KeptPoint> points;
  int64_t test_samples = 0;  // number of test samples, of which errors are fractions; 0 if not known
};

struct KeptCurve {
  std::string recipe;
  std::vector<std::string> arguments;  // words of the command line; `run` is its run with seed 1
  RunCurve run;
  int64_t seeds = 0;                       // number of seeds, which are 1 to this many
  std::vector<KeptPoint> mean, deviation;  // mean and sample standard deviation over the seeds, per evaluation
};

// Reads the curve of a run from its folder. Throws Error if a file is missing or the run has not ended.
RunCurve run_curve(const std::filesystem::path& folder);

// Returns the curve to keep of `runs`: at least two, with seeds 1, 2, ... and the same evaluations. Throws Error
// otherwise.
KeptCurve kept_curve(const std::string& recipe, std::vector<std::string> arguments, std::span<const RunCurve> runs);

std::string to_json(const KeptCurve& curve);
// Reads what to_json() wrote. `file`: name for messages. Throws Error for any other text.
KeptCurve parse_kept_curve(const std::string& text, const std::string& file);

struct CurveVerdict {
  bool holds = false;
  std::string text;  // lines for a person
};
// Compares a run of seed 1 with the kept curve. On the same kind of machine its final state must have the kept bits. On
// another one the loss and the goal of every evaluation must be as near to the mean over the seeds as `deviations`
// standard deviations, or as 1e-4 of the loss and one test sample if that is more.
CurveVerdict compare_with(const KeptCurve& kept, const RunCurve& run, double deviations);

}  // namespace kb
