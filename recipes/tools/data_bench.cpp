// summary: how fast a core makes training images of JPEG files, stage by stage, and what a model needs: DIR or a pack
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "data/data_file.h"
#include "data/error.h"
#include "data/images/image_decoder.h"
#include "data/images/image_set.h"
#include "graph/error.h"
#include "recipes/config/command_line.h"
#include "recipes/inspect/image_stages.h"
#include "recipes/run/tool.h"
#include "runtime/options.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

std::vector<ReadImage> images_of_store(const std::shared_ptr<const ImageStore>& store) {
  std::vector<ReadImage> images;
  for (const ImageEntry& entry : store->index().train)
    images.emplace_back([store, &entry](Bytes& memory) { return store->file(entry, memory); });
  return images;
}

// Returns every file below a folder that has no classes.
std::vector<ReadImage> images_below(const fs::path& dir) {
  std::vector<fs::path> paths;
  std::error_code error;
  fs::path at = dir;
  for (fs::recursive_directory_iterator next(dir, error), end; !error && next != end; next.increment(error)) {
    at = next->path();
    std::error_code none;  // not reported: a dangling link is not a file
    if (next->is_regular_file(none)) paths.push_back(at);
  }
  if (error) throw DataError({at.string(), "cannot be read", "folders of JPEGs", error.message(), ""});
  std::sort(paths.begin(), paths.end());
  std::vector<ReadImage> images;
  for (const fs::path& path : paths)
    images.emplace_back([path](Bytes& memory) -> std::span<const uint8_t> {
      const DataFile file(path);
      if (file.size() > kMostFileBytes) throw UnreadableImage("larger than any image that is decoded");
      memory.resize(file.size());
      file.read(0, std::span(memory));
      return memory;
    });
  return images;
}

// Returns at most `most` images, spread evenly over all.
std::vector<ReadImage> some_of(const std::vector<ReadImage>& images, size_t most) {
  if (images.size() <= most) return images;
  std::vector<ReadImage> some;
  for (size_t i = 0; i < most; ++i) some.push_back(images[i * images.size() / most]);
  return some;
}

int data_bench(const std::string& data, size_t most, int64_t side, int rounds, std::optional<double> speed) {
  std::vector<ReadImage> images;
  if (has_image_set(data))
    images =
        images_of_store(open_image_store({data, RuntimeOptions::from_environment().cache_dir, usable_processors()}));
  else if (fs::is_directory(data))
    images = images_below(data);
  else
    throw Error(fmt::format("{}: expected a folder of images or a pack", data));
  const ImageStages times = time_image_stages(some_of(images, most), side, rounds);
  fmt::print("{} JPEGs, mean {:.0f} kB and {:.0f} thousand pixels; crops to {}x{}; one core, median of {} round{}\n\n",
             times.images, times.bytes / 1e3, times.pixels / 1e3, side, side, rounds, rounds == 1 ? "" : "s");
  fmt::print("{:<30}{:>12}{:>14}\n", "stage", "ms an image", "images/s");
  for (const StageTime& stage : times.stages)
    fmt::print("{:<30}{:>12.3f}{:>14.0f}\n", stage.name, 1e3 * stage.seconds, 1 / stage.seconds);
  fmt::print("\nwhole pipeline / entropy decode: {:.2f} of its images/s\n", times.entropy / times.whole);
  if (speed)
    fmt::print("a model that trains {:.0f} images/s needs {:.1f} cores for them: --loader-threads {:.0f}\n", *speed,
               *speed * times.whole, std::ceil(*speed * times.whole));
  return 0;
}

}  // namespace

int data_bench_command(const ToolArguments& arguments) {
  std::string data;
  size_t most = 500;
  int64_t side = 224;
  int rounds = 5;
  std::optional<double> speed;
  CommandLine line("Times what the loader of --dataset imagenet does with an image, on one core, from the page cache.",
                   "./run data_bench DIR");
  line.text({"DIR", "", "folder of JPEGs, with or without classes, or a pack"}, data)
      .required()
      .whole({"--images", "N", "time at most this many images, spread over all"}, most, 1)
      .whole({"--image", "PIXELS", "crop to squares of this side, pixels"}, side, 1, 4096)
      .whole({"--rounds", "N", "time every image this many times, with other crops each; the median counts"}, rounds, 1,
             1000)
      .positive({"--speed", "X", "print how many cores feed a model that trains this many images/s"}, speed, 1e9);
  if (!line.parse(arguments.words)) return 0;
  return data_bench(data, most, side, rounds, speed);
}

}  // namespace kb
