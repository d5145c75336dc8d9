// A folder of images made for tests, in the layout of ImageNet.
#pragma once

#include <string>

#include "data/augment.h"
#include "data/images/image_set.h"
#include "tests/data/files.h"
#include "tests/data/made_images.h"

namespace kb::test {

// The classes n01 and n02 have four training and two test images each, of different sizes. They are JPEGs, but one is a
// PNG and one is gray. A test may add others.
class ImageFolder {
 public:
  ImageFolder();
  void write(const std::filesystem::path& path, const Bytes& file) const;
  const std::filesystem::path& dir() const { return directory_.path(); }
  std::shared_ptr<const ImageStore> open() const { return open_image_store({dir(), {}, 1}); }

 private:
  TemporaryDirectory directory_;
};

// Returns the pixels of a sample, C x H x W, as the split's files read them.
std::vector<uint8_t> pixels_of(const Split& split, int64_t sample, const AugmentSpec& spec, uint64_t seed = 1,
                               int64_t epoch = 0);

}  // namespace kb::test
