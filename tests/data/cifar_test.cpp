#include "data/sets/cifar.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <functional>
#include <map>

#include "data/sets/load_dataset.h"
#include "tests/data/files.h"

namespace kb::cifar_test {

namespace {

namespace fs = std::filesystem;
using kb::Bytes;
using kb::test::data_error;
using kb::test::TemporaryDirectory;
using kb::test::write_file;

constexpr int64_t kPixels = 3072;

kb::CifarSpec tiny10() {
  return {"tiny10", "tiny-batches-bin", {"a", "b", "c"}, 0, {{"one.bin", 0}, {"two.bin", 0}}, {"test.bin", 0}, {5, 2}};
}
kb::CifarSpec tiny100() {
  return {"tiny100", "tiny-binary", {"a", "b", "c"}, 20, {{"train.bin", 0}}, {"test.bin", 0}, {2, 1}};
}

/// Returns records with the given label bytes; the pixels of the first record count up from `first`.
Bytes records(const std::vector<Bytes>& labels, uint8_t first) {
  Bytes out;
  for (const Bytes& label : labels) {
    out.insert(out.end(), label.begin(), label.end());
    for (int64_t i = 0; i < kPixels; ++i) out.push_back(static_cast<uint8_t>(first + i % 251));
    ++first;
  }
  return out;
}

using Files = std::map<std::string, Bytes>;

Files files10() {
  return {{"one.bin", records({{0}, {1}, {2}}, 0)},
          {"two.bin", records({{2}, {1}}, 50)},
          {"test.bin", records({{1}, {0}}, 100)}};
}
Files files100() { return {{"train.bin", records({{1, 1}, {14, 2}}, 0)}, {"test.bin", records({{4, 0}}, 100)}}; }

void write(const fs::path& dir, const Files& files) {
  fs::create_directories(dir);
  for (const auto& [name, bytes] : files) write_file(dir / name, kb::test::text_of(bytes));
}

std::string refusal(const kb::CifarSpec& spec, Files files, const std::function<void(Files&)>& change) {
  const TemporaryDirectory dir;
  change(files);
  write(dir.path(), files);
  return data_error(dir.path(), [&] { kb::load_cifar_dataset(spec, dir.path()); });
}

/// Returns the folder of the set's files, which are unpacked into `scratch` if they are stored as .xz.
fs::path unpacked_cifar10(const fs::path& stored, const fs::path& scratch, kb::CifarSpec spec) {
  if (fs::exists(stored / spec.test.name)) return stored;
  spec.train.push_back(spec.test);
  for (const kb::CifarFile& file : spec.train) {
    const std::string to = (scratch / file.name).string();
    const std::string command = fmt::format("xz -dc '{}.xz' > '{}'", (stored / file.name).string(), to);
    BOOST_REQUIRE(std::system(command.c_str()) == 0);
  }
  return scratch;
}

BOOST_AUTO_TEST_SUITE(data_cifar)

BOOST_AUTO_TEST_CASE(reads_one_label_and_several_files) {
  const TemporaryDirectory dir;
  for (const char* sub : {"", "tiny-batches-bin", "tiny10"}) {
    const fs::path root = dir.path() / fmt::format("at{}", sub);
    write(root / sub, files10());
    const kb::Dataset set = kb::load_cifar_dataset(tiny10(), root);
    BOOST_TEST(set.name == "tiny10");
    BOOST_TEST(!set.variant);
    BOOST_TEST((set.shape == kb::ImageShape{3, 32, 32}));
    BOOST_TEST((set.train.labels == std::vector<int32_t>{0, 1, 2, 2, 1}));
    BOOST_TEST((set.test.labels == std::vector<int32_t>{1, 0}));
    BOOST_TEST(set.train.pixels.size() == 5u * kPixels);
    BOOST_TEST(int{set.train.image(3)[0]} == 50);
    BOOST_TEST(int{set.train.image(4)[252]} == 52);
    BOOST_TEST(int{set.test.image(1)[3071]} == 101 + 3071 % 251);
  }
}

BOOST_AUTO_TEST_CASE(reads_the_fine_label) {
  const TemporaryDirectory dir;
  write(dir.path(), files100());
  const kb::Dataset set = kb::load_cifar_dataset(tiny100(), dir.path());
  BOOST_TEST((set.train.labels == std::vector<int32_t>{1, 2}));
  BOOST_TEST((set.test.labels == std::vector<int32_t>{0}));
  BOOST_TEST(int{set.train.image(1)[0]} == 1);
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused) {
  for (const char* file : {"one.bin", "two.bin", "test.bin"}) {
    const size_t whole = files10()[file].size();
    for (const size_t size : {size_t{0}, size_t{1}, size_t{3072}, size_t{3073}, whole - 3073, whole - 1, whole + 1}) {
      const std::string text = refusal(tiny10(), files10(), [&](Files& f) { f[file].resize(size); });
      BOOST_TEST(text != "(nothing thrown)", file << " of " << size);
    }
  }
  BOOST_TEST(refusal(tiny10(), files10(), [](Files& f) { f["two.bin"].pop_back(); }) ==
             "DIR/two.bin: the file does not end with a whole sample\n"
             "  expected: a multiple of 3073 bytes: 1 of labels and 3072 pixels a sample\n"
             "  got:      6145 bytes: 1 samples and 3072 bytes\n"
             "  hint:     it is truncated, or another file: fetch it again");
}

BOOST_AUTO_TEST_CASE(half_a_set_is_refused) {
  BOOST_TEST(refusal(tiny10(), files10(), [](Files& f) { f["two.bin"].resize(3073); }) ==
             "DIR: this is not the whole of tiny10\n"
             "  expected: train 5, test 2\n"
             "  got:      train 4, test 2\n"
             "  hint:     fetch tiny10 again; to use a variant on purpose, put the lines 'train 4' and 'test 2' into "
             "variant.txt");
  const std::string missing = refusal(tiny10(), files10(), [](Files& f) { f.erase("two.bin"); });
  BOOST_TEST(missing.starts_with("tiny10: two.bin is missing\n  expected: one of DIR/two.bin\n"), missing);
  BOOST_TEST(missing.ends_with("  got:      none of them\n"
                               "  hint:     fetch https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz (the binary "
                               "version) and unpack it into that directory"),
             missing);
}

BOOST_AUTO_TEST_CASE(a_variant_says_so) {
  const auto with = [](const std::string& text) {
    return refusal(tiny10(), files10(), [&](Files& f) {
      f["two.bin"].resize(3073);
      f["variant.txt"] = Bytes(text.begin(), text.end());
    });
  };
  BOOST_TEST(with("train 4\ntest 2\n") == "(nothing thrown)");
  BOOST_TEST(with("train 5\ntest 2\n") ==
             "DIR: the data is not what variant.txt states\n"
             "  expected: train 5, test 2\n"
             "  got:      train 4, test 2\n"
             "  hint:     correct that file, or the data");
  BOOST_TEST(with("half of it") ==
             "DIR/variant.txt: not understood\n"
             "  expected: two lines: 'train N' and 'test M', the samples of the two parts\n"
             "  got:      another text\n"
             "  hint:     it states what a variant of a published data set holds");
  const TemporaryDirectory dir;
  Files files = files10();
  files["variant.txt"] = {'t', 'r', 'a', 'i', 'n', ' ', '5', ' ', 't', 'e', 's', 't', ' ', '2'};
  write(dir.path(), files);
  BOOST_TEST(kb::load_cifar_dataset(tiny10(), dir.path()).variant);
}

BOOST_AUTO_TEST_CASE(foreign_files_are_refused) {
  BOOST_TEST(refusal(tiny10(), files10(), [](Files& f) { f["one.bin"] = files100()["train.bin"]; }) ==
             "DIR/one.bin: the file does not end with a whole sample\n"
             "  expected: a multiple of 3073 bytes: 1 of labels and 3072 pixels a sample\n"
             "  got:      6148 bytes: 2 samples and 2 bytes\n"
             "  hint:     this is a file of cifar100");
  BOOST_TEST(refusal(tiny100(), files100(), [](Files& f) { f["test.bin"] = files10()["two.bin"]; }) ==
             "DIR/test.bin: the file does not end with a whole sample\n"
             "  expected: a multiple of 3074 bytes: 2 of labels and 3072 pixels a sample\n"
             "  got:      6146 bytes: 1 samples and 3072 bytes\n"
             "  hint:     this is a file of cifar10");
  BOOST_TEST(refusal(tiny10(), files10(), [](Files& f) { f["two.bin"][3073] = 3; }) ==
             "DIR/two.bin: label out of range\n"
             "  expected: 0 to 2\n"
             "  got:      3 for sample 1\n"
             "  hint:     is this another data set?");
  BOOST_TEST(refusal(tiny100(), files100(), [](Files& f) { f["train.bin"][0] = 20; }) ==
             "DIR/train.bin: coarse label out of range\n"
             "  expected: 0 to 19\n"
             "  got:      20 for sample 0\n"
             "  hint:     is this another data set?");
  BOOST_TEST(refusal(tiny100(), files100(), [](Files& f) { f["train.bin"][3074] = 1; }) ==
             "DIR/train.bin: coarse and fine label do not belong together\n"
             "  expected: coarse label 14 with 'c'\n"
             "  got:      1 for sample 1\n"
             "  hint:     the file is damaged: fetch it again");
}

BOOST_AUTO_TEST_CASE(the_specs_are_those_of_the_archives) {
  const kb::CifarSpec ten = kb::cifar10_spec(), hundred = kb::cifar100_spec();
  BOOST_TEST(ten.class_names.size() == 10u);
  BOOST_TEST(ten.train.size() == 5u);
  BOOST_TEST(hundred.class_names.size() == 100u);
  BOOST_TEST(std::is_sorted(hundred.class_names.begin(), hundred.class_names.end()));
}

// Unpacking takes most of the time, so that two files of six are read unless `tests_data -- --all` asks for the whole
// set. The figures of the third file are those of NumPy, those of the set are the published ones.
BOOST_AUTO_TEST_CASE(cifar10_is_cifar10) {
  const auto stored = kb::test::data_dir("cifar10");
  if (!stored) return;
  kb::CifarSpec spec = kb::cifar10_spec();
  const bool whole = kb::test::was_asked("--all");
  if (!whole) {
    spec.train = {spec.train[2]};
    spec.published.train = 10000;
  }
  const TemporaryDirectory scratch, renamed;
  BOOST_TEST(kb::test::contains(data_error(renamed.path(), [&] { kb::load_dataset("cifar10", renamed.path()); }),
                                "cifar10: data_batch_1.bin is missing"));
  const fs::path dir = unpacked_cifar10(*stored, scratch.path(), spec);
  const kb::Dataset set = kb::load_cifar_dataset(spec, dir);
  const auto labels_of = [](const auto& split) {
    std::vector<int> hits(10);
    for (const int32_t label : split.labels) ++hits.at(label);
    return hits;
  };
  BOOST_TEST(labels_of(set.test) == std::vector<int>(10, 1000));
  if (whole) {
    BOOST_TEST(labels_of(set.train) == std::vector<int>(10, 5000));
    BOOST_TEST(set.statistics.mean == (std::vector<double>{0.49140, 0.48216, 0.44653}));
    BOOST_TEST(set.statistics.stddev == (std::vector<double>{0.24703, 0.24349, 0.26159}));
    BOOST_TEST(set.fingerprint == "4cba592b65076480");
  } else {
    BOOST_TEST(labels_of(set.train) == (std::vector<int>{994, 1042, 965, 997, 990, 1029, 978, 1015, 961, 1029}));
    BOOST_TEST(set.statistics.mean == (std::vector<double>{0.48910, 0.47991, 0.44415}));
    BOOST_TEST(set.statistics.stddev == (std::vector<double>{0.24780, 0.24391, 0.26138}));
  }
  for (const fs::directory_entry& file : fs::directory_iterator(dir))
    fs::create_symlink(fs::absolute(file.path()), renamed / file.path().filename());
  fs::rename(renamed / "test_batch.bin", renamed / "other");
  fs::rename(renamed / "data_batch_3.bin", renamed / "test_batch.bin");
  fs::rename(renamed / "other", renamed / "data_batch_3.bin");
  BOOST_TEST(data_error(renamed.path(), [&] { kb::load_cifar_dataset(spec, renamed.path()); }) ==
             "DIR/data_batch_3.bin: the content is that of another file\n"
             "  expected: data_batch_3.bin\n"
             "  got:      test_batch.bin\n"
             "  hint:     files were renamed: fetch them again");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace kb::cifar_test
