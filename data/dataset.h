// A labelled set of images: uint8 pixels in (count, C, H, W) order and int32 labels, in a training and a test part, and
// the facts about them that a recipe needs.
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

/// The extents of one image in pixels. size() is their product, and so the bytes of the image.
struct ImageShape {
  int64_t channels = 1, height = 0, width = 0;
  int64_t size() const { return channels * height * width; }
  bool operator==(const ImageShape&) const = default;
};

class ImageFiles;

/// A training or a test part. Its pixels lie in memory or in files.
struct Split {
  ImageShape shape;
  Bytes pixels;                               ///< count x C x H x W; empty if the pixels lie in files
  std::vector<int32_t> labels;                ///< `count` labels, each in [0, class_count)
  std::shared_ptr<const ImageFiles> files{};  ///< null: the pixels are in memory

  int64_t count() const { return static_cast<int64_t>(labels.size()); }
  /// Returns the pixels of an image that lies in memory.
  std::span<const uint8_t> image(int64_t index) const {
    return {pixels.data() + index * shape.size(), static_cast<size_t>(shape.size())};
  }
};

/// Mean and standard deviation (divisor n) of each channel over all pixels, scaled to [0, 1]. The sums are exact
/// integers. The results are rounded to five decimals, so that the printed figures are those that are used.
struct ChannelStatistics {
  std::vector<double> mean, stddev;
};

struct Dataset {
  std::string name;
  ImageShape shape;
  std::vector<std::string> class_names;
  ChannelStatistics statistics;  ///< statistics of the training part
  Split train, test;             ///< `test` has no samples in a set without a test part
  std::string fingerprint;       ///< 16 hexadecimal digits: a hash of shape, pixels and labels of both parts
  bool variant = false;   ///< true: `variant.txt` says that this is not the published content (data/sets/published.h)
  std::string note = {};  ///< a line that tells what is odd about the files; "": nothing is

  int64_t class_count() const { return static_cast<int64_t>(class_names.size()); }
};

/// Makes a Dataset of two parts with images of one shape; `test` may have no samples. Computes statistics and
/// fingerprint. Throws DataError, which names the part and the sample, when the number of labels is not that of the
/// pixels' samples, or a label is not a class.
Dataset make_dataset(std::string name, std::vector<std::string> class_names, Split train, Split test);

ChannelStatistics channel_statistics(const Split& split);

}  // namespace kb
