#include "data/sets/glyphs.h"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>

#include "data/sets/load_dataset.h"
#include "tests/data/files.h"

namespace kb::glyphs_test {

namespace {

using Image = std::array<uint8_t, kb::kGlyphSide * kb::kGlyphSide>;

Image drawn(uint64_t seed, uint64_t index) {
  Image image;
  kb::draw_glyph(seed, index, image);
  return image;
}

BOOST_AUTO_TEST_SUITE(data_glyphs)

BOOST_AUTO_TEST_CASE(ten_balanced_classes) {
  const kb::Dataset set = kb::glyphs_dataset({.train_count = 200, .test_count = 50});
  BOOST_TEST(set.class_count() == 10);
  BOOST_TEST((set.shape == kb::ImageShape{1, 28, 28}));
  for (int64_t i = 0; i < 200; ++i) BOOST_TEST(set.train.labels[i] == i % 10);
  BOOST_TEST(set.train.pixels.size() == 200u * 784);
  BOOST_TEST(set.test.count() == 50);
}

BOOST_AUTO_TEST_CASE(a_sample_depends_on_seed_and_index_alone) {
  const kb::Dataset set = kb::glyphs_dataset({.train_count = 30, .test_count = 10, .seed = 5, .threads = 1});
  for (uint64_t i = 0; i < 30; ++i) BOOST_TEST(std::ranges::equal(set.train.image(i), drawn(5, i)));
  for (uint64_t i = 0; i < 10; ++i) {
    BOOST_TEST(std::ranges::equal(set.test.image(i), drawn(5, (uint64_t{1} << 32) + i)));
    BOOST_TEST(set.test.labels[i] == static_cast<int32_t>(((uint64_t{1} << 32) + i) % 10));
  }
  BOOST_TEST((drawn(5, 0) != drawn(6, 0)));
  BOOST_TEST((drawn(5, 0) != drawn(5, 10)));
}

BOOST_AUTO_TEST_CASE(threads_do_not_matter) {
  const auto fingerprint = [](int threads) {
    return kb::glyphs_dataset({.train_count = 2000, .test_count = 300, .threads = threads}).fingerprint;
  };
  const std::string one = fingerprint(1);
  for (const int threads : {2, 3, 7}) BOOST_TEST(fingerprint(threads) == one);
}

// A file of the cache is taken only if it has the pixels: one that is damaged or cut is made again.
BOOST_AUTO_TEST_CASE(pixels_are_kept_between_calls) {
  const kb::test::TemporaryDirectory folder;
  const kb::GlyphsSpec spec{.train_count = 50, .test_count = 20};
  const std::string fingerprint = kb::glyphs_dataset(spec).fingerprint;
  const std::filesystem::path file = folder / "cache" / ("glyphs-" + fingerprint + ".pixels");
  const auto load = [&] { return kb::kept_glyphs(spec, fingerprint, folder / "cache"); };
  BOOST_TEST(load().fingerprint == fingerprint);
  const std::string whole = kb::test::read_file(file);
  BOOST_TEST(whole.size() == 70u * 28 * 28);
  const auto written = std::filesystem::last_write_time(file);
  const kb::Dataset again = load();
  BOOST_TEST(again.fingerprint == fingerprint);
  BOOST_TEST(again.test.labels[13] == 9);  // the test part begins at 2^32, in class 6
  BOOST_TEST((std::filesystem::last_write_time(file) == written));
  std::string changed = whole;
  ++changed[1000];
  for (const std::string& bad : {changed, whole.substr(1), whole + "x", std::string()}) {
    std::ofstream(file, std::ios::binary) << bad;
    BOOST_TEST(load().fingerprint == fingerprint);
    BOOST_TEST((kb::test::read_file(file) == whole));
  }
}

// The data set is defined by its bits, because published results were measured on them.
BOOST_AUTO_TEST_CASE(the_standard_set_is_fixed) {
  const kb::Dataset set = kb::load_dataset("glyphs", "");
  BOOST_TEST(set.train.count() == 20000);
  BOOST_TEST(set.test.count() == 4000);
  BOOST_TEST(set.fingerprint == "8f051b56e696d370");
  BOOST_TEST(set.statistics.mean[0] == 0.27411);
  BOOST_TEST(set.statistics.stddev[0] == 0.16997);
}

BOOST_AUTO_TEST_CASE(the_set_of_the_hour_is_fixed_and_another) {
  const kb::Dataset set = kb::load_dataset("glyphs-hour", "");
  BOOST_TEST(set.name == "glyphs-hour");
  BOOST_TEST(set.train.count() == 20480);
  BOOST_TEST(set.test.count() == 5000);
  BOOST_TEST(set.fingerprint == "a7e211c1f39b3bb4");
  BOOST_TEST(set.statistics.mean[0] == 0.27933);
  BOOST_TEST(set.statistics.stddev[0] == 0.19182);
}

// The set must not be too easy: choosing the nearest of the ten class means is often wrong, yet better than chance.
BOOST_AUTO_TEST_CASE(class_means_do_not_solve_it) {
  const kb::Dataset set = kb::glyphs_dataset({.train_count = 5000, .test_count = 1000});
  std::array<std::array<double, 784>, 10> means = {};
  for (int64_t i = 0; i < set.train.count(); ++i) {
    for (int p = 0; p < 784; ++p) means[set.train.labels[i]][p] += set.train.image(i)[p] / 500.0;
  }
  int errors = 0;
  for (int64_t i = 0; i < set.test.count(); ++i) {
    std::array<double, 10> distance = {};
    for (int c = 0; c < 10; ++c) {
      for (int p = 0; p < 784; ++p) distance[c] += std::pow(means[c][p] - set.test.image(i)[p], 2);
    }
    errors += std::ranges::min_element(distance) - distance.begin() != set.test.labels[i];
  }
  BOOST_TEST(errors > 400);
  BOOST_TEST(errors < 850);
}

BOOST_AUTO_TEST_CASE(error_texts) {
  const auto text = [](kb::GlyphsSpec spec) { return kb::test::data_error({}, [&] { kb::glyphs_dataset(spec); }); };
  BOOST_TEST(text({.train_count = 0}) == "glyphs: train_count is out of range\n  expected: at least 1\n  got:      0");
  BOOST_TEST(text({.test_count = -1}) == "glyphs: test_count is out of range\n  expected: at least 1\n  got:      -1");
  BOOST_TEST(text({.threads = 0}) == "glyphs: threads is out of range\n  expected: at least 1\n  got:      0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace kb::glyphs_test
