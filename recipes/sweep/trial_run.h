// Which run a trial's folder holds, as its manifest says. Folders that are copied from another sweep, or trained before
// a minibatch was planned anew, hold the run of another trial.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace kb {

struct RunReport;

struct TrialRun {
  int64_t minibatch = 0, seed = 0;
  std::optional<double> rate;         // learning rate after the warmup
  std::optional<std::string> target;  // text of --target, "" without one; nothing: the manifest does not tell it
};

TrialRun trial_run(const RunReport& report);

// Returns the first way in which a run is not the expected one: "expected a run of minibatch 64, got one of minibatch
// 512"; "" if it is. An expected rate of nothing is any rate.
std::string difference_text(const TrialRun& expected, const TrialRun& got);

}  // namespace kb
