#include "data/images/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace kb {
namespace {

// Writes the colours of a line, 4 bytes a pixel, into three planes: red at `out`, green at out + plane, blue at out + 2
// plane.
void split_colours(std::span<const uint8_t> line, uint8_t* out, int64_t plane) {
  uint8_t *red = out, *green = out + plane, *blue = out + 2 * plane;
  for (size_t x = 0; x < line.size() / 4; ++x) {
    uint32_t pixel;
    std::memcpy(&pixel, line.data() + 4 * x, sizeof pixel);
    red[x] = static_cast<uint8_t>(pixel);
    green[x] = static_cast<uint8_t>(pixel >> 8);
    blue[x] = static_cast<uint8_t>(pixel >> 16);
  }
}

}  // namespace

void set_weights(AxisWeights& weights, const ResampledAxis& axis) {
  const int64_t in = axis.in, out = axis.out, first = axis.first, count = axis.count;
  if (in < 1 || out < 1 || first < 0 || count < 1 || first + count > out)
    throw std::logic_error("a resampled axis without pixels, or with more than it has");
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double radius = std::max(scale, 1.0);
  const auto begin_of = [&](int64_t i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    return std::max<int64_t>(static_cast<int64_t>(centre - radius + 0.5), 0);
  };
  const auto end_of = [&](int64_t i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    return std::min(static_cast<int64_t>(centre + radius + 0.5), in);
  };
  weights.first_in = begin_of(first);
  weights.count_in = end_of(first + count - 1) - weights.first_in;
  weights.taps = 0;
  for (int64_t i = first; i < first + count; ++i) weights.taps = std::max(weights.taps, end_of(i) - begin_of(i));
  weights.taps += weights.taps % 2;
  weights.start.resize(static_cast<size_t>(count));
  weights.weight.assign(static_cast<size_t>(count * weights.taps), 0);
  std::vector<double> shares(static_cast<size_t>(weights.taps));
  for (int64_t i = 0; i < count; ++i) {
    const double centre = (static_cast<double>(first + i) + 0.5) * scale;
    const int64_t begin = begin_of(first + i), end = end_of(first + i);
    double total = 0;
    for (int64_t x = begin; x < end; ++x) {
      const double distance = std::abs((static_cast<double>(x) - centre + 0.5) * (1 / radius));
      total += shares[static_cast<size_t>(x - begin)] = std::max(1 - distance, 0.0);
    }
    // Near the image's end, taps of weight 0 are put before the pixel.
    const int64_t start = std::min(begin - weights.first_in, std::max<int64_t>(weights.count_in - weights.taps, 0));
    int32_t* weight = weights.weight.data() + i * weights.taps + (begin - weights.first_in - start);
    for (int64_t x = begin; x < end; ++x, ++weight)
      *weight = static_cast<int32_t>(0.5 + shares[static_cast<size_t>(x - begin)] / total * (1 << kWeightBits));
    weights.start[static_cast<size_t>(i)] = static_cast<int32_t>(start);
  }
}

void Resampler::begin(const ResampledAxis& columns, const ResampledAxis& rows) {
  set_weights(columns_, columns);
  set_weights(rows_, rows);
  width_ = columns.count;
  height_ = rows.count;
  added_ = 0;
  const int64_t lines = std::max(rows_.count_in, rows_.taps);
  line_.resize(static_cast<size_t>((4 * width_ + kLineBlock - 1) / kLineBlock * kLineBlock));
  lines_.resize(line_.size() * static_cast<size_t>(lines));
  std::fill(lines_.end() - std::ssize(line_), lines_.end(), uint8_t{0});
  spare_.assign(static_cast<size_t>(columns_.taps > columns_.count_in ? 4 * columns_.taps : 0), 0);
}

void Resampler::add_row(const uint8_t* pixels) {
  if (added_ == rows_.count_in) throw std::logic_error("a row behind the last one that is read");
  static const WeightedSums sums = weighted_sums();
  if (!spare_.empty()) {
    std::copy_n(pixels, 4 * columns_.count_in, spare_.begin());
    pixels = spare_.data();
  }
  sums.columns(pixels, columns_, lines_.data() + static_cast<size_t>(added_++) * line_.size());
}

void Resampler::finish(std::span<uint8_t> planes) {
  if (added_ != rows_.count_in || static_cast<int64_t>(planes.size()) != 3 * width_ * height_)
    throw std::logic_error("a resampled image lacks rows, or memory of its size");
  static const WeightedSums sums = weighted_sums();
  const int64_t plane = width_ * height_;
  for (int64_t y = 0; y < height_; ++y) {
    sums.lines(lines_.data() + static_cast<size_t>(rows_.start[static_cast<size_t>(y)]) * line_.size(),
               rows_.weight.data() + y * rows_.taps, rows_.taps, std::ssize(line_), line_.data());
    split_colours(std::span(line_).first(static_cast<size_t>(4 * width_)), planes.data() + y * width_, plane);
  }
}

}  // namespace kb
