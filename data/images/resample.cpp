#include "data/images/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace kb {
namespace {

constexpr int kBits = 22;  // weights are multiples of 2^-kBits
constexpr int32_t kHalf = 1 << (kBits - 1);

// The four bytes of a pixel in lanes of 32 bits.
using Pixel = int32_t __attribute__((vector_size(16), aligned(4), may_alias));

inline uint8_t to_byte(int32_t sum) { return static_cast<uint8_t>(std::min(sum >> kBits, 255)); }

// Writes `count` pixels to `out`, each a weighted sum of pixels of `from`. `wide` is scratch memory: first for the
// pixels that are read, then for the sums.
[[gnu::always_inline]] inline void mix_columns(const uint8_t* from, const AxisWeights& axis, int64_t count,
                                               int32_t* wide, uint8_t* out) {
  for (int64_t i = 0; i < 4 * axis.count_in; ++i) wide[i] = from[i];
  int32_t* sums = wide + 4 * (axis.count_in + 1);
  for (int64_t i = 0; i < count; ++i) {
    const int32_t* pixels = wide + 4 * axis.start[static_cast<size_t>(i)];
    const int32_t* weights = axis.weight.data() + i * axis.taps;
    Pixel even = {kHalf, kHalf, kHalf, kHalf}, odd = {};
    for (int64_t t = 0; t < axis.taps; t += 2) {
      even += *reinterpret_cast<const Pixel*>(pixels + 4 * t) * weights[t];
      odd += *reinterpret_cast<const Pixel*>(pixels + 4 * t + 4) * weights[t + 1];
    }
    *reinterpret_cast<Pixel*>(sums + 4 * i) = even + odd;
  }
  for (int64_t i = 0; i < 4 * count; ++i) out[i] = to_byte(sums[i]);
}

// Writes `bytes` bytes to `out`, each a weighted sum over `taps` lines of the bytes at its place.
[[gnu::always_inline]] inline void mix_lines(const uint8_t* lines, const int32_t* weight, int64_t taps, size_t bytes,
                                             int32_t* sums, uint8_t* out) {
  for (size_t i = 0; i < bytes; ++i) sums[i] = kHalf;
  for (int64_t t = 0; t < taps; t += 2) {
    const uint8_t *line = lines + static_cast<size_t>(t) * bytes, *next = line + bytes;
    for (size_t i = 0; i < bytes; ++i) sums[i] += line[i] * weight[t] + next[i] * weight[t + 1];
  }
  for (size_t i = 0; i < bytes; ++i) out[i] = to_byte(sums[i]);
}

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

struct Loops {
  void (*columns)(const uint8_t* from, const AxisWeights& axis, int64_t count, int32_t* wide, uint8_t* out);
  void (*lines)(const uint8_t* lines, const int32_t* weight, int64_t taps, size_t bytes, int32_t* sums, uint8_t* out);
};

void columns_anywhere(const uint8_t* from, const AxisWeights& axis, int64_t count, int32_t* wide, uint8_t* out) {
  mix_columns(from, axis, count, wide, out);
}
void lines_anywhere(const uint8_t* lines, const int32_t* weight, int64_t taps, size_t bytes, int32_t* sums,
                    uint8_t* out) {
  mix_lines(lines, weight, taps, bytes, sums, out);
}

#if defined(__x86_64__)
// These are the same loops in wider vectors. They sum integers, so the bits are the same.
[[gnu::target("avx2")]] void columns_avx2(const uint8_t* from, const AxisWeights& axis, int64_t count, int32_t* wide,
                                          uint8_t* out) {
  mix_columns(from, axis, count, wide, out);
}
[[gnu::target("avx2")]] void lines_avx2(const uint8_t* lines, const int32_t* weight, int64_t taps, size_t bytes,
                                        int32_t* sums, uint8_t* out) {
  mix_lines(lines, weight, taps, bytes, sums, out);
}
Loops loops_here() {
  return __builtin_cpu_supports("avx2") ? Loops{columns_avx2, lines_avx2} : Loops{columns_anywhere, lines_anywhere};
}
#else
Loops loops_here() { return {columns_anywhere, lines_anywhere}; }
#endif

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
  const int64_t lines = std::max(rows_.count_in, rows_.taps);
  lines_.resize(static_cast<size_t>(4 * width_ * lines));
  std::fill(lines_.end() - 4 * width_, lines_.end(), uint8_t{0});
  line_.resize(static_cast<size_t>(4 * width_));
  wide_.assign(static_cast<size_t>(4 * (columns_.count_in + 1 + width_)), 0);
}

void Resampler::add_row(const uint8_t* pixels) {
  if (added_ == rows_.count_in) throw std::logic_error("a row behind the last one that is read");
  static const Loops loops = loops_here();
  loops.columns(pixels, columns_, width_, wide_.data(), lines_.data() + static_cast<size_t>(added_++) * line_.size());
}

void Resampler::finish(std::span<uint8_t> planes) {
  if (added_ != rows_.count_in || static_cast<int64_t>(planes.size()) != 3 * width_ * height_)
    throw std::logic_error("a resampled image lacks rows, or memory of its size");
  static const Loops loops = loops_here();
  const int64_t plane = width_ * height_;
  for (int64_t y = 0; y < height_; ++y) {
    loops.lines(lines_.data() + static_cast<size_t>(rows_.start[static_cast<size_t>(y)]) * line_.size(),
                rows_.weight.data() + y * rows_.taps, rows_.taps, line_.size(), wide_.data(), line_.data());
    split_colours(line_, planes.data() + y * width_, plane);
  }
}

}  // namespace kb
