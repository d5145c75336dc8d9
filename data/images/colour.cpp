#include "data/images/colour.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/hash_random.h"

namespace kb {
namespace {

// Tags that give jitter and lighting noise streams of random numbers of their own.
constexpr uint64_t kJitter = 0x6a697474, kLighting = 0x6c696768;
constexpr float kJitterRange = 0.4f;
constexpr double kLightingDeviation = 0.1;
constexpr double kGray[] = {0.299, 0.587, 0.114};
// The principal components of the colours of ImageNet's training images, scaled to [0, 1]. Each column is an
// eigenvector.
constexpr double kEigenvalues[] = {0.2175, 0.0188, 0.0045};
constexpr double kEigenvectors[3][3] = {
    {-0.5675, 0.7192, 0.4009}, {-0.5808, -0.0045, -0.8140}, {-0.5836, -0.6948, 0.4203}};

struct Affine {
  double matrix[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  double shift[3] = {};
};

void scale(Affine& map, double factor) {
  for (int c = 0; c < 3; ++c) {
    for (double& entry : map.matrix[c]) entry *= factor;
    map.shift[c] *= factor;
  }
}

void saturate(Affine& map, double factor) {
  double gray[3] = {}, gray_shift = 0;
  for (int c = 0; c < 3; ++c) {
    for (int k = 0; k < 3; ++k) gray[k] += kGray[c] * map.matrix[c][k];
    gray_shift += kGray[c] * map.shift[c];
  }
  scale(map, factor);
  for (int c = 0; c < 3; ++c) {
    for (int k = 0; k < 3; ++k) map.matrix[c][k] += (1 - factor) * gray[k];
    map.shift[c] += (1 - factor) * gray_shift;
  }
}

void contrast(Affine& map, double factor, const std::array<double, 3>& mean) {
  double gray = 0;
  for (int c = 0; c < 3; ++c) {
    double colour = map.shift[c];
    for (size_t k = 0; k < 3; ++k) colour += map.matrix[c][k] * mean[k];
    gray += kGray[c] * colour;
  }
  scale(map, factor);
  for (double& shift : map.shift) shift += (1 - factor) * gray;
}

void jitter_colours(Affine& map, const std::array<double, 3>& mean, HashStream random) {
  const auto factor = [&random] { return 1 + double{random.uniform(-kJitterRange, kJitterRange)}; };
  const double brightness = factor(), contrasting = factor(), saturation = factor();
  int order[] = {0, 1, 2};
  for (int i = 2; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  for (const int which : order) {
    if (which == 0) scale(map, brightness);
    if (which == 1) contrast(map, contrasting, mean);
    if (which == 2) saturate(map, saturation);
  }
}

void light(Affine& map, HashStream random) {
  for (int component = 0; component < 3; ++component) {
    const double amount = 255 * kLightingDeviation * double{random.bell()} * kEigenvalues[component];
    for (int c = 0; c < 3; ++c) map.shift[c] += amount * kEigenvectors[c][component];
  }
}

uint8_t to_colour(int32_t sum) { return static_cast<uint8_t>(std::clamp((sum + (1 << 15)) >> 16, 0, 255)); }

[[gnu::always_inline]] inline void mix_planes(const ColourChange& change, uint8_t* red, size_t plane) {
  uint8_t *green = red + plane, *blue = green + plane;
  const auto [m, shift] = change;
  for (size_t i = 0; i < plane; ++i) {
    const int32_t r = red[i], g = green[i], b = blue[i];
    red[i] = to_colour(m[0] * r + m[1] * g + m[2] * b + shift[0]);
    green[i] = to_colour(m[3] * r + m[4] * g + m[5] * b + shift[1]);
    blue[i] = to_colour(m[6] * r + m[7] * g + m[8] * b + shift[2]);
  }
}

#if defined(__x86_64__)
// This is the same loop in wider vectors. It sums integers, so the bits are the same.
[[gnu::target("avx2")]] void mix_planes_avx2(const ColourChange& change, uint8_t* red, size_t plane) {
  mix_planes(change, red, plane);
}
#endif

int32_t fixed(double x) { return static_cast<int32_t>(std::lround(x * 65536)); }

}  // namespace

ColourChange draw_colour_change(bool jitter, bool lighting, const std::array<double, 3>& mean, uint64_t seed,
                                int64_t epoch, int64_t sample) {
  Affine map;
  if (jitter) jitter_colours(map, mean, HashStream(hash_words(seed, kJitter, epoch, sample)));
  if (lighting) light(map, HashStream(hash_words(seed, kLighting, epoch, sample)));
  ColourChange change;
  for (size_t c = 0; c < 3; ++c) {
    for (size_t k = 0; k < 3; ++k) change.matrix[3 * c + k] = fixed(map.matrix[c][k]);
    change.shift[c] = fixed(map.shift[c]);
  }
  return change;
}

std::array<double, 3> mean_colour(std::span<const uint8_t> planes) {
  const size_t plane = planes.size() / 3;
  std::array<double, 3> mean;
  for (size_t c = 0; c < 3; ++c) {
    const auto part = planes.subspan(c * plane, plane);
    mean[c] = static_cast<double>(std::accumulate(part.begin(), part.end(), uint64_t{0})) / static_cast<double>(plane);
  }
  return mean;
}

void change_colours(const ColourChange& change, std::span<uint8_t> planes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return mix_planes_avx2(change, planes.data(), planes.size() / 3);
#endif
  mix_planes(change, planes.data(), planes.size() / 3);
}

}  // namespace kb
