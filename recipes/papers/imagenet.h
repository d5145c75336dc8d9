// Constants, flags of the data and metrics that the recipes of papers on ImageNet share.
#pragma once
#include <string>
#include <vector>

#include "recipes/task/model.h"

namespace kb {

inline constexpr const char* kImageNet = "imagenet";
inline constexpr SyntheticSpec kImageNetNoise{
    .shape = {3, 224, 224}, .classes = 1000, .train_count = 256, .test_count = 64};
inline constexpr const char* kResnetBenchmark = "resnet";  // name of ResNet-50 for the checker of MLPerf's logs

// Returns the output of a classifier with the metrics of papers on ImageNet: "error" is the top-1 error, and of more
// than 5 classes "top5_error" is the share of samples whose label is not among the 5 largest logits.
inline ModelOutput imagenet_classification(const Batch& batch, Tensor logits, Where where = Where::current()) {
  ModelOutput output = classification(batch, logits, where);
  if (batch.classes > 5)
    output.metrics.emplace_back("top5_error", 1.0 - in_top_k(logits, batch.labels, 5, where),
                                MetricKind{.is_share = true});
  return output;
}

// Returns the flags of the usual augmentation, a crop of random area and aspect ratio and a random mirroring (Goyal et
// al. 2017, section 5.1), or none if the data set is not ImageNet.
inline std::vector<std::string> imagenet_augmentation(const std::string& dataset) {
  if (dataset != kImageNet) return {};
  return {"--augment", "resized-crop,flip"};
}

}  // namespace kb
