#include "data/images/resample.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "data/hash_random.h"
#include "data/images/open_image.h"
#include "data/images/view.h"
#include "data/images/weighted_sums.h"
#include "tests/data/made_images.h"

namespace kb::resample_test {

namespace {

using kb::ImageSize, kb::ImageView, kb::PixelBox, kb::ResampledAxis;
using kb::test::made_pixels;

// Returns the mean of the pixels along one axis, weighted by the triangle at wanted pixel i, in double.
double under_triangle(const std::vector<double>& pixels, const ResampledAxis& axis, int64_t i) {
  const double scale = static_cast<double>(axis.in) / static_cast<double>(axis.out);
  const double radius = std::max(scale, 1.0), centre = (static_cast<double>(axis.first + i) + 0.5) * scale;
  double sum = 0, total = 0;
  for (int64_t x = 0; x < axis.in; ++x) {
    const double weight = std::max(0.0, 1 - std::abs(static_cast<double>(x) + 0.5 - centre) / radius);
    sum += weight * pixels[static_cast<size_t>(x)];
    total += weight;
  }
  return sum / total;
}

// Returns the resampled planes, computed in double without rounding between the two passes.
std::vector<double> resampled(const std::vector<uint8_t>& pixels, ImageSize size, const ResampledAxis& columns,
                              const ResampledAxis& rows) {
  std::vector<double> planes;
  for (size_t c = 0; c < 3; ++c) {
    std::vector<std::vector<double>> lines(static_cast<size_t>(columns.count));  // a line per wanted column
    for (int64_t y = 0; y < size.height; ++y) {
      std::vector<double> line;
      for (int64_t x = 0; x < size.width; ++x)
        line.push_back(pixels[static_cast<size_t>(3 * (y * size.width + x)) + c]);
      for (int64_t i = 0; i < columns.count; ++i)
        lines[static_cast<size_t>(i)].push_back(under_triangle(line, columns, i));
    }
    for (int64_t j = 0; j < rows.count; ++j)
      for (const std::vector<double>& line : lines) planes.push_back(under_triangle(line, rows, j));
  }
  return planes;
}

std::vector<uint8_t> by_resampler(const std::vector<uint8_t>& pixels, ImageSize size, const ResampledAxis& columns,
                                  const ResampledAxis& rows) {
  kb::Resampler resampler;
  resampler.begin(columns, rows);
  const kb::AxisWeights &x = resampler.columns(), &y = resampler.rows();
  for (int64_t row = y.first_in; row < y.first_in + y.count_in; ++row) {
    std::vector<uint8_t> line;
    for (int64_t column = x.first_in; column < x.first_in + x.count_in; ++column) {
      const auto at = pixels.begin() + 3 * (row * size.width + column);
      line.insert(line.end(), {at[0], at[1], at[2], 77});
    }
    resampler.add_row(line.data());
  }
  std::vector<uint8_t> planes(static_cast<size_t>(3 * columns.count * rows.count));
  resampler.finish(planes);
  return planes;
}

BOOST_AUTO_TEST_SUITE(data_resample)

BOOST_AUTO_TEST_CASE(the_mean_under_a_triangle) {
  const auto largest_error = [](ImageSize size, const ResampledAxis& columns, const ResampledAxis& rows) {
    const std::vector<uint8_t> pixels = made_pixels(size, 3);
    const std::vector<uint8_t> got = by_resampler(pixels, size, columns, rows);
    const std::vector<double> expected = resampled(pixels, size, columns, rows);
    double largest = 0;
    for (size_t i = 0; i < got.size(); ++i) largest = std::max(largest, std::abs(got[i] - expected[i]));
    return largest;
  };
  // Each of the two passes rounds by at most half a grey level.
  const ImageSize size{61, 43};
  BOOST_TEST(largest_error(size, {61, 20, 0, 20}, {43, 17, 0, 17}) <= 1.001);    // smaller
  BOOST_TEST(largest_error(size, {61, 90, 0, 90}, {43, 110, 0, 110}) <= 1.001);  // larger
  BOOST_TEST(largest_error(size, {61, 33, 5, 20}, {43, 60, 17, 20}) <= 1.001);   // a part of it
  BOOST_TEST(largest_error({1, 1}, {1, 24, 0, 24}, {1, 8, 0, 8}) < 1e-9);
  BOOST_TEST(largest_error({2, 300}, {2, 9, 0, 9}, {300, 2, 0, 2}) <= 1.001);
}

// A processor with AVX2 sums in other loops than one without.
BOOST_AUTO_TEST_CASE(every_processor_has_the_same_bytes) {
  const kb::WeightedSums here = kb::weighted_sums(), plain = kb::plain_weighted_sums();
  const std::vector<uint8_t> pixels = made_pixels({96, 41}, 4);
  for (const ResampledAxis& axis : {ResampledAxis{41, 41, 0, 41}, {41, 7, 0, 7}, {41, 3, 1, 1}, {41, 100, 3, 90}}) {
    kb::AxisWeights weights;
    kb::set_weights(weights, axis);
    const auto count = static_cast<size_t>(axis.count);
    std::vector<uint8_t> got(4 * count), expected(4 * count);
    here.columns(pixels.data(), weights, got.data());
    plain.columns(pixels.data(), weights, expected.data());
    BOOST_TEST(got == expected);
    for (size_t i = 0; i < count; ++i) {
      const int32_t* weight = weights.weight.data() + static_cast<int64_t>(i) * weights.taps;
      std::vector<uint8_t> line(4 * 96), expected_line(4 * 96);
      here.lines(pixels.data() + 4 * 96 * weights.start[i], weight, weights.taps, 4 * 96, line.data());
      plain.lines(pixels.data() + 4 * 96 * weights.start[i], weight, weights.taps, 4 * 96, expected_line.data());
      BOOST_TEST(line == expected_line);
    }
  }
}

// Three columns become two by four weights each, the last of which is 0 and stands past the row: AddressSanitizer sees
// whether that pixel is read.
BOOST_AUTO_TEST_CASE(no_pixel_past_a_row_counts) {
  const std::vector<uint8_t> pixels = made_pixels({3, 1}, 3);
  const std::vector<double> expected = resampled(pixels, {3, 1}, {3, 2, 0, 2}, {1, 1, 0, 1});
  const std::vector<uint8_t> got = by_resampler(pixels, {3, 1}, {3, 2, 0, 2}, {1, 1, 0, 1});
  for (size_t i = 0; i < got.size(); ++i) BOOST_TEST(std::abs(got[i] - expected[i]) <= 0.501);
}

BOOST_AUTO_TEST_CASE(the_same_size_is_the_same_image) {
  const ImageSize size{19, 8};
  const std::vector<uint8_t> pixels = made_pixels(size, 3);
  const std::vector<uint8_t> planes = by_resampler(pixels, size, {19, 19, 0, 19}, {8, 8, 0, 8});
  for (size_t i = 0; i < planes.size(); ++i) BOOST_REQUIRE(planes[i] == pixels[3 * (i % 152) + i / 152]);
}

BOOST_AUTO_TEST_CASE(mistakes_are_refused) {
  kb::AxisWeights weights;
  for (const ResampledAxis& axis : {ResampledAxis{0, 1, 0, 1}, {1, 0, 0, 1}, {4, 4, 2, 3}, {4, 4, -1, 2}, {4, 4, 0, 0}})
    BOOST_CHECK_THROW(kb::set_weights(weights, axis), std::logic_error);
  kb::Resampler resampler;
  resampler.begin({2, 2, 0, 2}, {1, 1, 0, 1});
  std::vector<uint8_t> planes(6);
  BOOST_CHECK_THROW(resampler.finish(planes), std::logic_error);
  const uint8_t row[8] = {};
  resampler.add_row(row);
  BOOST_CHECK_THROW(resampler.add_row(row), std::logic_error);
}

// Five pixels become three: the triangle at the first has the weights 0.8, 0.6 and 0, which are 4/7, 3/7 and 0.
BOOST_AUTO_TEST_CASE(weights_are_rounded) {
  kb::AxisWeights weights;
  kb::set_weights(weights, {5, 3, 0, 1});
  BOOST_TEST(weights.weight == (std::vector<int32_t>{2396745, 1797559, 0, 0}));
}

BOOST_AUTO_TEST_CASE(the_centre_of_an_evaluated_image) {
  BOOST_CHECK((kb::centre_view({500, 375}, 224) == ImageView{{0, 0, 500, 375}, {341, 256}, 58, 16, 224}));
  BOOST_CHECK((kb::centre_view({375, 500}, 224) == ImageView{{0, 0, 375, 500}, {256, 341}, 16, 58, 224}));
  BOOST_CHECK((kb::centre_view({300, 500}, 224) == ImageView{{0, 0, 300, 500}, {256, 426}, 16, 101, 224}));
  BOOST_CHECK((kb::centre_view({1, 1}, 224) == ImageView{{0, 0, 1, 1}, {256, 256}, 16, 16, 224}));
  BOOST_CHECK((kb::centre_view({40, 30}, 28) == ImageView{{0, 0, 40, 30}, {42, 32}, 7, 2, 28}));
  // 8/7 of 32 is nearest to 37. A middle between two pixels is the even one, as Python's round() has it.
  BOOST_CHECK((kb::centre_view({100, 100}, 32) == ImageView{{0, 0, 100, 100}, {37, 37}, 2, 2, 32}));
  BOOST_CHECK((kb::centre_view({100, 100}, 21) == ImageView{{0, 0, 100, 100}, {24, 24}, 2, 2, 21}));
}

BOOST_AUTO_TEST_CASE(random_views_keep_to_area_and_ratio) {
  const ImageSize image{500, 375};
  double area = 0, left = 0;
  for (int64_t sample = 0; sample < 2000; ++sample) {
    const ImageView view = kb::random_view(image, 224, 1, 0, sample);
    const PixelBox& b = view.box;
    BOOST_REQUIRE(b.left >= 0 && b.top >= 0 && b.left + b.width <= 500 && b.top + b.height <= 375);
    const double share = static_cast<double>(b.width * b.height) / (500 * 375);
    const double ratio = static_cast<double>(b.width) / static_cast<double>(b.height);
    BOOST_REQUIRE(share > 0.078);
    BOOST_REQUIRE((ratio > 0.74 && ratio < 1.35));
    area += share / 2000;
    if (b.width < 500) left += static_cast<double>(b.left) / static_cast<double>(500 - b.width) / 2000;
    BOOST_REQUIRE((view.resized == ImageSize{224, 224} && view.left == 0 && view.top == 0 && view.side == 224));
  }
  BOOST_TEST((area > 0.40 && area < 0.48), area);
  BOOST_TEST((left > 0.45 && left < 0.55), left);
}

BOOST_AUTO_TEST_CASE(a_view_is_a_function_of_seed_epoch_and_sample) {
  const ImageSize image{500, 375};
  const ImageView view = kb::random_view(image, 224, 1, 2, 3);
  BOOST_CHECK((view == kb::random_view(image, 224, 1, 2, 3)));
  BOOST_CHECK((view != kb::random_view(image, 224, 2, 2, 3)));
  BOOST_CHECK((view != kb::random_view(image, 224, 1, 3, 3)));
  BOOST_CHECK((view != kb::random_view(image, 224, 1, 2, 4)));
}

// Runs are repeated by later versions, so that draws have fixed bits. A hash stands for views of images in which a box
// nearly always, seldom and never fits.
BOOST_AUTO_TEST_CASE(the_draws_are_fixed) {
  uint64_t hash = 0;
  for (int64_t i = 0; i < 1200; ++i) {
    const ImageSize image = i % 3 == 0 ? ImageSize{500, 375} : i % 3 == 1 ? ImageSize{100, 500} : ImageSize{9, 8};
    const PixelBox box = kb::random_view(image, 224, 1, i % 5, i).box;
    hash = kb::hash_words(hash, box.left, box.top, box.width, box.height);
  }
  BOOST_TEST(hash == 0x0cc2674e8cddbd10u);
}

// No box of an allowed ratio and with 8 % of the area lies in these images.
BOOST_AUTO_TEST_CASE(the_middle_where_no_box_fits) {
  BOOST_CHECK((kb::random_view({2000, 30}, 224, 1, 0, 0).box == PixelBox{980, 0, 40, 30}));
  BOOST_CHECK((kb::random_view({30, 2000}, 224, 1, 0, 0).box == PixelBox{0, 980, 30, 40}));
  BOOST_CHECK((kb::random_view({1, 1}, 224, 1, 0, 0).box == PixelBox{0, 0, 1, 1}));
}

BOOST_AUTO_TEST_CASE(a_rendered_view_is_the_crop_resampled) {
  const ImageSize size{90, 70};
  const std::vector<uint8_t> pixels = made_pixels(size, 3);
  const kb::Bytes file = kb::test::png_file(pixels, size, 3);
  kb::Resampler resampler;
  std::vector<uint8_t> planes(3 * 28 * 28);
  kb::render(*kb::open_image(file), {{10, 20, 50, 40}, {28, 28}, 0, 0, 28}, resampler, planes);
  const std::vector<uint8_t> crop = kb::test::decoded(file, {10, 20, 50, 40});
  BOOST_TEST(planes == by_resampler(crop, {50, 40}, {50, 28, 0, 28}, {40, 28, 0, 28}));
  kb::render(*kb::open_image(file), kb::centre_view(size, 28), resampler, planes);
  BOOST_TEST(planes == by_resampler(pixels, size, {90, 41, 6, 28}, {70, 32, 2, 28}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace kb::resample_test
