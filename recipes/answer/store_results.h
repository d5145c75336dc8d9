// Reads the results of a sweep for a study, from its run folders.
#pragma once
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recipes/answer/measurement.h"
#include "recipes/answer/study_head.h"
#include "recipes/answer/target_noise.h"
#include "recipes/config/target_figure.h"
#include "recipes/trials/run_reader.h"

namespace kb {

struct StoreResults {
  TargetFigure target;
  std::vector<Measurement> measurements;  // trials that ended, or were stopped as hopeless, in the plan's order
  std::vector<RunReport> best_runs;       // best trial of each minibatch, in ascending order
  StudyHead head;                         // recipe, data, ranges, constants
  std::vector<std::string> left_out;      // names of run folders that cannot be read, and the reasons
  std::optional<TargetNoise> noise;       // noise of the held-out part
  size_t waiting = 0;                     // number of known trials that are not done yet
};

// Returns the results so far. Throws Error if the folder holds no sweep.
StoreResults read_store(const std::filesystem::path& store);

}  // namespace kb
