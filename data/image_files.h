// Images that lie in files: each is read, cropped and resized when a batch asks for it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kb {

struct AugmentSpec;

/// Keys of the random numbers of a sample's crop and colours; evaluation draws none.
struct ImageDraw {
  const AugmentSpec& spec;
  uint64_t seed = 0;
  int64_t epoch = 0;
};

/// The images of one part of a data set.
class ImageFiles {
 public:
  virtual ~ImageFiles() = default;
  /// Writes the pixels of sample `sample` as planes, C x H x W: a pure function of the files and the arguments. Called
  /// by several threads at once. An image that cannot be decoded is replaced by the next one of its class that can,
  /// with its own draws. Throws DataError where a file cannot be read, or no image of the class can be decoded.
  virtual void read(int64_t sample, const ImageDraw& draw, std::span<uint8_t> to) const = 0;
  /// The images that have been replaced so far: "train/CLASS/NAME: why".
  virtual std::vector<std::string> replaced() const = 0;
  /// Memory that a thread takes for an image that it holds as a whole while it reads it, in bytes: of the largest.
  virtual int64_t held_bytes() const = 0;
};

}  // namespace kb
