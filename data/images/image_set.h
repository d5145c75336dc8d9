// The data set `imagenet`: images of any size in folders of classes, or in a pack of them (data/images/pack.h), seen
// through a square of pixels. Nothing but the index stays in memory.
#pragma once

#include <filesystem>
#include <memory>

#include "data/dataset.h"
#include "data/images/index.h"

namespace kb {

/// The files of a set, by their entry in its index.
class ImageStore {
 public:
  virtual ~ImageStore() = default;
  const ImageIndex& index() const { return index_; }
  /// The bytes of a file, in `memory` or where they lie. Throws DataError where they cannot be read.
  virtual std::span<const uint8_t> file(const ImageEntry& entry, Bytes& memory) const = 0;

 protected:
  explicit ImageStore(ImageIndex index) : index_(std::move(index)) {}
  ImageIndex index_;
};

struct ImageSetPlace {
  std::filesystem::path data;   ///< a pack, a folder with a part `train`, or the folder above `imagenet`
  std::filesystem::path cache;  ///< of indices; see index_of_folder
  int threads = 1;              ///< that read the headers
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
