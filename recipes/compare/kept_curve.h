// Curves that the repository keeps of its short runs (recipes/curves), and how a new run compares with one.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kb {

// An evaluation: epochs done, test loss, and the goal's figure (a test error is a share).
struct KeptPoint {
  double epoch = 0, loss = 0, goal = 0;
};

struct RunCurve {
  std::map<std::string, std::string> machine;  // what bits depend on: compilers, flags of kernels, library, shards
  std::string state_sha256;                    // of the trained state
  std::vector<KeptPoint> points;
  int64_t test_samples = 0;  // of the data that errors are shares of; 0 where that is not known
};

struct KeptCurve {
  std::string recipe;
  std::vector<std::string> arguments;  // of the command line; the run of seed 1 is `run`
  RunCurve run;
  int64_t seeds = 0;                       // 1 to this many
  std::vector<KeptPoint> mean, deviation;  // over the seeds, of each evaluation; a sample's deviation
};

// Reads what a run left. Throws Error where a file is missing or the run has not ended.
RunCurve run_curve(const std::filesystem::path& folder);

// `runs`: of seeds 1, 2, ... with the same evaluations; at least two. Throws Error otherwise.
KeptCurve kept_curve(const std::string& recipe, std::vector<std::string> arguments, std::span<const RunCurve> runs);

std::string to_json(const KeptCurve& curve);
// `file`: for messages. Throws Error for what is no such curve.
KeptCurve parse_kept_curve(const std::string& text, const std::string& file);

struct CurveVerdict {
  bool holds = false;
  std::string text;  // lines for a person
};
// Compares a run of seed 1: on the machine that the curve is of, its bits are the kept ones; on another one every
// evaluation's loss and goal lie within `deviations` standard deviations of the mean over the seeds, or nearer than
// 1e-4 of the loss and one test sample.
CurveVerdict compare_with(const KeptCurve& kept, const RunCurve& run, double deviations);

}  // namespace kb
