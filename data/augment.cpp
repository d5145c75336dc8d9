#include "data/augment.h"

#include <algorithm>
#include <cmath>

#include "data/hash_random.h"
#include "data/order.h"

namespace kb {
namespace {

// Tags that give each purpose a stream of random numbers of its own.
enum Stream : uint64_t { kCrop = 0x63726f70, kFlip, kCutout, kMixWeight, kMixPartner };

// Returns a uniform number in (0, 1), in steps of 2^-53.
double open_uniform(HashStream& random) { return (static_cast<double>(random.bits() >> 11) + 0.5) * 0x1p-53; }

// Returns the logarithm of a draw from Gamma(alpha), alpha > 0. Marsaglia and Tsang ("A simple method for generating
// gamma variables", ACM TOMS 2000) draw from Gamma(alpha + 1) and multiply by a power of a uniform number. The
// logarithm is returned because for small alpha the draw underflows a double.
double log_gamma_draw(HashStream& random, double alpha) {
  constexpr double kTwoPi = 6.283185307179586;
  const double d = alpha + 1 - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  const double rest = std::log(open_uniform(random)) / alpha;
  while (true) {
    const double radius = std::sqrt(-2 * std::log(open_uniform(random)));
    const double x = radius * std::cos(kTwoPi * open_uniform(random));
    const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
    if (v <= 0) continue;
    if (std::log(open_uniform(random)) < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d * v) + rest;
  }
}

// Returns a draw from Beta(alpha, alpha), rounded to 2^-16, so that the last bits of a C library's logarithm do not
// matter.
float beta_draw(HashStream random, double alpha) {
  const double a = log_gamma_draw(random, alpha), b = log_gamma_draw(random, alpha);
  return static_cast<float>(std::round(0x1p16 / (1 + std::exp(b - a))) * 0x1p-16);
}

}  // namespace

AugmentRecord augment_record(const AugmentSpec& spec, const ImageShape& shape, uint64_t seed, int64_t epoch,
                             int64_t sample) {
  const auto stream = [&](Stream which) { return HashStream(hash_words(seed, which, epoch, sample)); };
  const auto pad = static_cast<int32_t>(spec.pad), side = static_cast<int32_t>(spec.cutout);
  const auto height = static_cast<int32_t>(shape.height), width = static_cast<int32_t>(shape.width);
  AugmentRecord record;
  if (spec.crop) {
    HashStream random = stream(kCrop);
    record.window[0] = random.below(2 * pad + 1) - pad;
    record.window[1] = random.below(2 * pad + 1) - pad;
  }
  if (spec.flip) record.window[2] = stream(kFlip).below(2);
  if (side > 0) {
    HashStream random = stream(kCutout);
    const int32_t top = random.below(height) - side / 2, left = random.below(width) - side / 2;
    record.box = {std::max(top, 0), std::max(left, 0), std::min(top + side, height), std::min(left + side, width)};
  }
  if (spec.mixup > 0) record.mix = beta_draw(stream(kMixWeight), spec.mixup);
  return record;
}

int32_t mix_partner(uint64_t seed, int64_t step, int64_t first_row, int64_t rows, int64_t row) {
  return static_cast<int32_t>(Permutation(hash_words(seed, kMixPartner, first_row), step, rows)(row));
}

void augment_image(const AugmentRecord& record, const ImageShape& shape, std::span<const uint8_t> fill,
                   std::span<const uint8_t> from, std::span<uint8_t> pixels) {
  const int64_t width = shape.width, left = record.window[1];
  const int64_t first = std::clamp<int64_t>(-left, 0, width), last = std::clamp(width - left, first, width);
  for (int64_t plane_row = 0; plane_row < shape.channels * shape.height; ++plane_row) {
    const int64_t channel = plane_row / shape.height, i = plane_row % shape.height;
    const int64_t row = i + record.window[0];
    uint8_t* out = pixels.data() + plane_row * width;
    if (row < 0 || row >= shape.height) {
      std::fill_n(out, width, uint8_t{0});
    } else {
      const uint8_t* in = from.data() + (channel * shape.height + row) * width;
      std::fill_n(out, first, uint8_t{0});
      std::copy(in + left + first, in + left + last, out + first);
      std::fill(out + last, out + width, uint8_t{0});
      if (record.window[2] != 0) std::reverse(out, out + width);
    }
    if (i >= record.box[0] && i < record.box[2])
      std::fill(out + record.box[1], out + record.box[3], fill[static_cast<size_t>(channel)]);
  }
}

std::vector<uint8_t> mean_pixel(std::span<const double> mean) {
  std::vector<uint8_t> pixel;
  for (const double m : mean) pixel.push_back(static_cast<uint8_t>(std::round(255 * m)));
  return pixel;
}

}  // namespace kb
