// The data set `imagenet`: images of any size in folders of classes or in a pack of them (data/images/pack.h), each
// seen as a square of pixels. Only the index stays in memory.
#pragma once

#include <filesystem>
#include <memory>

#include "data/dataset.h"
#include "data/images/image_store.h"

namespace kb {

inline constexpr int64_t kImageNetTrainCount = 1281167, kImageNetTestCount = 50000;  ///< images of ILSVRC 2012

struct ImageSetPlace {
  std::filesystem::path data;   ///< a pack, a folder that has a folder `train`, or the folder that contains `imagenet`
  std::filesystem::path cache;  ///< folder in which index_of_folder keeps the images' sizes; empty: none
  int threads = 1;              ///< number of threads that read the images' headers
};

/// Returns whether `data` is a pack or a folder of this kind.
bool has_image_set(const std::filesystem::path& data);

/// Opens the pack or the folder. Throws DataError when there is neither, or it is damaged.
std::shared_ptr<const ImageStore> open_image_store(const ImageSetPlace& place);

/// Returns the set with images of 3 x side x side pixels. Its splits have labels, and files in place of pixels. Its
/// statistics are the published ones: mean .485 .456 .406, standard deviation .229 .224 .225.
Dataset image_set(std::shared_ptr<const ImageStore> store, int64_t side);

ChannelStatistics imagenet_statistics();

}  // namespace kb
