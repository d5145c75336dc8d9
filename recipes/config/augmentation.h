// The augmentation of training images that a run's configuration asks for.
#pragma once
#include <string>

#include "data/loader.h"
#include "recipes/config/run_config.h"

namespace kb {

// Returns the augmentations of --augment with their parameters.
AugmentSpec augment_spec(const RunConfig& config);
// Returns the part that the training graph computes: all but resized-crop, jitter and lighting, or mixup alone if the
// loader moves the pixels (--augment-in loader).
AugmentSpec graph_augment(const RunConfig& config);
// Returns what the loader does: it draws the random records of all augmentations, and with --augment-in loader also
// applies windows and cutout boxes to the pixels.
Augmentation loader_augment(const RunConfig& config, const InputSpec& input);
// Throws UsageError for an augmentation that needs image files where the images are in memory, and for a border that is
// wider than the images.
void check_augment(const RunConfig& config, const InputSpec& input);
// Returns a text such as "crop (pad 4), flip; in the graph", or "none".
std::string describe_augment(const RunConfig& config);

}  // namespace kb
