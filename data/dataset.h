// A labelled image set: raw uint8 pixels in (count, C, H, W) order and int32 labels, a training and a test
// part, and what a recipe must know about them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/bytes.h"

namespace kb {

/// The extents of one image, and its size in pixels (= bytes).
struct ImageShape {
  int64_t channels = 1, height = 0, width = 0;
  int64_t size() const { return channels * height * width; }
  bool operator==(const ImageShape&) const = default;
};

class ImageFiles;

/// A training or a test part. Its pixels lie in memory, or in files.
struct Split {
  ImageShape shape;
  Bytes pixels;                               ///< count x C x H x W; what `resize` adds is not set; empty with files
  std::vector<int32_t> labels;                ///< count, each in [0, class_count)
  std::shared_ptr<const ImageFiles> files{};  ///< null: pixels are in memory

  int64_t count() const { return static_cast<int64_t>(labels.size()); }
  /// In memory.
  std::span<const uint8_t> image(int64_t index) const {
    return {pixels.data() + index * shape.size(), static_cast<size_t>(shape.size())};
  }
};

/// Mean and standard deviation (over all pixels, divisor n) of each channel, pixels scaled to [0, 1]. Summed exactly
/// in integers, divided in double, rounded to five decimals so that the figures printed are the figures used.
struct ChannelStatistics {
  std::vector<double> mean, stddev;
};

struct Dataset {
  std::string name;
  ImageShape shape;
  std::vector<std::string> class_names;
  ChannelStatistics statistics;  ///< of the training part
  Split train, test;             ///< test: of no samples where a set has no such part
  std::string fingerprint;       ///< 16 hexadecimal digits: a hash of shape, pixels and labels of both parts
  bool variant = false;          ///< openly not the published content (data/sets/published.h)
  std::string note = {};         ///< a line that tells what is odd about where it was read from; "": nothing

  int64_t class_count() const { return static_cast<int64_t>(class_names.size()); }
};

/// Makes a Dataset of two parts of the same shape, of which `test` may have no samples: adds the statistics and the
/// fingerprint. Throws DataError naming part and sample where pixels and labels are not of the same number of samples,
/// or a label is none of the classes'.
Dataset make_dataset(std::string name, std::vector<std::string> class_names, Split train, Split test);

ChannelStatistics channel_statistics(const Split& split);

}  // namespace kb
