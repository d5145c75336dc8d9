#include "data/sets/folder.h"

#include <sys/resource.h>

#include <boost/test/unit_test.hpp>

#include "data/sets/load_dataset.h"
#include "tests/data/files.h"
#include "tests/data/made_images.h"

namespace kb::folder_test {

namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    for (const char* part : {"train", "test"})
      for (const char* name : {"cat", "dog"}) write(fs::path(part) / name / "1.ppm", "P6\n2 1\n255\nabcdef");
  }
  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((dir() / path).parent_path());
    kb::test::write_file(dir() / path, text);
  }
  const fs::path& dir() const { return directory_.path(); }
  std::string error() const {
    return kb::test::data_error(dir(), [&] { kb::load_folder_dataset(dir()); });
  }

 private:
  kb::test::TemporaryDirectory directory_;
};

BOOST_AUTO_TEST_SUITE(data_folder)

BOOST_AUTO_TEST_CASE(classes_and_images_by_name) {
  Folder folder;
  folder.write("train/dog/0.ppm", "P6 # a comment\n# another\n2\t1 255 ABCDEF");
  folder.write("train/.hidden/x", "");
  folder.write("train/cat/.DS_Store", "");
  const kb::Dataset data = kb::load_dataset("folder", folder.dir());
  BOOST_TEST(data.class_names == (std::vector<std::string>{"cat", "dog"}));
  BOOST_CHECK((data.shape == kb::ImageShape{3, 1, 2}));
  BOOST_TEST(data.train.labels == (std::vector<int32_t>{0, 1, 1}));
  BOOST_TEST(std::string(data.train.pixels.begin(), data.train.pixels.end()) == "adbecfADBECFadbecf");
  BOOST_TEST(data.test.count() == 2);
  BOOST_TEST(data.statistics.mean.size() == 3u);
}

BOOST_AUTO_TEST_CASE(grey_images) {
  kb::test::TemporaryDirectory directory;
  for (const char* path : {"train/a", "train/b", "test/a", "test/b"}) {
    fs::create_directories(directory / path);
    kb::test::write_file(directory / path / "x.pgm", "P5 3 1 255\nxyz");
  }
  const kb::Dataset data = kb::load_folder_dataset(directory.path());
  BOOST_CHECK((data.shape == kb::ImageShape{1, 1, 3}));
  BOOST_TEST(std::string(data.test.pixels.begin(), data.test.pixels.end()) == "xyzxyz");
}

BOOST_AUTO_TEST_CASE(compressed_images) {
  kb::test::TemporaryDirectory directory;
  const kb::ImageSize size{5, 4};
  const std::vector<uint8_t> gray = kb::test::made_pixels(size, 1), colour = kb::test::made_pixels(size, 3);
  const auto load = [&](const kb::Bytes& file, const char* name) {
    for (const char* path : {"train/a", "train/b", "val/a", "val/b"}) {
      fs::remove_all(directory / path);
      fs::create_directories(directory / path);
      kb::test::write_file(directory / path / name, kb::test::text_of(file));
    }
    return kb::load_folder_dataset(directory.path());
  };
  const kb::Dataset gray_set = load(kb::test::png_file(gray, size, 1), "x.png");
  BOOST_CHECK((gray_set.shape == kb::ImageShape{1, 4, 5}));
  BOOST_TEST(std::vector<uint8_t>(gray_set.test.pixels.begin(), gray_set.test.pixels.begin() + 20) == gray);
  const kb::Dataset colour_set = load(kb::test::png_file(colour, size, 3), "x.png");
  BOOST_CHECK((colour_set.shape == kb::ImageShape{3, 4, 5}));
  for (size_t i = 0; i < 60; ++i) BOOST_REQUIRE(colour_set.train.pixels[i] == colour[3 * (i % 20) + i / 20]);
  const kb::Bytes jpeg = kb::test::jpeg_file(colour, size);
  const kb::Dataset photos = load(jpeg, "x.jpg");
  const std::vector<uint8_t> pixels = kb::test::decoded(jpeg);
  for (size_t i = 0; i < 60; ++i) BOOST_REQUIRE(photos.train.pixels[i] == pixels[3 * (i % 20) + i / 20]);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named) {
  std::string text;
  const auto refused = [&](const fs::path& path, const std::string& content) {
    Folder folder;
    folder.write(path, content);
    text += folder.error() + "\n\n";
  };
  refused("train/cat/2.jpg", "\xff\xd8\xff");
  refused("train/cat/2.ppm", "");
  refused("train/cat/2.ppm", "P6 2 x 255\nabcdef");
  refused("train/cat/2.ppm", "P6 2 1 65535\nabcdefabcdef");
  refused("train/cat/2.ppm", "P6 2 1 255\nabcde");
  refused("train/cat/2.ppm", "P6 2 1 255\nabcdefg");
  refused("test/dog/2.ppm", "P6 1 2 255\nabcdef");
  refused("train/dog/2.pgm", "P5 2 1 255\nab");
  refused("train/bird/1.ppm", "P6 2 1 255\nabcdef");
  Folder empty;
  fs::remove(empty.dir() / "test" / "dog" / "1.ppm");
  text += empty.error() + "\n\n";
  kb::test::golden("folder_errors.txt", text);
  BOOST_TEST(kb::test::data_error({}, [] { kb::load_folder_dataset(""); }) ==
             "data set folder: no folder was named\n  expected: DIR/train/CLASS/*.png and DIR/test/CLASS/*.png (or "
             ".jpg, .ppm, .pgm; val for test)\n  hint:     --data DIR");
}

// Cameras and desktops leave files such as Thumbs.db beside the images.
BOOST_AUTO_TEST_CASE(files_that_are_no_images_by_their_names_are_passed_over_and_told) {
  Folder folder;
  BOOST_TEST(kb::load_folder_dataset(folder.dir()).note == "");
  folder.write("train/cat/Thumbs.db", "x");
  BOOST_TEST(kb::load_folder_dataset(folder.dir()).note ==
             "NOTE: 1 file does not end in .jpg, .jpeg, .png, .ppm or .pgm and is passed over: " +
                 (folder.dir() / "train/cat/Thumbs.db").string());
  for (const char* name : {"train/readme.txt", "test/list", "test/dog/a.csv", "test/dog/b.csv"}) folder.write(name, "");
  folder.write("train/dog/2.PPM", "P6\n2 1\n255\nabcdef");
  const kb::Dataset set = kb::load_folder_dataset(folder.dir());
  BOOST_TEST(set.note.starts_with("NOTE: 5 files do not end in "), set.note);
  BOOST_TEST(set.note.ends_with(", ..."), set.note);
  BOOST_TEST(set.train.count() == 3);
  fs::rename(folder.dir() / "train/dog/1.ppm", folder.dir() / "train/dog/1.webp");
  fs::remove(folder.dir() / "train/dog/2.PPM");
  BOOST_TEST(folder.error().starts_with("DIR/train/dog: a class without images\n"));
  folder.write("train/dog/more/1.ppm", "P6\n2 1\n255\nabcdef");
  BOOST_TEST(folder.error().starts_with("DIR/train/dog/more: a folder within a class\n"));
}

BOOST_AUTO_TEST_CASE(a_folder_without_a_test_part) {
  const Folder folder;
  fs::remove_all(folder.dir() / "test");
  const kb::Dataset set = kb::load_folder_dataset(folder.dir());
  BOOST_TEST(set.train.count() == 2);
  BOOST_TEST(set.test.count() == 0);
}

// Returns the largest memory that the process has had so far, in megabytes.
int64_t peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1000;
}

// A file of 19 bytes that promises 5.8 GB of pixels takes no memory for them, and a terabyte after an image is not
// read.
BOOST_AUTO_TEST_CASE(no_memory_is_taken_for_what_is_not_there) {
  const int64_t before = peak_memory();
  Folder folder;
  folder.write("train/cat/2.ppm", "P6 44000 44000 255\n");
  BOOST_TEST(test::contains(folder.error(), "44000x44000 pixels: at most 180 million are decoded"));
  folder.write("train/cat/2.ppm", "P6 13000 13000 255\n");
  BOOST_TEST(test::contains(folder.error(), "is cut short: 0 bytes of pixels, expected 507000000"));
  folder.write("train/cat/2.ppm", "P6 2 1 255\nabcdef");
  fs::resize_file(folder.dir() / "train/cat/2.ppm", uintmax_t{1} << 40);
  BOOST_TEST(test::contains(folder.error(), "larger than any image"));
  BOOST_TEST(peak_memory() - before < 1000);
}

BOOST_AUTO_TEST_CASE(what_is_no_file_is_refused_by_name) {
  Folder folder;
  fs::create_directory(folder.dir() / "train/cat/2.ppm");
  BOOST_TEST(folder.error() ==
             "DIR/train/cat/2.ppm: cannot be read\n  expected: a readable file\n  got:      a folder");
  fs::remove(folder.dir() / "train/cat/2.ppm");
  fs::create_symlink("2.ppm", folder.dir() / "train/cat/2.ppm");
  BOOST_TEST(test::contains(folder.error(), "Too many levels of symbolic links"));
  fs::create_symlink("bird", folder.dir() / "train/bird");
  BOOST_TEST(folder.error().starts_with("DIR/train/bird: is not the folder of a class\n"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace kb::folder_test
