// Augmentation of training images as a run's configuration asks for it.
#pragma once
#include <string>

#include "data/loader.h"
#include "recipes/config/run_config.h"

namespace kb {

AugmentSpec augment_spec(const RunConfig& config);
// Returns the augmentation in the training graph: all, or mixup alone where the loader moves the pixels.
AugmentSpec graph_augment(const RunConfig& config);
// Returns the loader's augmentation: it draws all records; with --augment-in loader it applies windows and boxes.
Augmentation loader_augment(const RunConfig& config, const InputSpec& input);
// Throws UsageError where an augmentation is asked for that images in memory cannot have.
void check_augment(const RunConfig& config, const InputSpec& input);
// "crop (pad 4), flip; in the graph".
std::string describe_augment(const RunConfig& config);

}  // namespace kb
