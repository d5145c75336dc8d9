#include "data/images/colour.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "data/hash_random.h"
#include "tests/data/made_images.h"

namespace kb::colour_test {

namespace {

using kb::ColourChange;

constexpr std::array<double, 3> kMean{120, 90, 60};

double gray(const std::array<double, 3>& rgb) { return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]; }

std::array<double, 3> applied(const ColourChange& change, const std::array<double, 3>& rgb) {
  std::array<double, 3> out{};
  for (size_t c = 0; c < 3; ++c) {
    out[c] = change.shift[c];
    for (size_t k = 0; k < 3; ++k) out[c] += change.matrix[3 * c + k] * rgb[k];
    out[c] /= 65536;
  }
  return out;
}

BOOST_AUTO_TEST_SUITE(data_colour)

BOOST_AUTO_TEST_CASE(nothing_is_changed_unasked) {
  BOOST_CHECK((kb::draw_colour_change(false, false, kMean, 1, 2, 3) == ColourChange{}));
  std::vector<uint8_t> pixels = kb::test::made_pixels({30, 20}, 3);
  const std::vector<uint8_t> before = pixels;
  kb::change_colours({}, pixels);
  BOOST_TEST(pixels == before);
}

// Whatever the order of brightness, contrast and saturation, three things hold: a gray stays gray; differences between
// grays are multiplied by brightness times contrast; a colour's difference from its gray is multiplied by saturation
// besides.
BOOST_AUTO_TEST_CASE(jitter_has_three_factors) {
  double least = 2, most = 0, sum = 0;
  for (int64_t sample = 0; sample < 1000; ++sample) {
    const ColourChange change = kb::draw_colour_change(true, false, kMean, 1, 0, sample);
    const auto dark = applied(change, {10, 10, 10}), light = applied(change, {210, 210, 210});
    for (size_t c = 0; c < 3; ++c) BOOST_REQUIRE_SMALL(dark[c] - dark[0], 0.05);
    const double of_grays = (light[0] - dark[0]) / 200;
    const auto coloured = applied(change, {150, 100, 70});
    const double of_colours = (coloured[0] - coloured[2]) / 80;
    const double saturation = of_colours / of_grays;
    BOOST_REQUIRE((saturation > 0.599 && saturation < 1.401));
    BOOST_REQUIRE((of_grays > 0.359 && of_grays < 1.961));
    // Contrast leaves the mean gray where brightness has put it.
    const double brightness = gray(applied(change, kMean)) / gray(kMean);
    BOOST_REQUIRE((brightness > 0.599 && brightness < 1.401));
    least = std::min(least, brightness);
    most = std::max(most, brightness);
    sum += brightness / 1000;
  }
  BOOST_TEST((least < 0.61 && most > 1.39 && std::abs(sum - 1) < 0.02));
}

BOOST_AUTO_TEST_CASE(lighting_is_noise_along_the_components) {
  double squares[3] = {};
  for (int64_t sample = 0; sample < 4000; ++sample) {
    const ColourChange change = kb::draw_colour_change(false, true, kMean, 1, 0, sample);
    for (size_t i = 0; i < 9; ++i) BOOST_REQUIRE(change.matrix[i] == ColourChange{}.matrix[i]);
    for (size_t c = 0; c < 3; ++c) squares[c] += std::pow(change.shift[c] / 65536.0, 2) / 4000;
  }
  // The variance is (255 x 0.1)^2 times the sum of (eigenvector x eigenvalue)^2 over the three components.
  const double expected[] = {std::hypot(.5675 * .2175, .7192 * .0188, .4009 * .0045),
                             std::hypot(.5808 * .2175, .0045 * .0188, .8140 * .0045),
                             std::hypot(.5836 * .2175, .6948 * .0188, .4203 * .0045)};
  for (size_t c = 0; c < 3; ++c) BOOST_TEST(std::abs(std::sqrt(squares[c]) / (25.5 * expected[c]) - 1) < 0.05);
}

BOOST_AUTO_TEST_CASE(a_change_is_a_function_of_seed_epoch_and_sample) {
  const ColourChange change = kb::draw_colour_change(true, true, kMean, 1, 2, 3);
  BOOST_CHECK((change == kb::draw_colour_change(true, true, kMean, 1, 2, 3)));
  BOOST_CHECK((change != kb::draw_colour_change(true, true, kMean, 2, 2, 3)));
  BOOST_CHECK((change != kb::draw_colour_change(true, true, kMean, 1, 3, 3)));
  BOOST_CHECK((change != kb::draw_colour_change(true, true, kMean, 1, 2, 4)));
  // Lighting does not change what jitter draws.
  const ColourChange jitter = kb::draw_colour_change(true, false, kMean, 1, 2, 3);
  BOOST_TEST(jitter.matrix == change.matrix);
}

// Runs are repeated by later versions, so that draws have fixed bits, of which this is a hash.
BOOST_AUTO_TEST_CASE(the_draws_are_fixed) {
  uint64_t hash = 0;
  for (int64_t i = 0; i < 300; ++i) {
    const ColourChange change = kb::draw_colour_change(i % 4 != 0, i % 4 != 1, kMean, 1, i % 3, i);
    for (const int32_t value : change.matrix) hash = kb::hash_words(hash, value);
    for (const int32_t value : change.shift) hash = kb::hash_words(hash, value);
  }
  BOOST_TEST(hash == 0x081d2b937446ef6cu);
}

BOOST_AUTO_TEST_CASE(bytes_are_rounded_and_kept_in_range) {
  const std::vector<uint8_t> before = kb::test::made_pixels({30, 20}, 3);
  const auto mean = kb::mean_colour(before);
  double sum = 0;
  for (size_t i = 0; i < 600; ++i) sum += before[600 + i] / 600.0;
  BOOST_TEST(std::abs(mean[1] - sum) < 1e-9);
  for (int64_t sample = 0; sample < 50; ++sample) {
    const ColourChange change = kb::draw_colour_change(true, true, mean, 5, 0, sample);
    std::vector<uint8_t> pixels = before;
    kb::change_colours(change, pixels);
    for (size_t i = 0; i < 600; ++i) {
      const auto exact = applied(change, {double(before[i]), double(before[600 + i]), double(before[1200 + i])});
      for (size_t c = 0; c < 3; ++c)
        BOOST_REQUIRE(std::abs(pixels[600 * c + i] - std::min(std::max(exact[c], 0.0), 255.0)) <= 0.5);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace kb::colour_test
