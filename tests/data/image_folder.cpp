#include "tests/data/image_folder.h"

#include "data/augment.h"
#include "data/image_files.h"

namespace kb::test {

ImageFolder::ImageFolder() {
  for (int i = 0; i < 6; ++i)
    for (const std::string name : {"n02", "n01"}) {
      const ImageSize size{40 + 7 * i, 64 - 5 * i};
      const auto seed = static_cast<uint64_t>(2 * i + (name == "n01"));
      const std::string path = std::string(i < 4 ? "train/" : "val/") + name + "/" + std::to_string(i);
      if (i == 1)
        write(path + ".png", png_file(made_pixels(size, 3, seed), size, 3));
      else if (i == 2)
        write(path + ".JPEG", jpeg_file(made_pixels(size, 1, seed), size, {.components = 1}));
      else
        write(path + ".jpg", jpeg_file(made_pixels(size, 3, seed), size));
    }
}

void ImageFolder::write(const std::filesystem::path& path, const Bytes& file) const {
  std::filesystem::create_directories((dir() / path).parent_path());
  write_file(dir() / path, text_of(file));
}

std::vector<uint8_t> pixels_of(const Split& split, int64_t sample, const AugmentSpec& spec, uint64_t seed,
                               int64_t epoch) {
  std::vector<uint8_t> pixels(static_cast<size_t>(split.shape.size()));
  split.files->read(sample, {spec, seed, epoch}, pixels);
  return pixels;
}

}  // namespace kb::test
