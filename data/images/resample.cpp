#include "data/images/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace kb {
namespace {

constexpr int kBits = 22;  // of a weight, behind the point
constexpr int32_t kHalf = 1 << (kBits - 1);

using Pixel = int32_t __attribute__((vector_size(16)));
using BytePixel = uint8_t __attribute__((vector_size(4)));

inline uint8_t to_byte(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kBits, 0, 255)); }

// `to`: `count` pixels, each the weighted sum of pixels of `from`.
[[gnu::always_inline]] inline void mix_columns(const uint8_t* from, const AxisWeights& axis, int64_t count,
                                               uint8_t* to) {
  const int64_t taps = axis.taps;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t* weight = axis.weight.data() + i * taps;
    const uint8_t* at = from + size_t{4} * static_cast<size_t>(axis.start[static_cast<size_t>(i)]);
    Pixel sum = {kHalf, kHalf, kHalf, kHalf};
    for (int64_t t = 0; t < taps; ++t) {
      BytePixel bytes;
      std::memcpy(&bytes, at + 4 * t, sizeof bytes);
      sum += __builtin_convertvector(bytes, Pixel) * weight[t];
    }
    for (int c = 0; c < 4; ++c) to[4 * i + c] = to_byte(sum[c]);
  }
}

// `to`: `bytes` bytes, each the weighted sum of those of `taps` lines at its place.
[[gnu::always_inline]] inline void mix_lines(const uint8_t* lines, const int32_t* weight, int64_t taps, size_t bytes,
                                             uint8_t* to) {
  constexpr size_t kAtOnce = 64;
  int32_t sum[kAtOnce];
  for (size_t begin = 0; begin < bytes; begin += kAtOnce) {
    const size_t count = std::min(kAtOnce, bytes - begin);
    std::fill_n(sum, kAtOnce, kHalf);
    for (int64_t t = 0; t < taps; ++t) {
      const uint8_t* line = lines + static_cast<size_t>(t) * bytes + begin;
      if (count == kAtOnce)
        for (size_t i = 0; i < kAtOnce; ++i) sum[i] += line[i] * weight[t];
      else
        for (size_t i = 0; i < count; ++i) sum[i] += line[i] * weight[t];
    }
    for (size_t i = 0; i < count; ++i) to[begin + i] = to_byte(sum[i]);
  }
}

void mix_columns_anywhere(const uint8_t* from, const AxisWeights& axis, int64_t count, uint8_t* to) {
  mix_columns(from, axis, count, to);
}
void mix_lines_anywhere(const uint8_t* lines, const int32_t* weight, int64_t taps, size_t bytes, uint8_t* to) {
  mix_lines(lines, weight, taps, bytes, to);
}

// The same loops in wider vectors, where the processor has them: products of whole numbers, hence the same bits.
#if defined(__x86_64__)
[[gnu::target("avx2")]] void mix_columns_avx2(const uint8_t* from, const AxisWeights& axis, int64_t count,
                                              uint8_t* to) {
  mix_columns(from, axis, count, to);
}
[[gnu::target("avx2")]] void mix_lines_avx2(const uint8_t* lines, const int32_t* weight, int64_t taps, size_t bytes,
                                            uint8_t* to) {
  mix_lines(lines, weight, taps, bytes, to);
}
const bool kHasAvx2 = __builtin_cpu_supports("avx2");
#else
constexpr auto mix_columns_avx2 = mix_columns_anywhere;
constexpr auto mix_lines_avx2 = mix_lines_anywhere;
constexpr bool kHasAvx2 = false;
#endif

}  // namespace

void set_weights(AxisWeights& weights, const ResampledAxis& axis) {
  const auto [in, out, first, count] = axis;
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
    // The last taps of a pixel at the image's end weigh nothing and are read before it.
    const int64_t start = std::min(begin - weights.first_in, weights.count_in - weights.taps);
    int32_t* weight = weights.weight.data() + i * weights.taps + (begin - weights.first_in - start);
    for (int64_t x = begin; x < end; ++x, ++weight)
      *weight = static_cast<int32_t>(0.5 + shares[static_cast<size_t>(x - begin)] / total * (1 << kBits));
    weights.start[static_cast<size_t>(i)] = static_cast<int32_t>(start);
  }
}

void Resampler::begin(const ResampledAxis& columns, const ResampledAxis& rows) {
  set_weights(columns_, columns);
  set_weights(rows_, rows);
  width_ = columns.count;
  height_ = rows.count;
  added_ = 0;
  lines_.resize(static_cast<size_t>(4 * width_ * rows_.count_in));
  line_.resize(static_cast<size_t>(4 * width_));
}

void Resampler::add_row(const uint8_t* pixels) {
  if (added_ == rows_.count_in) throw std::logic_error("a row behind the last one that is read");
  uint8_t* to = lines_.data() + static_cast<size_t>(added_++) * line_.size();
  (kHasAvx2 ? mix_columns_avx2 : mix_columns_anywhere)(pixels, columns_, width_, to);
}

void Resampler::finish(std::span<uint8_t> planes) {
  if (added_ != rows_.count_in || static_cast<int64_t>(planes.size()) != 3 * width_ * height_)
    throw std::logic_error("a resampled image lacks rows, or memory of its size");
  const int64_t plane = width_ * height_;
  for (int64_t y = 0; y < height_; ++y) {
    (kHasAvx2 ? mix_lines_avx2 : mix_lines_anywhere)(
        lines_.data() + static_cast<size_t>(rows_.start[static_cast<size_t>(y)]) * line_.size(),
        rows_.weight.data() + y * rows_.taps, rows_.taps, line_.size(), line_.data());
    uint8_t* to = planes.data() + y * width_;
    for (int64_t x = 0; x < width_; ++x)
      for (int64_t c = 0; c < 3; ++c) to[c * plane + x] = line_[static_cast<size_t>(4 * x + c)];
  }
}

}  // namespace kb
