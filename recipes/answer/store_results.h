// Results of a sweep as a study takes them: read from its run folders.
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
  std::vector<Measurement> measurements;  // of trials that have ended or were stopped as hopeless, in the plan's order
  std::vector<RunReport> best_runs;       // the best trial of each of them, ascending
  StudyHead head;                         // recipe, data, ranges, constants
  std::vector<std::string> left_out;      // of each run folder that cannot be read: which, and why
  std::optional<TargetNoise> noise;       // that of the held-out part
  size_t waiting = 0;                     // trials that are known and not done yet
};

// Throws Error where the folder holds no sweep.
StoreResults read_store(const std::filesystem::path& store);

}  // namespace kb
