#include "data/sets/idx.h"

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <functional>

#include "data/sets/load_dataset.h"
#include "tests/data/files.h"

namespace kb::idx_test {

namespace {

namespace fs = std::filesystem;
using kb::Bytes;
using kb::test::data_error;
using kb::test::idx;
using kb::test::TemporaryDirectory;
using kb::test::write_file;

const kb::IdxSpec kTiny = {"tiny", {"a", "b", "c"}, "https://example.org/", {}, {1, 2, 3}};

Bytes pixels(int64_t count, uint8_t first) {
  Bytes out(count * 6);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(first + i);
  return out;
}

struct TinyFiles {
  Bytes train_images = idx(0x803, {4, 2, 3}, pixels(4, 10)), train_labels = idx(0x801, {4}, {0, 1, 2, 1});
  Bytes test_images = idx(0x803, {2, 2, 3}, pixels(2, 100)), test_labels = idx(0x801, {2}, {2, 0});

  void write(const fs::path& dir, const std::function<Bytes(const Bytes&)>& pack, const std::string& suffix) const {
    fs::create_directories(dir);
    write_file(dir / ("train-images-idx3-ubyte" + suffix), kb::test::text_of(pack(train_images)));
    write_file(dir / ("train-labels-idx1-ubyte" + suffix), kb::test::text_of(pack(train_labels)));
    write_file(dir / ("t10k-images-idx3-ubyte" + suffix), kb::test::text_of(pack(test_images)));
    write_file(dir / ("t10k-labels-idx1-ubyte" + suffix), kb::test::text_of(pack(test_labels)));
  }
};

Bytes as_is(const Bytes& bytes) { return bytes; }

/// Returns the error text of loading the tiny set after `change`.
std::string refusal(const std::function<void(TinyFiles&)>& change) {
  const TemporaryDirectory dir;
  TinyFiles files;
  change(files);
  files.write(dir.path(), as_is, "");
  return data_error(dir.path(), [&] { kb::load_idx_dataset(kTiny, dir.path()); });
}

BOOST_AUTO_TEST_SUITE(data_idx)

BOOST_AUTO_TEST_CASE(reads_what_was_written) {
  const TemporaryDirectory dir;
  TinyFiles().write(dir.path(), as_is, "");
  const kb::Dataset set = kb::load_idx_dataset(kTiny, dir.path());
  BOOST_TEST(set.name == "tiny");
  BOOST_TEST((set.shape == kb::ImageShape{1, 2, 3}));
  BOOST_TEST(set.class_count() == 3);
  BOOST_TEST((set.train.pixels == pixels(4, 10)));
  BOOST_TEST((set.train.labels == std::vector<int32_t>{0, 1, 2, 1}));
  BOOST_TEST((set.test.pixels == pixels(2, 100)));
  BOOST_TEST((set.test.labels == std::vector<int32_t>{2, 0}));
  // The pixels 10, 11 ... 33 have the mean 21.5 and the variance (24^2 - 1) / 12; the statistics are in units of 255.
  BOOST_TEST(set.statistics.mean.at(0) == 0.08431);
  BOOST_TEST(set.statistics.stddev.at(0) == 0.02715);
}

BOOST_AUTO_TEST_CASE(gzip_and_both_places_give_the_same_set) {
  std::vector<std::string> fingerprints;
  for (const std::string suffix : {"", ".gz"}) {
    for (const std::string sub : {"", "tiny"}) {
      const TemporaryDirectory dir;
      TinyFiles().write(dir.path() / sub, suffix.empty() ? as_is : kb::test::gzip, suffix);
      fingerprints.push_back(kb::load_idx_dataset(kTiny, dir.path()).fingerprint);
    }
  }
  BOOST_TEST(fingerprints == std::vector<std::string>(4, fingerprints[0]));
}

BOOST_AUTO_TEST_CASE(every_truncation_and_every_extra_byte_is_refused) {
  const TinyFiles whole;
  for (Bytes TinyFiles::*member :
       {&TinyFiles::train_images, &TinyFiles::train_labels, &TinyFiles::test_images, &TinyFiles::test_labels}) {
    for (size_t size = 0; size <= (whole.*member).size() + 1; ++size) {
      const std::string text = refusal([&](TinyFiles& files) { (files.*member).resize(size); });
      BOOST_TEST((text == "(nothing thrown)") == (size == (whole.*member).size()), size << ": " << text);
    }
  }
}

BOOST_AUTO_TEST_CASE(truncated_header) {
  BOOST_TEST(refusal([](TinyFiles& f) { f.train_images.resize(9); }) ==
             "DIR/train-images-idx3-ubyte: the idx header is truncated\n"
             "  expected: at least 16 bytes\n"
             "  got:      9 bytes\n"
             "  hint:     fetch the file again");
}

BOOST_AUTO_TEST_CASE(truncated_content) {
  BOOST_TEST(refusal([](TinyFiles& f) { f.test_images.pop_back(); }) ==
             "DIR/t10k-images-idx3-ubyte: the file is truncated\n"
             "  expected: 2 x 6 = 12 bytes after the header\n"
             "  got:      11 bytes\n"
             "  hint:     fetch the file again");
}

BOOST_AUTO_TEST_CASE(wrong_count_in_the_header) {
  BOOST_TEST(refusal([](TinyFiles& f) {
               f.train_labels = idx(0x801, {3}, {0, 1, 2, 1});
             }) ==
             "DIR/train-labels-idx1-ubyte: bytes follow the last sample\n"
             "  expected: 3 x 1 = 3 bytes after the header\n"
             "  got:      4 bytes\n"
             "  hint:     the count in its header is wrong, or two files were joined");
  BOOST_TEST(refusal([](TinyFiles& f) {
               f.train_images = idx(0x803, {0xffffffff, 2, 3}, {});
             }) ==
             "DIR/train-images-idx3-ubyte: the file is truncated\n"
             "  expected: 4294967295 x 6 = 25769803770 bytes after the header\n"
             "  got:      0 bytes\n"
             "  hint:     fetch the file again");
}

BOOST_AUTO_TEST_CASE(renamed_file) {
  BOOST_TEST(refusal([](TinyFiles& f) { std::swap(f.train_images, f.train_labels); }) ==
             "DIR/train-images-idx3-ubyte: wrong magic number\n"
             "  expected: 00000803 (uint8 images)\n"
             "  got:      00000801 (uint8 labels)\n"
             "  hint:     images and labels were exchanged: check the file names");
  BOOST_TEST(refusal([](TinyFiles& f) { f.test_labels = f.train_labels; }) ==
             "DIR/t10k-labels-idx1-ubyte: the number of labels is not that of the images\n"
             "  expected: 2 labels, as many as images in DIR/t10k-images-idx3-ubyte\n"
             "  got:      4 labels\n"
             "  hint:     the files of the two parts were mixed up");
  BOOST_TEST(refusal([](TinyFiles& f) { f.test_labels = f.train_labels, f.test_images = f.train_images; }) ==
             "DIR: the test images are the training images\n"
             "  expected: two different parts\n"
             "  got:      4 equal images\n"
             "  hint:     one file was copied over the other");
}

BOOST_AUTO_TEST_CASE(foreign_magic) {
  BOOST_TEST(refusal([](TinyFiles& f) {
               f.train_images = idx(0xd03, {4, 2, 3}, pixels(4, 10));
             }) ==
             "DIR/train-images-idx3-ubyte: wrong magic number\n"
             "  expected: 00000803 (uint8 images)\n"
             "  got:      00000d03\n"
             "  hint:     this is not an idx file of unsigned bytes");
  BOOST_TEST(refusal([](TinyFiles& f) { f.train_images = kb::test::gzip(f.train_images); }) ==
             "DIR/train-images-idx3-ubyte: wrong magic number\n"
             "  expected: 00000803 (uint8 images)\n"
             "  got:      1f8b0800 (a gzip file)\n"
             "  hint:     add '.gz' to its name, or unpack it with gunzip");
}

BOOST_AUTO_TEST_CASE(wrong_image_size) {
  BOOST_TEST(refusal([](TinyFiles& f) {
               f.train_images = idx(0x803, {4, 3, 2}, pixels(4, 10));
             }) ==
             "DIR/train-images-idx3-ubyte: wrong image size\n"
             "  expected: 2 x 3 pixels\n"
             "  got:      3 x 2 pixels\n"
             "  hint:     is this another data set?");
  for (const uint32_t height : {2u, 3u}) {
    const std::string text = refusal([&](TinyFiles& f) {
      f.train_images = idx(0x803, {4, height, height}, pixels(4, 10));
    });
    BOOST_TEST(test::contains(text, "wrong image size"));
  }
}

// A published set has few labels, so that a file of a terabyte is none of its files.
BOOST_AUTO_TEST_CASE(files_much_larger_than_the_set_are_refused) {
  kb::IdxSpec published = kTiny;
  published.published = {4, 2};
  for (const char* name : {"train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}) {
    const TemporaryDirectory dir;
    TinyFiles().write(dir.path(), as_is, "");
    fs::resize_file(dir / name, uintmax_t{1} << 40);
    const std::string text = data_error(dir.path(), [&] { kb::load_idx_dataset(published, dir.path()); });
    BOOST_TEST(text.starts_with(std::string("DIR/") + name + ": larger than a file of this data set"), text);
  }
}

BOOST_AUTO_TEST_CASE(label_out_of_range) {
  BOOST_TEST(refusal([](TinyFiles& f) { f.train_labels.back() = 3; }) ==
             "DIR/train-labels-idx1-ubyte: label out of range\n"
             "  expected: 0 to 2\n"
             "  got:      3 for sample 3\n"
             "  hint:     is this another data set?");
}

BOOST_AUTO_TEST_CASE(empty_part) {
  BOOST_TEST(refusal([](TinyFiles& f) {
               f.test_images = idx(0x803, {0, 2, 3}, {});
             }) == "DIR/t10k-images-idx3-ubyte: the file is empty\n  expected: at least 1 sample\n  got:      0");
}

BOOST_AUTO_TEST_CASE(corrupt_gzip) {
  const TemporaryDirectory dir;
  TinyFiles().write(dir.path(), kb::test::gzip, ".gz");
  Bytes packed = kb::test::gzip(TinyFiles().train_labels);
  packed[packed.size() - 6] ^= 0x40;
  write_file(dir.path() / "train-labels-idx1-ubyte.gz", kb::test::text_of(packed));
  const std::string text = data_error(dir.path(), [&] { kb::load_idx_dataset(kTiny, dir.path()); });
  BOOST_TEST(text.starts_with("DIR/train-labels-idx1-ubyte.gz: the gzip file is truncated or corrupt\n"), text);
}

BOOST_AUTO_TEST_CASE(missing_data) {
  const TemporaryDirectory dir;
  const std::string looked =
      "tiny: train-images-idx3-ubyte is missing\n"
      "  expected: one of DIR/train-images-idx3-ubyte\n"
      "            DIR/train-images-idx3-ubyte.gz\n"
      "            DIR/tiny/train-images-idx3-ubyte\n"
      "            DIR/tiny/train-images-idx3-ubyte.gz\n";
  const std::string hint =
      "  hint:     fetch https://example.org/train-images-idx3-ubyte.gz (and the other three files) into that "
      "directory";
  BOOST_TEST(data_error(dir.path(), [&] { kb::load_idx_dataset(kTiny, dir.path()); }) ==
             looked + "  got:      none of them\n" + hint);
  BOOST_TEST(data_error(dir.path() / "no", [&] { kb::load_idx_dataset(kTiny, dir.path() / "no"); }) ==
             looked + "  got:      DIR is not a directory\n" + hint);
  // The hint for a published data set names the command that fetches it.
  kb::IdxSpec fetched = kTiny;
  fetched.is_fetched = true;
  const std::string text = data_error(dir.path(), [&] { kb::load_idx_dataset(fetched, dir.path()); });
  BOOST_TEST(text.ends_with("  hint:     ./run get tiny DIR fetches the set; by hand: " + hint.substr(12)), text);
  for (const char* name : {"mnist", "fashion-mnist", "cifar10"}) {
    const std::string none = data_error({}, [&] { kb::load_dataset(name, ""); });
    BOOST_TEST(
        test::contains(none, "  hint:     ./run get " + std::string(name) + " fetches the set; by hand: fetch http"));
  }
  BOOST_TEST(data_error({}, [&] { kb::load_idx_dataset(kTiny, ""); }) ==
             "tiny: no data directory was given\n"
             "  expected: the directory that holds train-images-idx3-ubyte[.gz]\n"
             "  got:      none\n" +
                 hint + " and name it: --data DIR, or the environment variable KB_DATA");
}

// A small file may unpack to gigabytes, so unpacking stops where the file is larger than the set can be.
BOOST_AUTO_TEST_CASE(what_unpacks_to_more_than_the_set_holds_is_refused) {
  kb::IdxSpec spec = kTiny;
  spec.published = {4, 2};
  const TemporaryDirectory dir;
  TinyFiles files;
  files.write(dir.path(), kb::test::gzip, ".gz");
  BOOST_TEST(kb::load_idx_dataset(spec, dir.path()).train.count() == 4);
  files.train_images = idx(0x803, {100'000'000, 2, 3}, Bytes(10'000, 0));
  files.write(dir.path(), kb::test::gzip, ".gz");
  const std::string bound = "larger than a file of this data set\n  expected: at most ";
  const auto load = [&] { kb::load_idx_dataset(spec, dir.path()); };
  BOOST_TEST(data_error(dir.path(), load) == "DIR/train-images-idx3-ubyte.gz: " + bound +
                                                 "88 bytes\n  got:      more, unpacked\n"
                                                 "  hint:     is this another file?");
  write_file(dir.path() / "variant.txt", "train 500\ntest 2\n");
  BOOST_TEST(test::contains(data_error(dir.path(), load), bound + "6040 bytes"));
  fs::remove(dir.path() / "variant.txt");
  BOOST_REQUIRE(::mkfifo((dir.path() / "variant.txt").c_str(), 0600) == 0);
  BOOST_TEST(data_error(dir.path(), load).starts_with("DIR/variant.txt: cannot be read\n"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace kb::idx_test
