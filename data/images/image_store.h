// The files of a set of images, wherever they lie.
#pragma once

#include <span>

#include "data/bytes.h"
#include "data/images/index.h"

namespace kb {

/// The files of a set, by their entry in its index.
class ImageStore {
 public:
  virtual ~ImageStore() = default;
  const ImageIndex& index() const { return index_; }
  /// Reads a file into `memory`, and returns its bytes there. Throws DataError where they cannot be read.
  virtual std::span<const uint8_t> file(const ImageEntry& entry, Bytes& memory) const = 0;

 protected:
  explicit ImageStore(ImageIndex index) : index_(std::move(index)) {}
  ImageIndex index_;
};

}  // namespace kb
