// Reads what a branch of a run left in its folder.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "optim/noise_scale.h"
#include "recipes/answer/branches_plan.h"

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

// Reads the run folder of a branch that is done. Throws Error if its metrics lack steps of the window.
BranchRun read_branch(const std::filesystem::path& folder, const BranchPlace& place, int64_t factor);

}  // namespace kb
