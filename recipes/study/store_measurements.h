// What the trials of a sweep's store say, as measurements.
#pragma once
#include <filesystem>
#include <optional>
#include <vector>

#include "recipes/study/measurement.h"

namespace kb {

// Returns a measurement for each trial of the store that has ended, or was stopped as hopeless, in the order of the
// plan. Throws Error where the folder holds no sweep, or a run folder of it is damaged.
std::vector<Measurement> store_measurements(const std::filesystem::path& store);

// Returns the learning rate of a step of the run behind its warmup, by the flags of its manifest; nothing where there
// is no manifest yet.
std::optional<double> rate_of_run(const std::filesystem::path& run);

}  // namespace kb
