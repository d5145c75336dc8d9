// The data of the papers on ImageNet, for their recipes.
#pragma once
#include "recipes/task/inputs.h"

namespace kb {

inline constexpr const char* kImageNet = "synthetic";
inline constexpr Synthetic kImageNetNoise{
    .shape = {3, 224, 224}, .classes = 1000, .train_count = 256, .test_count = 64};
inline constexpr int64_t kImageNetSamples = 1281167;  // of the training part

}  // namespace kb
