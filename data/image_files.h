// Images that lie in files. Each is read, cropped and resized when a batch needs it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kb {

struct AugmentSpec;

/// The keys of the random numbers for a sample's crop and colours. Evaluation draws none.
struct ImageDraw {
  const AugmentSpec& spec;
  uint64_t seed = 0;
  int64_t epoch = 0;
};

/// The images of one part of a data set.
class ImageFiles {
 public:
  virtual ~ImageFiles() = default;
  /// Writes the pixels of a sample into `pixels` as planes, C x H x W. They are a function of the files and the
  /// arguments. Several threads call it at once. An image that cannot be decoded is replaced by the next one of its
  /// class that can, with the draws of `sample`. Throws DataError when a file cannot be read or no image of the class
  /// can be decoded.
  virtual void read(int64_t sample, const ImageDraw& draw, std::span<uint8_t> pixels) const = 0;
  /// Returns the images that have been replaced so far, as "train/CLASS/NAME: why".
  virtual std::vector<std::string> replaced() const = 0;
  /// Returns the bytes of memory that a thread needs to hold the largest image that must be decoded as a whole.
  virtual int64_t held_bytes() const = 0;
};

}  // namespace kb
