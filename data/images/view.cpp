#include "data/images/view.h"

#include <cmath>

#include "data/hash_random.h"

namespace kb {
namespace {

constexpr uint64_t kStream = 0x72637270;  // tag of the stream of random numbers that boxes are drawn from
constexpr double kLeastArea = 0.08, kMostArea = 1, kLeastRatio = 3.0 / 4, kMostRatio = 4.0 / 3;
constexpr double kLogRatio = 0.28768207245178092;  // ln(4/3)

// Returns exp(x) for |x| < 0.3 by its series, so that every machine gives the same bits.
double exp_of_small(double x) {
  double sum = 1;
  for (int n = 14; n > 0; --n) sum = 1 + x * sum / n;
  return sum;
}

double uniform(HashStream& random, double low, double high) {
  return low + (high - low) * (static_cast<double>(random.bits() >> 11) * 0x1p-53);
}

int64_t below(HashStream& random, int64_t bound) {
  return static_cast<int64_t>(((random.bits() >> 32) * static_cast<uint64_t>(bound)) >> 32);
}

int64_t whole(double x) { return static_cast<int64_t>(std::nearbyint(x)); }

PixelBox middle_box(ImageSize image) {
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  ImageSize box = image;
  if (width / height < kLeastRatio) box.height = whole(width / kLeastRatio);
  if (width / height > kMostRatio) box.width = whole(height * kMostRatio);
  return {(image.width - box.width) / 2, (image.height - box.height) / 2, box.width, box.height};
}

PixelBox random_box(ImageSize image, HashStream random) {
  const double area = static_cast<double>(image.width) * static_cast<double>(image.height);
  for (int tries = 0; tries < 10; ++tries) {
    const double wanted = area * uniform(random, kLeastArea, kMostArea);
    const double ratio = exp_of_small(uniform(random, -kLogRatio, kLogRatio));
    const int64_t width = whole(std::sqrt(wanted * ratio)), height = whole(std::sqrt(wanted / ratio));
    if (width < 1 || width > image.width || height < 1 || height > image.height) continue;
    const int64_t top = below(random, image.height - height + 1), left = below(random, image.width - width + 1);
    return {left, top, width, height};
  }
  return middle_box(image);
}

}  // namespace

ImageView centre_view(ImageSize image, int64_t side) {
  const int64_t shorter = (8 * side + 3) / 7;
  ImageSize resized{shorter, shorter};
  if (image.width <= image.height)
    resized.height = shorter * image.height / image.width;
  else
    resized.width = shorter * image.width / image.height;
  const auto middle = [side](int64_t extent) { return whole(static_cast<double>(extent - side) / 2); };
  return {{0, 0, image.width, image.height}, resized, middle(resized.width), middle(resized.height), side};
}

ImageView random_view(ImageSize image, int64_t side, uint64_t seed, int64_t epoch, int64_t sample) {
  return {random_box(image, HashStream(hash_words(seed, kStream, epoch, sample))), {side, side}, 0, 0, side};
}

Bytes resampled(ImageDecoder& image, const PixelBox& box, ImageSize size) {
  Resampler resampler;
  resampler.begin({box.width, size.width, 0, size.width}, {box.height, size.height, 0, size.height});
  image.decode(box, [&resampler](const uint8_t* row) { resampler.add_row(row); });
  Bytes planes(3 * static_cast<size_t>(size.width * size.height));
  resampler.finish(planes);
  return planes;
}

void render(ImageDecoder& image, const ImageView& view, Resampler& resampler, std::span<uint8_t> planes) {
  resampler.begin({view.box.width, view.resized.width, view.left, view.side},
                  {view.box.height, view.resized.height, view.top, view.side});
  const AxisWeights &columns = resampler.columns(), &rows = resampler.rows();
  image.decode({view.box.left + columns.first_in, view.box.top + rows.first_in, columns.count_in, rows.count_in},
               [&resampler](const uint8_t* row) { resampler.add_row(row); });
  resampler.finish(planes);
}

}  // namespace kb
