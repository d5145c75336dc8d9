// Answers from the branches of a run: the local critical minibatch at each place, the gradient noise scale beside it,
// and the growths of the minibatch that follow (Merrill et al. 2025, arXiv 2505.23971, sections 3.1 and 4.1).
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "optim/local_critical_batch.h"
#include "optim/noise_scale.h"
#include "recipes/answer/branches_plan.h"
#include "recipes/answer/study_head.h"
#include "recipes/config/growth.h"

namespace kb {

struct BranchRun {
  int64_t factor = 1, minibatch = 0;
  std::vector<double> losses = {};       // losses of its steps in the window, as many as the place's steps_of(factor)
  double rate = 0;                       // learning rate of the first of them
  bool diverged = false;                 // true if the run diverged, or one of the losses is not finite
  std::string part = "test";             // part of the data that its evaluation is of
  std::optional<double> held_out = {};   // loss there after the window
  std::optional<NoiseScale> noise = {};  // noise scale after the window, its interval; measured at k = 1
  std::string origin = {};               // hash of the state that it began with
};

// How the loss of a branch is smoothed: as the exponential moving average of its steps' losses, as their mean over the
// last share of the window, or as the loss on the held-out part after the window.
struct LossSmoothing {
  enum class Kind : uint8_t { ema, mean, held_out };
  Kind kind = Kind::ema;
  double number = kLocalSmoothing;  // alpha of ema, share of mean

  std::string text() const;  // "ema:0.5", "mean:0.25", "held-out"
};
// Reads text() back. Throws UsageError for other texts.
LossSmoothing parse_smoothing(const std::string& flag, const std::string& text);

struct SmoothedBranch {
  BranchRun run;
  double loss = 0;               // smoothed; infinite if the branch diverged
  AveragedLoss difference = {};  // loss less that of k = 1
  bool holds = true;             // whether it loses nothing against any smaller k
};

struct PlaceAnswer {
  BranchPlace place;
  std::vector<SmoothedBranch> branches;   // in ascending order of k
  std::optional<LocalCritical> critical;  // nothing: the branch with k = 1 diverged

  // The local critical minibatch lies between both, in samples: `low` lost nothing, `high` did. `low` is nothing if
  // already the smallest k above 1 lost, `high` if the greatest did not.
  std::optional<int64_t> low() const, high() const;
  // Returns "16 to 32", "at least 64", "below 16", or "-" without an answer; both ends times `unit`.
  std::string text(int64_t unit = 1) const;
};

struct BranchesAnswer {
  StudyHead head;
  std::string run;             // folder
  int64_t base_minibatch = 0;  // the run's minibatch at its begin
  LossSmoothing smoothing;
  double tolerance = kLocalTolerance;
  std::vector<PlaceAnswer> places;
  std::optional<int64_t> context = {};  // tokens of a sample, if samples hold tokens
  std::vector<Growth> warmup = {};      // growths that follow; none if the minibatch could double nowhere
  std::string command = {};             // command that trains with them
  double steps_saved = 0;               // share of the run's steps that they save
};

// Answers for the branches of a place, the first of which has k = 1. Throws Error if a held-out loss is asked for and
// missing.
PlaceAnswer answer_place(const BranchPlace& place, std::vector<BranchRun> runs, const LossSmoothing& smoothing,
                         double tolerance);

// Answers for all branches of a plan, whose run folders are in `folder`. Throws Error if one of them began with another
// state than the run has now.
BranchesAnswer answer_branches(const BranchesPlan& plan, const std::filesystem::path& folder,
                               const LossSmoothing& smoothing, double tolerance);

}  // namespace kb
