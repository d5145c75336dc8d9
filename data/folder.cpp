#include "data/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "data/class_folders.h"
#include "data/data_file.h"
#include "data/error.h"
#include "data/images/open_image.h"

namespace kb {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLayout = "DIR/train/CLASS/*.png and DIR/test/CLASS/*.png (or .jpg, .ppm, .pgm; val for test)";

struct Image {
  ImageShape shape;
  Bytes pixels;  // C, H, W
};

// One binary PNM file: "P6", width, height, 255, one white space, pixels. These are read when the file is as long as
// its header says.
class PnmReader {
 public:
  explicit PnmReader(const fs::path& path)
      : path_(path), file_(path), header_(file_.read(0, std::min(file_.size(), kMostHeader))) {}

  // Whether the file begins like one.
  bool is_pnm() const { return header_.size() >= 2 && header_[0] == 'P' && (header_[1] == '5' || header_[1] == '6'); }

  Image read() {
    Image image;
    image.shape.channels = header_[1] == '6' ? 3 : 1;
    at_ = 2;
    image.shape.width = number("width");
    image.shape.height = number("height");
    if (const int64_t most = number("largest value"); most != 255)
      refuse("has another depth", "8 bits a channel: largest value 255", fmt::to_string(most), "");
    ++at_;
    read_pixels(image);
    return image;
  }

 private:
  static constexpr size_t kMostHeader = size_t{64} << 10;  // bytes, comments included

  [[noreturn]] void refuse(std::string problem, std::string expected, std::string got, std::string hint) const {
    throw DataError({path_.string(), std::move(problem), std::move(expected), std::move(got), std::move(hint)});
  }

  // 0 behind the end.
  uint8_t peek() const { return at_ < header_.size() ? header_[at_] : 0; }

  // The next number of the header, behind white space and comments.
  int64_t number(const char* what) {
    constexpr int64_t kMost = 1 << 16;
    for (; std::isspace(peek()) != 0 || peek() == '#'; ++at_)
      if (peek() == '#')
        while (at_ < header_.size() && header_[at_] != '\n') ++at_;
    int64_t value = 0;
    for (; std::isdigit(peek()) != 0 && value <= kMost; ++at_) value = 10 * value + (peek() - '0');
    if (value < 1 || value > kMost)
      refuse("has a damaged header", fmt::format("a {} from 1 to {}", what, kMost), "something else", "");
    return value;
  }

  void read_pixels(Image& image) const {
    const ImageShape& s = image.shape;
    const auto size = static_cast<size_t>(s.size());
    const size_t there = file_.size() - std::min(at_, file_.size());
    if (there != size)
      refuse(there < size ? "is cut short" : "goes on behind its pixels", fmt::format("{} bytes of pixels", size),
             fmt::to_string(there), "");
    const Bytes bytes = file_.read(at_, size);
    image.pixels.resize(size);
    const int64_t plane = s.height * s.width;
    for (int64_t p = 0; p < plane; ++p)
      for (int64_t c = 0; c < s.channels; ++c)
        image.pixels[static_cast<size_t>(c * plane + p)] = bytes[static_cast<size_t>(p * s.channels + c)];
  }

  const fs::path& path_;
  const DataFile file_;
  const Bytes header_;  // and what follows it
  size_t at_ = 0;       // bytes of it that are read
};

// A PNG or JPEG file. Rows are taken as they come, so that no memory is taken for what is not there.
Image read_compressed(const fs::path& path) {
  const DataFile file(path);
  const Bytes bytes = file.read(0, file.size());
  try {
    const std::unique_ptr<ImageDecoder> decoder = open_image(bytes);
    const ImageSize size = decoder->size();
    std::vector<uint8_t> pixels;
    decoder->decode({0, 0, size.width, size.height},
                    [&](const uint8_t* row) { pixels.insert(pixels.end(), row, row + 4 * size.width); });
    Image image{{decoder->is_gray() ? 1 : 3, size.height, size.width}, {}};
    for (int64_t c = 0; c < image.shape.channels; ++c)
      for (size_t p = 0; p < pixels.size(); p += 4) image.pixels.push_back(pixels[p + static_cast<size_t>(c)]);
    return image;
  } catch (const UnreadableImage& error) {
    throw DataError({path.string(), "is not an image that is read here", "PNG, JPEG, binary PPM (P6) or PGM (P5)",
                     error.what(), "convert it: mogrify -format png FILES (ImageMagick)"});
  }
}

Image read_image(const fs::path& path) {
  PnmReader reader(path);
  return reader.is_pnm() ? reader.read() : read_compressed(path);
}

std::string size_text(const ImageShape& s) {
  return fmt::format("{} of {}x{} pixels", s.channels == 3 ? "colour" : "grey", s.width, s.height);
}

// `first` is the image that all others must be like, empty at first.
void append(Split& split, const fs::path& path, int32_t label, fs::path& first) {
  const Image image = read_image(path);
  if (first.empty()) {
    first = path;
    split.shape = image.shape;
  }
  if (image.shape != split.shape)
    throw DataError({path.string(), "another size or kind of image",
                     fmt::format("{}, as {}", size_text(split.shape), first.string()), size_text(image.shape),
                     "images of one training are of one size: mogrify -resize WxH! (ImageMagick)"});
  split.pixels.insert(split.pixels.end(), image.pixels.begin(), image.pixels.end());
  split.labels.push_back(label);
}

Split read_part(const fs::path& part, const std::vector<std::string>& classes, ImageShape shape, fs::path& first) {
  Split split{shape, {}, {}};
  for (size_t label = 0; label < classes.size(); ++label) {
    const fs::path folder = part / classes[label];
    const std::vector<std::string> images = names_in(folder, kLayout);
    if (images.empty()) throw DataError({folder.string(), "a class without images", kLayout, "", ""});
    for (const std::string& image : images) append(split, folder / image, static_cast<int32_t>(label), first);
  }
  return split;
}

}  // namespace

Dataset load_folder_dataset(const fs::path& dir) {
  if (dir.empty()) throw DataError({"data set folder", "no folder was named", kLayout, "", "--data DIR"});
  const fs::path train = dir / "train", test = dir / test_part(dir);
  std::vector<std::string> classes = training_classes(dir, kLayout);
  if (const std::vector<std::string> tested = class_folders(test, kLayout); tested != classes)
    throw DataError({test.string(), "other classes than in training", fmt::format("{}", fmt::join(classes, ", ")),
                     fmt::format("{}", fmt::join(tested, ", ")), ""});
  fs::path first;
  Split trained = read_part(train, classes, {}, first);
  Split tested = read_part(test, classes, trained.shape, first);
  return make_dataset("folder", std::move(classes), std::move(trained), std::move(tested));
}

}  // namespace kb
