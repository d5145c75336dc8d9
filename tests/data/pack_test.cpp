#include "data/images/pack.h"

#include <fmt/format.h>

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>

#include "data/augment.h"
#include "data/error.h"
#include "data/image_files.h"
#include "data/whole_file.h"
#include "tests/data/image_folder.h"
#include "tests/support/few_threads.h"
#include "tests/support/file_faults.h"
#include "tests/support/support.h"

namespace kb::pack_test {

namespace {

namespace fs = std::filesystem;
using kb::Bytes, kb::Dataset, kb::PackForm, kb::PackStage, kb::PackWork;
using kb::test::ImageFolder, kb::test::pixels_of;

constexpr kb::AugmentSpec kAllOfIt{.resized_crop = true, .jitter = true, .lighting = true};

struct Stopped {};

std::string error_of(const fs::path& dir, const fs::path& pack) {
  return kb::test::data_error(dir, [&] { kb::open_pack(pack); });
}

BOOST_AUTO_TEST_SUITE(data_pack)

BOOST_AUTO_TEST_CASE(a_pack_has_the_bits_of_its_folder) {
  ImageFolder folder;
  folder.write("train/n01/2.JPEG", {1, 2, 3});  // an unreadable file, which is packed as it is
  const fs::path file = folder.dir() / "images.pack";
  const auto store = folder.open();
  const kb::test::Flushes flushes;
  {
    const kb::test::Stutter stutter(1000);
    BOOST_TEST(kb::write_pack(*store, file, {.threads = 2}) == 0);
  }
  BOOST_TEST(flushes.files() == 1);
  const auto pack = kb::open_image_store({file, {}, 1});
  const Dataset a = kb::image_set(store, 28), b = kb::image_set(pack, 28);
  BOOST_TEST(a.fingerprint == b.fingerprint);
  BOOST_TEST(a.train.labels == b.train.labels);
  for (int64_t sample = 0; sample < 8; ++sample)
    BOOST_TEST(pixels_of(a.train, sample, kAllOfIt) == pixels_of(b.train, sample, kAllOfIt));
  for (int64_t sample = 0; sample < 4; ++sample)
    BOOST_TEST(pixels_of(a.test, sample, {}) == pixels_of(b.test, sample, {}));
  BOOST_TEST(a.train.files->replaced() == b.train.files->replaced());
  BOOST_TEST(kb::verify_pack(*pack, 2).empty());
  BOOST_TEST(!fs::exists(file.string() + ".part"));
  BOOST_TEST(!fs::exists(file.string() + ".part.log"));
}

BOOST_AUTO_TEST_CASE(smaller_copies) {
  ImageFolder folder;
  const auto store = folder.open();
  const fs::path small = folder.dir() / "small.pack", raw = folder.dir() / "raw.pack";
  kb::write_pack(*store, small, {.form = {.side = 48}});
  kb::write_pack(*store, raw, {.form = {.side = 48, .raw = true}});
  const auto jpegs = kb::open_pack(small), pixels = kb::open_pack(raw);
  BOOST_TEST(jpegs->index().train[0].width == 40);  // smaller than that already
  BOOST_TEST(jpegs->index().train[2].width == 48);
  BOOST_TEST(pixels->index().train[3].height == 48);
  BOOST_TEST(pixels->index().train[3].width == 59);  // 61 x 48 / 49
  BOOST_TEST(pixels->index().train[3].bytes == 16u + 3 * 48 * 59);
  BOOST_TEST(pixels->index().train[0].bytes == 16u + 3 * 40 * 64);
  Bytes memory;
  const auto copy = jpegs->file(jpegs->index().train[0], memory);
  BOOST_TEST(kb::test::read_file(folder.dir() / "train/n01/0.jpg") == std::string(copy.begin(), copy.end()));
  const std::vector<std::string> prints{kb::image_set(store, 28).fingerprint, kb::image_set(jpegs, 28).fingerprint,
                                        kb::image_set(pixels, 28).fingerprint};
  BOOST_TEST((prints[0] != prints[1] && prints[1] != prints[2] && prints[0] != prints[2]));
  // The pixels of a raw pack are the image as Pillow would resize it, which the evaluated centre of the same side
  // shows.
  const std::vector<uint8_t> a = pixels_of(kb::image_set(store, 42).train, 3, {});
  const std::vector<uint8_t> b = pixels_of(kb::image_set(pixels, 42).train, 3, {});
  BOOST_TEST(a == b);
}

BOOST_AUTO_TEST_CASE(a_stopped_pack_goes_on) {
  ImageFolder folder;
  for (int i = 10; i < 160; ++i)
    fs::copy(folder.dir() / "train/n01/0.jpg", folder.dir() / ("train/n01/" + std::to_string(i) + ".jpg"));
  const auto store = folder.open();
  const fs::path whole = folder.dir() / "whole.pack", file = folder.dir() / "images.pack",
                 part = file.string() + ".part";
  kb::write_pack(*store, whole, {});
  const auto stop = [](PackStage stage, int64_t images, int64_t, uint64_t) {
    if (stage == PackStage::write && images >= 100) throw Stopped();
  };
  BOOST_CHECK_THROW(kb::write_pack(*store, file, {.progress = stop}), Stopped);
  BOOST_TEST(!fs::exists(file));
  BOOST_CHECK_THROW(kb::write_pack(*store, file, {.progress = stop}), Stopped);  // before its first new image
  // The program may have stopped while it wrote an image.
  std::ofstream(part, std::ios::app) << "half an image";
  BOOST_TEST(kb::write_pack(*store, file, {}) == 128);
  BOOST_TEST(kb::test::read_file(file) == kb::test::read_file(whole));
  // If an image in the unfinished file is damaged, the file is written anew from there on.
  fs::remove(file);
  BOOST_CHECK_THROW(kb::write_pack(*store, file, {.progress = stop}), Stopped);
  std::string bytes = kb::test::read_file(part);
  bytes[64 + store->index().train[0].bytes + 10] ^= 1;
  kb::test::write_file(part, bytes);
  BOOST_TEST(kb::write_pack(*store, file, {}) == 1);
  BOOST_TEST(kb::test::read_file(file) == kb::test::read_file(whole));
  // A pack of another form begins anew.
  fs::remove(file);
  BOOST_CHECK_THROW(kb::write_pack(*store, file, {.form = {.side = 32}, .progress = stop}), Stopped);
  BOOST_TEST(kb::write_pack(*store, file, {}) == 0);
  BOOST_TEST(kb::test::read_file(file) == kb::test::read_file(whole));
}

// A part that an earlier start has left is taken for the same images and the same form alone, as far as it is whole.
BOOST_AUTO_TEST_CASE(what_is_left_of_another_pack_is_not_taken) {
  ImageFolder folder;
  const fs::path file = folder.dir() / "images.pack", part = file.string() + ".part";
  const auto stop = [](PackStage stage, int64_t images, int64_t of, uint64_t) {
    if (stage == PackStage::write && images == of) throw Stopped();
  };
  const auto taken = [&](
                         const PackForm& left, const PackForm& form, const std::function<void()>& change = [] {}) {
    for (const char* end : {"", ".part", ".part.log"}) fs::remove(file.string() + end);
    BOOST_CHECK_THROW(kb::write_pack(*folder.open(), file, {.form = left, .progress = stop}), Stopped);
    change();
    const int64_t count = kb::write_pack(*folder.open(), file, {.form = form});
    BOOST_TEST(kb::verify_pack(*kb::open_pack(file)).empty());
    return count;
  };
  const PackForm small{.side = 32};
  BOOST_TEST(taken(small, small) == 12);
  BOOST_TEST(taken(small, {.side = 33}) == 0);
  BOOST_TEST(taken(small, {.side = 32, .quality = 80}) == 0);
  BOOST_TEST(taken(small, {.side = 32, .raw = true}) == 0);
  BOOST_TEST(taken(small, small, [&] { fs::resize_file(part, fs::file_size(part) - 1); }) == 11);
  BOOST_TEST(taken(small, small, [&] { fs::resize_file(part, 10); }) == 0);
  BOOST_TEST(taken(small, small, [&] {
               fs::last_write_time(folder.dir() / "val/n02/5.jpg", fs::file_time_type::clock::now());
             }) == 0);
}

// Another program may write a pack with right checksums whose places lead outside.
BOOST_AUTO_TEST_CASE(places_outside_of_a_pack_are_refused) {
  ImageFolder folder;
  const fs::path file = folder.dir() / "images.pack";
  kb::write_pack(*folder.open(), file, {});
  const std::string good = kb::test::read_file(file);
  const kb::ImageIndex index = kb::open_pack(file)->index();
  const size_t index_at = good.size() - kb::index_bytes(index).size();
  const std::function<void(kb::ImageEntry&)> changes[] = {[](kb::ImageEntry& entry) { entry.at = 63; },
                                                          [&](kb::ImageEntry& entry) { entry.at = index_at + 1; },
                                                          [&](kb::ImageEntry& entry) { entry.bytes = index_at; }};
  for (const auto& change : changes) {
    kb::ImageIndex changed = index;
    change(changed.test[1]);
    kb::test::write_file(file, good.substr(0, index_at) + std::string(kb::test::text_of(kb::index_bytes(changed))));
    BOOST_TEST(error_of(folder.dir(), file)
                   .starts_with(fmt::format(
                       "DIR/images.pack: the pack is damaged\n  expected: images between bytes 64 and {}", index_at)));
  }
  std::string beyond = good;
  const uint64_t header[] = {good.size() + 10, static_cast<uint64_t>(-10)};  // place of the index, and its bytes
  std::memcpy(beyond.data() + 8, header, sizeof header);
  kb::test::write_file(file, beyond);
  BOOST_TEST(error_of(folder.dir(), file).starts_with("DIR/images.pack: the pack is damaged\n  expected: an index of"));
}

BOOST_AUTO_TEST_CASE(damage_of_a_pack_is_found) {
  ImageFolder folder;
  const fs::path file = folder.dir() / "images.pack";
  kb::write_pack(*folder.open(), file, {});
  const std::string good = kb::test::read_file(file);
  std::string bytes = good;
  bytes[64 + 20] ^= 1;
  kb::test::write_file(file, bytes);
  BOOST_TEST(kb::verify_pack(*kb::open_pack(file)) == std::vector<std::string>{"train/n01/0.jpg"});
  std::string text;
  const auto refused = [&](const std::string& content) {
    kb::test::write_file(file, content);
    text += error_of(folder.dir(), file) + "\n\n";
  };
  refused("");
  refused("kbpack1");
  refused(std::string(100, 'x'));
  for (const std::string& other : {good.substr(0, good.size() - 1), good + "x"}) {
    kb::test::write_file(file, other);
    const std::string said = error_of(folder.dir(), file);
    BOOST_TEST(said.starts_with("DIR/images.pack: the pack is damaged\n  expected: an index of "));
    BOOST_TEST(test::contains(said, "a file of " + std::to_string(other.size()) + " bytes"));
  }
  bytes = good;
  bytes[good.size() - 100] ^= 1;
  const std::string got = (kb::test::write_file(file, bytes), error_of(folder.dir(), file));
  BOOST_TEST(got.starts_with("DIR/images.pack: the index of images is damaged\n  expected: checksum "));
  BOOST_TEST(error_of(folder.dir(), folder.dir()).starts_with("DIR: cannot be read"));
  kb::test::golden("pack_errors.txt", text);
}

// If another program cuts a mapped file short, reading past its new end raises a signal, which would end the process.
BOOST_AUTO_TEST_CASE(a_pack_that_shrinks_while_it_is_read_is_named) {
  ImageFolder folder;
  const fs::path file = folder.dir() / "images.pack";
  kb::write_pack(*folder.open(), file, {});
  const Dataset set = kb::image_set(kb::open_pack(file), 28);
  const std::vector<uint8_t> before = pixels_of(set.train, 0, {});
  const uintmax_t size = fs::file_size(file);
  fs::resize_file(file, 100);
  const std::string said = kb::test::data_error(folder.dir(), [&] { pixels_of(set.train, 0, {}); });
  BOOST_TEST(said.starts_with("DIR/images.pack: cannot be read to its end\n"), said);
  BOOST_TEST(said.ends_with(fmt::format("it had {} bytes when it was opened: another program has cut it short or is "
                                        "writing it anew",
                                        size)),
             said);
  BOOST_TEST(set.train.files->replaced().empty());
}

// The pack must be written and verified by one thread if the system makes no more threads.
BOOST_AUTO_TEST_CASE(a_pack_is_verified_where_no_thread_can_be_made) {
  ImageFolder folder;
  for (int i = 10; i < 160; ++i)
    fs::copy(folder.dir() / "train/n01/0.jpg", folder.dir() / ("train/n01/" + std::to_string(i) + ".jpg"));
  const fs::path file = folder.dir() / "images.pack";
  const auto store = folder.open();
  const kb::test::FewThreads none(0);
  kb::write_pack(*store, file, {.threads = 3});
  BOOST_TEST(kb::verify_pack(*kb::open_pack(file), 3).empty());
}

// A writer has the files for itself from its first call of `progress` on, while it still confirms what an earlier start
// has written.
BOOST_AUTO_TEST_CASE(two_writers_of_one_pack) {
  ImageFolder folder;
  const fs::path file = folder.dir() / "images.pack", whole = folder.dir() / "whole.pack";
  const auto store = folder.open();
  kb::write_pack(*store, whole, {});
  const auto stop = [](PackStage, int64_t images, int64_t of, uint64_t) {
    if (images == of) throw Stopped();
  };
  BOOST_CHECK_THROW(kb::write_pack(*store, file, {.progress = stop}), Stopped);
  std::vector<PackStage> stages;
  const auto write_too = [&](PackStage stage, int64_t, int64_t, uint64_t) {
    stages.push_back(stage);
    const std::string second = kb::test::data_error(folder.dir(), [&] { kb::write_pack(*store, file, {}); });
    BOOST_TEST(second == "DIR/images.pack.part: cannot be written\n  got:      another process writes it");
  };
  BOOST_TEST(kb::write_pack(*store, file, {.progress = write_too}) == 12);
  BOOST_TEST((stages == std::vector{PackStage::confirm, PackStage::write}));
  BOOST_TEST(kb::test::read_file(file) == kb::test::read_file(whole));
}

// However two writers meet, the pack that they leave is whole.
BOOST_AUTO_TEST_CASE(writers_that_overtake_each_other) {
  ImageFolder folder;
  const fs::path file = folder.dir() / "images.pack", whole = folder.dir() / "whole.pack";
  const auto store = folder.open();
  kb::write_pack(*store, whole, {});
  const std::string expected = kb::test::read_file(whole);
  const auto write_often = [&] {
    for (int i = 0; i < 40; ++i) {
      try {
        kb::write_pack(*store, file, {});
      } catch (const kb::DataError&) {  // the other writer is at it
      }
    }
  };
  std::future<void> other = std::async(std::launch::async, write_often);
  write_often();
  other.get();
  kb::write_pack(*store, file, {});
  BOOST_TEST(kb::test::read_file(file) == expected);
}

// Packing may take hours, after which the pack could not be given the name of a folder.
BOOST_AUTO_TEST_CASE(a_folder_is_no_name_for_a_pack) {
  ImageFolder folder;
  const fs::path to = folder.dir() / "packs";
  fs::create_directory(to);
  int64_t told = 0;
  const auto count = [&](PackStage, int64_t, int64_t, uint64_t) { ++told; };
  BOOST_TEST(kb::test::data_error(folder.dir(), [&] { kb::write_pack(*folder.open(), to, {.progress = count}); }) ==
             "DIR/packs: cannot be written\n  expected: the name of a file\n  got:      a folder\n"
             "  hint:     DIR/packs/images.pack");
  BOOST_TEST(told == 0);
  BOOST_TEST(!fs::exists(to.string() + ".part"));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_shorter_than_what_is_kept) {
  ImageFolder folder;
  const fs::path path = folder.dir() / "part";
  kb::test::write_file(path, "12345");
  const std::string refused = kb::test::data_error(folder.dir(), [&] { kb::GrowingFile(path).keep(6); });
  BOOST_TEST(refused == "DIR/part: cannot be written\n  got:      it has 5 bytes of 6 that were there");
  kb::GrowingFile(path).keep(3);
  BOOST_TEST(kb::test::read_file(path) == "123");
}

// A killed process that had this one's number may have left a temporary file.
BOOST_AUTO_TEST_CASE(a_whole_file_is_on_the_disk_and_as_long_as_its_bytes) {
  ImageFolder folder;
  const fs::path path = folder.dir() / "whole";
  kb::test::write_file(path.string() + fmt::format(".{}.tmp", ::getpid()), "left by a killed process");
  const kb::test::Flushes flushes;
  kb::write_whole_file(path, Bytes{'n', 'e', 'w'});
  BOOST_TEST(kb::test::read_file(path) == "new");
  BOOST_TEST(flushes.files() == 1);
}

// A class is found by bisection, which would read beyond the list if labels did not ascend.
BOOST_AUTO_TEST_CASE(labels_of_an_index_ascend) {
  ImageFolder folder;
  kb::ImageIndex index = kb::list_images(folder.dir());
  std::swap(index.train.front(), index.train.back());
  const std::string refused =
      kb::test::data_error(folder.dir(), [&] { kb::parse_index(kb::index_bytes(index), "index"); });
  BOOST_TEST(refused ==
             "index: the index of images is damaged\n  expected: labels that ascend from image to image\n"
             "  got:      0 behind 1");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace kb::pack_test
