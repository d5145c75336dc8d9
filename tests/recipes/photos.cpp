#include "tests/recipes/photos.h"

#include <fmt/format.h>

#include "data/images/jpeg.h"

namespace kb::test {

Photos::Photos() {
  for (int label = 0; label < 3; ++label)
    for (int i = 0; i < 6; ++i) {
      const ImageSize size{20 + 3 * i, 30 - 2 * i};
      std::vector<uint8_t> pixels;
      for (int64_t p = 0; p < size.width * size.height; ++p)
        for (int c = 0; c < 3; ++c) pixels.push_back(static_cast<uint8_t>((c == label ? 200 : 40) + p % 17));
      const Bytes file = encode_jpeg(pixels, size, 90);
      const std::filesystem::path folder = directory.path() / (i < 4 ? "train" : "val") / fmt::format("n0{}", label);
      std::filesystem::create_directories(folder);
      write_file(folder / fmt::format("{}.JPEG", i), {reinterpret_cast<const char*>(file.data()), file.size()});
    }
}

}  // namespace kb::test
