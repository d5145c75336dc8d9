#include "data/dataset.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <future>

#include "data/content_hash.h"
#include "data/error.h"
#include "data/hash_random.h"

namespace kb {
namespace {

uint64_t hash_split(uint64_t key, const Split& split) {
  const ImageShape& s = split.shape;
  key = hash_words(key, s.channels, s.height, s.width);
  key = content_hash(key, split.labels.data(), split.labels.size() * sizeof(int32_t));
  return content_hash(key, split.pixels.data(), split.pixels.size());
}

/// Sums of pixel values and of their squares, which are at most 2^16 a pixel: exact below 2^48 pixels.
struct Sums {
  uint64_t values = 0, squares = 0;
};

/// Adds a plane in 16 lanes of 32 bits, in which 2^12 pixels do not overflow. Compilers make vectors of the lanes.
void add_plane(Sums& sums, std::span<const uint8_t> plane) {
  constexpr size_t kLanes = 16, kChunk = kLanes << 12;
  while (!plane.empty()) {
    const auto chunk = plane.first(std::min(plane.size(), kChunk));
    uint32_t values[kLanes] = {}, squares[kLanes] = {};
    size_t i = 0;
    for (; i + kLanes <= chunk.size(); i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        const uint32_t p = chunk[i + lane];
        values[lane] += p, squares[lane] += p * p;
      }
    }
    for (; i < chunk.size(); ++i) values[0] += chunk[i], squares[0] += chunk[i] * chunk[i];
    for (size_t lane = 0; lane < kLanes; ++lane) sums.values += values[lane], sums.squares += squares[lane];
    plane = plane.subspan(chunk.size());
  }
}

double five_decimals(double x) { return std::round(x * 1e5) / 1e5; }

std::string text(const ImageShape& s) {
  return fmt::format("{} channels of {} x {} pixels", s.channels, s.height, s.width);
}

void check_part(const std::string& name, const char* part, const Split& split, const ImageShape& shape,
                int64_t classes) {
  const auto refuse = [&](std::string problem, std::string expected, std::string got, std::string hint) {
    throw DataError({fmt::format("data set {}, {} part", name, part), std::move(problem), std::move(expected),
                     std::move(got), std::move(hint)});
  };
  if (shape.channels < 1 || shape.height < 1 || shape.width < 1)
    refuse("images without pixels", "extents of 1 or more", text(shape), "set Split::shape");
  if (split.shape != shape) refuse("another shape than the training part's", text(shape), text(split.shape), "");
  const auto pixels = static_cast<int64_t>(split.pixels.size());
  if (pixels != split.count() * shape.size())
    refuse("pixels and labels are not of the same samples",
           fmt::format("{} labels x {} pixels = {} bytes", split.count(), shape.size(), split.count() * shape.size()),
           fmt::format("{} bytes", pixels), "one label a sample, all pixels of a sample one after the other");
  for (int64_t i = 0; i < split.count(); ++i) {
    const int64_t label = split.labels[static_cast<size_t>(i)];
    if (label < 0 || label >= classes)
      refuse("label out of range", fmt::format("0 to {}, one of {} class names", classes - 1, classes),
             fmt::format("{} for sample {}", label, i), "");
  }
}

}  // namespace

ChannelStatistics channel_statistics(const Split& split) {
  const int64_t plane = split.shape.height * split.shape.width;
  std::vector<Sums> sums(static_cast<size_t>(split.shape.channels));
  for (int64_t i = 0; i < split.count(); ++i) {
    for (size_t channel = 0; channel < sums.size(); ++channel)
      add_plane(sums[channel], split.image(i).subspan(channel * plane, plane));
  }
  ChannelStatistics out;
  const double n = static_cast<double>(split.count() * plane);
  for (const Sums& sum : sums) {
    const double mean = static_cast<double>(sum.values) / n;
    const double variance = static_cast<double>(sum.squares) / n - mean * mean;
    out.mean.push_back(five_decimals(mean / 255));
    out.stddev.push_back(five_decimals(std::sqrt(std::max(variance, 0.0)) / 255));
  }
  return out;
}

Dataset make_dataset(std::string name, std::vector<std::string> class_names, Split train, Split test) {
  Dataset set;
  set.name = std::move(name);
  set.shape = train.shape;
  set.class_names = std::move(class_names);
  check_part(set.name, "training", train, set.shape, set.class_count());
  if (train.count() == 0)
    throw DataError({fmt::format("data set {}, training part", set.name), "no samples", "at least 1 label", "0", ""});
  check_part(set.name, "test", test, set.shape, set.class_count());
  // std::async gets no policy, here and elsewhere in this room: if no thread can be made, get() does the work.
  std::future<ChannelStatistics> statistics = std::async([&] { return channel_statistics(train); });
  set.fingerprint = fmt::format("{:016x}", hash_split(hash_split(set.class_count(), train), test));
  set.statistics = statistics.get();
  set.train = std::move(train);
  set.test = std::move(test);
  return set;
}

}  // namespace kb
