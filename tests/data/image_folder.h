// Folders of images made for tests, in the layout of ImageNet.
#pragma once

#include <string>

#include "data/augment.h"
#include "data/images/image_set.h"
#include "tests/data/files.h"
#include "tests/data/made_images.h"

namespace kb::test {

// Classes n01 and n02, four training and two test images each, of sizes that differ: JPEGs, one a PNG, one gray, and
// those that a test adds.
class ImageFolder {
 public:
  ImageFolder();
  void write(const std::filesystem::path& path, const Bytes& file) const;
  const std::filesystem::path& dir() const { return directory_.path(); }
  std::shared_ptr<const ImageStore> open() const { return open_image_store({dir(), {}, 1}); }

 private:
  TemporaryDirectory directory_;
};

// The pixels of a sample, C x H x W, as `read` gives them.
std::vector<uint8_t> pixels_of(const Split& split, int64_t sample, const AugmentSpec& spec, uint64_t seed = 1,
                               int64_t epoch = 0);

}  // namespace kb::test
