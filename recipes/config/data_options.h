// Options of a recipe's task: its data, their augmentation, and the options that the recipe defines itself.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "recipes/config/values.h"
#include "recipes/task/model.h"

namespace kb {

enum class AugmentKind : uint8_t { crop, flip, cutout, mixup, resized_crop, jitter, lighting };
inline constexpr auto kAugmentKinds =
    choices<AugmentKind>({"crop", "flip", "cutout", "mixup", "resized-crop", "jitter", "lighting"});

// The place where the pixels of an augmented image are moved: in ops of the training graph, or in the loader's threads.
enum class AugmentPlace : uint8_t { graph, loader };
inline constexpr auto kAugmentPlaces = choices<AugmentPlace>({"graph", "loader"});

struct DataOptions {
  std::string path = {};  // file or folder of the data, or kNoise for synthetic data
  std::string dataset = {};
  int64_t image = 224;  // side of a square image in pixels
  std::vector<AugmentKind> augment = {};
  int64_t pad = 4, cutout_size = 16;  // pixels: border that crop adds, side of the square that cutout erases
  double mixup_alpha = 1;             // parameter of mixup's beta distribution
  AugmentPlace augment_in = AugmentPlace::graph;
  OptionValues options = {};  // values of the options that the recipe defines itself
};

}  // namespace kb
