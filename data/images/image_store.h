// Access to the files of a set of images, whether they lie in a folder or in a pack.
#pragma once

#include <span>

#include "data/bytes.h"
#include "data/images/index.h"

namespace kb {

class ImageStore {
 public:
  virtual ~ImageStore() = default;
  const ImageIndex& index() const { return index_; }
  /// Reads a file into `memory` and returns its bytes there. Throws DataError when it cannot be read.
  virtual std::span<const uint8_t> file(const ImageEntry& entry, Bytes& memory) const = 0;

 protected:
  explicit ImageStore(ImageIndex index) : index_(std::move(index)) {}
  ImageIndex index_;
};

}  // namespace kb
