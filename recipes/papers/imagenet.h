// The data of the papers on ImageNet, for their recipes.
#pragma once
#include <string>
#include <vector>

#include "recipes/task/inputs.h"

namespace kb {

inline constexpr const char* kImageNet = "imagenet";
inline constexpr Synthetic kImageNetNoise{
    .shape = {3, 224, 224}, .classes = 1000, .train_count = 256, .test_count = 64};
inline constexpr const char* kResnetBenchmark = "resnet";  // as the checker of MLPerf's logs names ResNet-50

// Flags of the usual augmentation, a random crop of area and aspect ratio and a mirror image (Goyal et al. 2017,
// section 5.1); none for a data set of another name.
inline std::vector<std::string> imagenet_augmentation(const std::string& dataset) {
  if (dataset != kImageNet) return {};
  return {"--augment", "resized-crop,flip"};
}

}  // namespace kb
