#include "data/dataset.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <memory>

#include "data/gzip.h"
#include "data/sets/load_dataset.h"
#include "data/sets/synthetic.h"
#include "tests/data/files.h"

namespace kb::dataset_test {

namespace {

namespace fs = std::filesystem;

/// Returns the sum that the md5sum program prints, so that anybody can compare it.
std::string md5(const fs::path& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("md5sum < '" + path.string() + "'").c_str(), "r"), pclose);
  std::string sum(32, ' ');
  if (!pipe || std::fread(sum.data(), 1, sum.size(), pipe.get()) != sum.size()) return "(md5sum failed)";
  return sum;
}

kb::Split two_channels() { return {{2, 1, 2}, {0, 255, 10, 10, 255, 0, 20, 20}, {0, 1}}; }

void check_balance(const kb::Split& split, int64_t classes) {
  std::vector<int64_t> hits(classes);
  for (const int32_t label : split.labels) ++hits.at(label);
  for (const int64_t h : hits) BOOST_TEST(h == split.count() / classes);
}

BOOST_AUTO_TEST_SUITE(data_dataset)

BOOST_AUTO_TEST_CASE(statistics_by_hand) {
  const kb::ChannelStatistics s = kb::channel_statistics(two_channels());
  BOOST_TEST(s.mean == (std::vector<double>{0.5, 0.05882}));    // 15 / 255
  BOOST_TEST(s.stddev == (std::vector<double>{0.5, 0.01961}));  // 5 / 255
}

// The sums of so many white pixels exceed 32 bits.
BOOST_AUTO_TEST_CASE(statistics_of_a_large_image) {
  kb::Split white{{1, 1100, 1100}, Bytes(1100 * 1100), {0}};
  std::ranges::fill(white.pixels, uint8_t{255});
  const kb::ChannelStatistics s = kb::channel_statistics(white);
  BOOST_TEST(s.mean[0] == 1);
  BOOST_TEST(s.stddev[0] == 0);
}

BOOST_AUTO_TEST_CASE(fingerprint_sees_every_part) {
  const auto fingerprint = [](auto change) {
    kb::Split train = two_channels(), test = two_channels();
    std::vector<std::string> classes = {"a", "b"};
    change(classes, train, test);
    return kb::make_dataset("x", classes, train, test).fingerprint;
  };
  const std::string base = fingerprint([](auto&, auto&, auto&) {});
  BOOST_TEST(base.size() == 16u);
  BOOST_TEST(base == fingerprint([](auto&, auto&, auto&) {}));
  BOOST_TEST(base != fingerprint([](auto&, auto& train, auto&) { train.pixels[7] ^= 1; }));
  BOOST_TEST(base != fingerprint([](auto&, auto&, auto& test) { test.pixels[0] ^= 1; }));
  BOOST_TEST(base != fingerprint([](auto&, auto&, auto& test) { test.labels[1] = 0; }));
  BOOST_TEST(base != fingerprint([](auto&, auto& train, auto& test) { train.shape = test.shape = {2, 2, 1}; }));
  BOOST_TEST(base != fingerprint([](auto& classes, auto&, auto&) { classes.push_back("c"); }));
}

// A program may make the parts of a data set itself; an error names each fault with its part and its sample.
BOOST_AUTO_TEST_CASE(parts_that_do_not_fit_are_refused) {
  const auto refusal = [](auto change) {
    kb::Split train = two_channels(), test = two_channels();
    change(train, test);
    return kb::test::data_error({}, [&] { kb::make_dataset("mine", {"a", "b"}, train, test); });
  };
  const auto mentions = [](const std::string& text, std::initializer_list<const char*> all) {
    return std::all_of(all.begin(), all.end(), [&](const char* what) { return text.find(what) != std::string::npos; });
  };
  BOOST_TEST(mentions(refusal([](auto& train, auto&) { train.labels.assign(1000000, 0); }),
                      {"data set mine, training part", "1000000 labels x 4 pixels = 4000000 bytes", "8 bytes"}));
  BOOST_TEST(mentions(refusal([](auto&, auto& test) { test.pixels.resize(9); }), {"test part", "2 labels", "9 bytes"}));
  BOOST_TEST(mentions(refusal([](auto&, auto& test) { test.labels[1] = 2; }),
                      {"test part: label out of range", "0 to 1", "2 for sample 1"}));
  BOOST_TEST(mentions(refusal([](auto& train, auto&) { train.labels[0] = -1; }), {"training part", "-1 for sample 0"}));
  BOOST_TEST(mentions(refusal([](auto&, auto& test) { test.shape = {1, 2, 2}; }), {"test part", "another shape"}));
  BOOST_TEST(mentions(refusal([](auto& train, auto&) { train.shape = {2, 0, 2}; }), {"without pixels"}));
  BOOST_TEST(mentions(refusal([](auto& train, auto&) { train.labels.clear(), train.pixels.clear(); }), {"no samples"}));
}

BOOST_AUTO_TEST_CASE(names_and_unknown_name) {
  BOOST_TEST(kb::dataset_names() == (std::vector<std::string>{"mnist", "fashion-mnist", "cifar10", "cifar100", "glyphs",
                                                              "glyphs-hour", "folder", "synthetic"}));
  BOOST_TEST(kb::test::data_error({}, [] { kb::load_dataset("minst", ""); }) ==
             "data set: unknown name\n"
             "  expected: one of mnist, fashion-mnist, cifar10, cifar100, glyphs, glyphs-hour, folder, synthetic\n"
             "  got:      'minst'");
}

BOOST_AUTO_TEST_CASE(synthetic_in_any_shape) {
  const kb::SyntheticSpec spec = {.shape = {3, 5, 7}, .classes = 4, .train_count = 40, .test_count = 8};
  const kb::Dataset set = kb::synthetic_dataset(spec);
  BOOST_TEST((set.shape == spec.shape));
  BOOST_TEST(set.train.count() == 40);
  BOOST_TEST(set.test.pixels.size() == 8u * 105);
  check_balance(set.train, 4);
  check_balance(set.test, 4);
  BOOST_TEST(set.fingerprint == kb::synthetic_dataset(spec).fingerprint);
  const kb::Dataset standard = kb::load_dataset("synthetic", "");
  BOOST_TEST(standard.fingerprint == "faf848549cf3ce76");
  BOOST_TEST(standard.statistics.mean[0] == 0.5, boost::test_tools::tolerance(0.002));
  BOOST_TEST(standard.statistics.stddev[0] == 0.2898, boost::test_tools::tolerance(0.002));  // sqrt(1 / 12), 256 levels
  BOOST_TEST(kb::test::data_error({}, [] { kb::synthetic_dataset({.classes = 0}); }) ==
             "synthetic: classes is out of range\n  expected: at least 1\n  got:      0");
}

// The mean and the standard deviation of the pixels are the constants that are usually quoted for MNIST.
BOOST_AUTO_TEST_CASE(mnist_is_mnist) {
  const auto dir = kb::test::data_dir("mnist");
  if (!dir) return;
  const kb::Dataset set = kb::load_dataset("mnist", *dir);
  BOOST_TEST(set.train.count() == 60000);
  BOOST_TEST(set.test.count() == 10000);
  BOOST_TEST(set.statistics.mean[0] == 0.13066);
  BOOST_TEST(set.statistics.stddev[0] == 0.30811);
  const std::vector<int32_t> first(set.train.labels.begin(), set.train.labels.begin() + 10);
  BOOST_TEST(first == (std::vector<int32_t>{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}));
  const kb::test::TemporaryDirectory scratch;
  const fs::path packed = *dir / "train-images-idx3-ubyte.gz", plain = *dir / "train-images-idx3-ubyte";
  kb::test::write_file(scratch.path() / "images",
                       kb::test::text_of(kb::read_unpacked(fs::exists(packed) ? packed : plain)));
  BOOST_TEST(md5(scratch.path() / "images") == "6bbc9ace898e44ae57da46a324031adb");
  BOOST_TEST(set.fingerprint == "c6a075145c84df48");
  BOOST_TEST(kb::test::data_error(*dir, [&] { kb::load_dataset("fashion-mnist", *dir); }) ==
             "DIR: these files are another data set\n"
             "  expected: fashion-mnist\n"
             "  got:      mnist\n"
             "  hint:     name the directory that holds fashion-mnist, or load it as mnist");
  BOOST_TEST(kb::load_dataset("mnist", dir->parent_path()).fingerprint == set.fingerprint);
}

BOOST_AUTO_TEST_CASE(exchanged_and_changed_files_are_refused) {
  const auto dir = kb::test::data_dir("mnist");
  if (!dir) return;
  const kb::test::TemporaryDirectory swapped, changed;
  const auto copy = [&](const fs::path& to, const std::string& from_name, const std::string& to_name) {
    for (const std::string rest : {"-images-idx3-ubyte", "-labels-idx1-ubyte"}) {
      const fs::path packed = *dir / (from_name + rest + ".gz"), plain = *dir / (from_name + rest);
      kb::test::write_file(to / (to_name + rest),
                           kb::test::text_of(kb::read_unpacked(fs::exists(packed) ? packed : plain)));
    }
  };
  copy(swapped.path(), "train", "t10k");
  copy(swapped.path(), "t10k", "train");
  BOOST_TEST(kb::test::data_error(swapped.path(), [&] { kb::load_dataset("mnist", swapped.path()); }) ==
             "DIR: this is not the whole of mnist\n"
             "  expected: train 60000, test 10000\n"
             "  got:      train 10000, test 60000\n"
             "  hint:     the files of the two parts were exchanged: check the names");
  copy(changed.path(), "train", "train");
  copy(changed.path(), "t10k", "t10k");
  std::string labels = kb::test::read_file(changed.path() / "train-labels-idx1-ubyte");
  labels[1000] = static_cast<char>(labels[1000] == 0);
  kb::test::write_file(changed.path() / "train-labels-idx1-ubyte", labels);
  const std::string text = kb::test::data_error(changed.path(), [&] { kb::load_dataset("mnist", changed.path()); });
  BOOST_TEST(text.starts_with("DIR: the content is not that of mnist\n  expected: fingerprint c6a075145c84df48\n"),
             text);
  kb::test::write_file(changed.path() / "variant.txt", "train 60000\ntest 10000\n");
  BOOST_TEST(kb::load_dataset("mnist", changed.path()).variant);
}

BOOST_AUTO_TEST_CASE(fashion_mnist_is_fashion_mnist) {
  const auto dir = kb::test::data_dir("fashion-mnist");
  if (!dir) return;
  const std::pair<const char*, const char*> sums[] = {
      {"train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"},
      {"train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"},
      {"t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"},
      {"t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"}};
  for (const auto& [file, sum] : sums) {
    if (fs::exists(*dir / file)) BOOST_TEST(md5(*dir / file) == sum);
  }
  const kb::Dataset set = kb::load_dataset("fashion-mnist", *dir);
  BOOST_TEST(set.train.count() == 60000);
  BOOST_TEST(set.test.count() == 10000);
  check_balance(set.train, 10);
  check_balance(set.test, 10);
  BOOST_TEST(set.fingerprint == "4f4f760f82d74035");
  BOOST_TEST(set.statistics.mean[0] == 0.28604);
  BOOST_TEST(set.statistics.stddev[0] == 0.35302);
  BOOST_TEST(set.class_names.at(set.train.labels.at(0)) == "ankle boot");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace kb::dataset_test
