// How many trials train best side by side: a small net does not keep all processors busy by itself.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recipes/study/trial.h"

namespace kb {

struct Packing {
  int jobs = 1;     // trials side by side that were tried
  double gain = 1;  // steps a second of all of them over those of one that has all processors

  // Whether they are worth it: the first trial of a sweep is its smallest step, and others keep more processors busy.
  bool pays() const;
  std::string text() const;  // "2 side by side train 1.8 x what one after another would"
};

struct PackingTrial {
  std::vector<std::string> program;  // starts a trial
  Trial trial;
  int jobs = 1, threads = 1;  // side by side, and of each then
  int threads_alone = 1;
  int shards = 0;  // of a trial
};

// Trains the trial for some seconds alone, and then several times side by side, in a folder of the store that is
// emptied again (ScratchFolder). Returns nothing where it was asked to stop. Throws Error where the trial does not
// train.
std::optional<Packing> measure_packing(const PackingTrial& measured, const std::filesystem::path& store,
                                       const std::function<bool()>& wants_to_stop);

}  // namespace kb
