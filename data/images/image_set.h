// The data set `imagenet`: images of any size in folders of classes, or in a pack of them (data/images/pack.h), seen
// through a square of pixels. Nothing but the index stays in memory.
#pragma once

#include <filesystem>
#include <memory>

#include "data/dataset.h"
#include "data/images/image_store.h"

namespace kb {

inline constexpr int64_t kImageNetTrainCount = 1281167, kImageNetTestCount = 50000;  ///< images of ILSVRC 2012

struct ImageSetPlace {
  std::filesystem::path data;   ///< a pack, a folder with a part `train`, or the folder above `imagenet`
  std::filesystem::path cache;  ///< folder in which index_of_folder keeps the images' sizes; empty: none
  int threads = 1;              ///< number of threads that read the images' headers
};

/// Whether a pack or such a folder is there.
bool has_image_set(const std::filesystem::path& data);

/// Throws DataError where neither is there, or what is there is damaged.
std::shared_ptr<const ImageStore> open_image_store(const ImageSetPlace& place);

/// The set with images of side x side pixels in three colours. Its splits have labels, and files in place of pixels.
/// Statistics are those published for ImageNet: mean .485 .456 .406, standard deviation .229 .224 .225.
Dataset image_set(std::shared_ptr<const ImageStore> store, int64_t side);

ChannelStatistics imagenet_statistics();

}  // namespace kb
