#include "recipes/inspect/image_stages.h"

#include <ctime>

#include "data/images/colour.h"
#include "data/images/image_set.h"
#include "data/images/jpeg.h"
#include "data/images/open_image.h"
#include "data/images/view.h"
#include "graph/error.h"
#include "runtime/median.h"

namespace kb {
namespace {

enum ImageStage : size_t { kRead, kEntropy, kCropDecode, kResize, kCropResize, kColours, kNormalise, kWhole, kStages };
constexpr const char* kStageNames[kStages] = {
    "read the file",           "entropy decode alone", "decode the crop",  "resize the decoded crop",
    "decode, resize the crop", "change the colours",   "normalise to f32", "whole: read, decode, resize"};

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Keeps the rows that the first call decodes, so that later calls time only the work that is done with them.
class KeptRows : public ImageDecoder {
 public:
  KeptRows(ImageDecoder& image, Bytes& memory) : image_(image), rows_(memory) {
    size_ = image.size();
    rows_.clear();
  }

  void decode(const PixelBox& box, const RowSink& row) override {
    const auto bytes = static_cast<size_t>(4 * box.width);
    if (rows_.empty())
      image_.decode(box, [&](const uint8_t* pixels) { rows_.insert(rows_.end(), pixels, pixels + bytes); });
    for (size_t at = 0; at < rows_.size(); at += bytes) row(rows_.data() + at);
  }

 private:
  ImageDecoder& image_;
  Bytes& rows_;
};

class StageTimer {
 public:
  explicit StageTimer(int64_t side)
      : side_(side), planes_(static_cast<size_t>(3 * side * side)), floats_(planes_.size()) {}

  // Adds the times of one image.
  void time(const ReadImage& read, int64_t round, int64_t sample, std::vector<double>& seconds) {
    const std::span<const uint8_t> file = read(memory_);
    const auto decode = [&](const auto& use) {
      const std::unique_ptr<ImageDecoder> image = open_image(file);
      use(*image, random_view(image->size(), side_, 1, round, sample));
    };
    const auto shown = [&](ImageDecoder& image, const ImageView& view) { render(image, view, resampler_, planes_); };
    add(seconds[kRead], [&] { read(memory_); });
    add(seconds[kEntropy], [&] { decode_entropy(file); });
    add(seconds[kCropDecode], [&] {
      decode([](ImageDecoder& image, const ImageView& view) { image.decode(view.box, [](const uint8_t*) {}); });
    });
    decode([&](ImageDecoder& image, const ImageView& view) {
      KeptRows kept(image, rows_);
      shown(kept, view);
      add(seconds[kResize], [&] { shown(kept, view); });
    });
    add(seconds[kCropResize], [&] { decode(shown); });
    add(seconds[kColours],
        [&] { change_colours(draw_colour_change(true, true, mean_colour(planes_), 1, round, sample), planes_); });
    add(seconds[kNormalise], [&] { normalise(); });
    add(seconds[kWhole], [&] {
      read(memory_);
      decode(shown);
    });
  }

 private:
  template <class Work>
  static void add(double& seconds, const Work& work) {
    const double began = processor_seconds();
    work();
    seconds += processor_seconds() - began;
  }

  void normalise() {
    const ChannelStatistics s = imagenet_statistics();
    const size_t plane = planes_.size() / 3;
    for (size_t c = 0; c < 3; ++c) {
      const auto scale = static_cast<float>(1 / (255 * s.stddev[c])),
                 shift = static_cast<float>(s.mean[c] / s.stddev[c]);
      for (size_t i = c * plane; i < (c + 1) * plane; ++i) floats_[i] = static_cast<float>(planes_[i]) * scale - shift;
    }
  }

  const int64_t side_;
  Bytes memory_, rows_;
  Resampler resampler_;
  std::vector<uint8_t> planes_;
  std::vector<float> floats_;
};

// Returns the JPEGs that can be decoded; sets their number and mean sizes in `about`. Throws Error if there are none.
std::vector<ReadImage> readable(const std::vector<ReadImage>& images, ImageStages& about) {
  std::vector<ReadImage> left;
  Bytes memory;
  for (const ReadImage& read : images) {
    try {
      const std::span<const uint8_t> file = read(memory);
      decode_entropy(file);
      const ImageSize size = open_image(file)->size();
      about.bytes += static_cast<double>(file.size());
      about.pixels += static_cast<double>(size.width * size.height);
      left.push_back(read);
    } catch (const UnreadableImage&) {
    }
  }
  if (left.empty()) throw Error("expected JPEG images to time, got none that can be decoded");
  about.images = static_cast<int64_t>(left.size());
  about.bytes /= static_cast<double>(left.size());
  about.pixels /= static_cast<double>(left.size());
  return left;
}

}  // namespace

ImageStages time_image_stages(const std::vector<ReadImage>& images, int64_t side, int rounds) {
  ImageStages about;
  const std::vector<ReadImage> left = readable(images, about);
  StageTimer timer(side);
  std::vector<std::vector<double>> by_stage(kStages);
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> seconds(kStages);
    for (size_t i = 0; i < left.size(); ++i) timer.time(left[i], round, static_cast<int64_t>(i), seconds);
    for (size_t s = 0; s < kStages; ++s) by_stage[s].push_back(seconds[s] / static_cast<double>(left.size()));
  }
  for (size_t s = 0; s < kStages; ++s) about.stages.push_back({kStageNames[s], median_of(by_stage[s])});
  about.entropy = about.stages[kEntropy].seconds;
  about.whole = about.stages[kWhole].seconds;
  return about;
}

}  // namespace kb
