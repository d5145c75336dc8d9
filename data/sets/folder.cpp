#include "data/sets/folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "data/class_folders.h"
#include "data/error.h"
#include "data/images/read_image.h"

namespace kb {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLayout = "DIR/train/CLASS/*.png and DIR/test/CLASS/*.png (or .jpg, .ppm, .pgm; val for test)";

std::string size_text(const ImageShape& s) {
  return fmt::format("{} of {}x{} pixels", s.channels == 3 ? "colour" : "grey", s.width, s.height);
}

// Appends the image at `path`. `first` is the path of the part's first image, whose shape all others must have; empty
// before it.
void append(Split& split, const fs::path& path, int32_t label, fs::path& first) {
  const Image image = read_image(path);
  if (first.empty()) {
    first = path;
    split.shape = image.shape;
  }
  if (image.shape != split.shape)
    throw DataError({path.string(), "another size or kind of image",
                     fmt::format("{}, as {}", size_text(split.shape), first.string()), size_text(image.shape),
                     fmt::format("--dataset imagenet --image {} takes images of any size, grey ones too: it sees each "
                                 "through a square in colours",
                                 std::min(split.shape.height, split.shape.width))});
  split.pixels.insert(split.pixels.end(), image.pixels.begin(), image.pixels.end());
  split.labels.push_back(label);
}

Split read_part(const fs::path& part, const std::vector<std::string>& classes, fs::path& first, ImageShape shape,
                PassedOver& passed) {
  Split split{shape, {}, {}};
  for (size_t label = 0; label < classes.size(); ++label) {
    const fs::path folder = part / classes[label];
    for (const std::string& image : images_of_class(folder, kLayout, passed))
      append(split, folder / image, static_cast<int32_t>(label), first);
  }
  return split;
}

void check_tested_classes(const fs::path& test, const std::vector<std::string>& classes, PassedOver& passed) {
  if (const std::vector<std::string> tested = class_folders(test, kLayout, passed); tested != classes)
    throw DataError({test.string(), "other classes than in training", fmt::format("{}", fmt::join(classes, ", ")),
                     fmt::format("{}", fmt::join(tested, ", ")), ""});
}

}  // namespace

Dataset load_folder_dataset(const fs::path& dir) {
  if (dir.empty()) throw DataError({"data set folder", "no folder was named", kLayout, "", "--data DIR"});
  PassedOver passed;
  const std::string test = test_part(dir);
  std::vector<std::string> classes = training_classes(dir, kLayout, passed);
  if (!test.empty()) check_tested_classes(dir / test, classes, passed);
  fs::path first;
  Split trained = read_part(dir / "train", classes, first, {}, passed);
  Split tested{trained.shape, {}, {}};
  if (!test.empty()) tested = read_part(dir / test, classes, first, trained.shape, passed);
  Dataset set = make_dataset("folder", std::move(classes), std::move(trained), std::move(tested));
  set.note = passed_over_note(passed);
  return set;
}

}  // namespace kb
