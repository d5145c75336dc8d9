// Constants and flags of the data that the recipes of papers on ImageNet share.
#pragma once
#include <string>
#include <vector>

#include "recipes/task/inputs.h"

namespace kb {

inline constexpr const char* kImageNet = "imagenet";
inline constexpr Synthetic kImageNetNoise{
    .shape = {3, 224, 224}, .classes = 1000, .train_count = 256, .test_count = 64};
inline constexpr const char* kResnetBenchmark = "resnet";  // name of ResNet-50 for the checker of MLPerf's logs

// Returns the flags of the usual augmentation, a crop of random area and aspect ratio and a random mirroring (Goyal et
// al. 2017, section 5.1), or none if the data set is not ImageNet.
inline std::vector<std::string> imagenet_augmentation(const std::string& dataset) {
  if (dataset != kImageNet) return {};
  return {"--augment", "resized-crop,flip"};
}

}  // namespace kb
