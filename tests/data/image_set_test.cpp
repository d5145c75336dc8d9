#include "data/images/image_set.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <fstream>
#include <functional>

#include "data/augment.h"
#include "data/class_folders.h"
#include "data/content_hash.h"
#include "data/image_files.h"
#include "data/images/open_image.h"
#include "data/images/pack.h"
#include "data/images/view.h"
#include "data/loader.h"
#include "tests/data/image_folder.h"

namespace kb::image_set_test {

namespace {

namespace fs = std::filesystem;
using kb::Bytes, kb::Dataset, kb::ImageIndex;
using kb::test::ImageFolder, kb::test::pixels_of;

constexpr kb::AugmentSpec kEveryChange{.resized_crop = true, .jitter = true, .lighting = true};

std::vector<std::string> names_of(const ImageIndex& index, const std::vector<kb::ImageEntry>& part) {
  std::vector<std::string> names;
  for (const kb::ImageEntry& entry : part)
    names.push_back(std::string(index.name(entry)) + " " + std::to_string(entry.width) + "x" +
                    std::to_string(entry.height) + " " + std::to_string(entry.label));
  return names;
}

BOOST_AUTO_TEST_SUITE(data_image_set)

BOOST_AUTO_TEST_CASE(samples_stand_by_class_and_name) {
  ImageFolder folder;
  folder.write("train/n02/.hidden", {});
  const auto store = folder.open();
  const ImageIndex& index = store->index();
  BOOST_TEST(index.classes == (std::vector<std::string>{"n01", "n02"}));
  const std::vector<std::string> train{
      "train/n01/0.jpg 40x64 0", "train/n01/1.png 47x59 0", "train/n01/2.JPEG 54x54 0", "train/n01/3.jpg 61x49 0",
      "train/n02/0.jpg 40x64 1", "train/n02/1.png 47x59 1", "train/n02/2.JPEG 54x54 1", "train/n02/3.jpg 61x49 1"};
  BOOST_TEST(names_of(index, index.train) == train);
  BOOST_TEST(names_of(index, index.test).front() == "val/n01/4.jpg 68x44 0");
  const Dataset set = kb::image_set(store, 32);
  BOOST_CHECK((set.shape == kb::ImageShape{3, 32, 32}));
  BOOST_TEST(set.train.labels == (std::vector<int32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  BOOST_TEST(set.test.count() == 4);
  BOOST_TEST(set.class_count() == 2);
  BOOST_TEST(set.fingerprint.size() == 16u);
}

BOOST_AUTO_TEST_CASE(a_folder_of_another_name_for_tests_and_one_above) {
  ImageFolder folder;
  fs::rename(folder.dir() / "val", folder.dir() / "test");
  BOOST_TEST(folder.open()->index().test.size() == 4u);
  kb::test::TemporaryDirectory above;
  fs::create_directory_symlink(folder.dir(), above / "imagenet");
  BOOST_TEST(kb::has_image_set(above.path()));
  BOOST_TEST(kb::open_image_store({above.path(), {}, 1})->index().train.size() == 8u);
  BOOST_TEST(!kb::has_image_set(above / "nothing"));
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named) {
  std::string text;
  const auto refused = [&](const auto& change) {
    ImageFolder folder;
    change(folder);
    text += kb::test::data_error(folder.dir(), [&] { folder.open(); }) + "\n\n";
  };
  refused([](const ImageFolder& f) { fs::remove_all(f.dir() / "train"); });
  refused([](const ImageFolder& f) { fs::remove_all(f.dir() / "train/n01"); });
  refused([](const ImageFolder& f) { fs::create_directory(f.dir() / "train/n03"); });
  refused([](const ImageFolder& f) { f.write("val/n03/1.jpg", {}); });
  refused([](const ImageFolder& f) { fs::create_directory(f.dir() / "train/n01/more"); });
  refused([](const ImageFolder& f) { fs::resize_file(f.dir() / "val/n02/5.jpg", uintmax_t{1} << 40); });  // a hole
  text += kb::test::data_error({}, [] { kb::open_image_store({}); });
  kb::test::golden("image_set_errors.txt", text);
}

BOOST_AUTO_TEST_CASE(sizes_are_read_once) {
  ImageFolder folder;
  kb::test::TemporaryDirectory cache;
  const fs::path below = cache / "made/here";
  const auto width = [&] { return kb::index_of_folder(folder.dir(), below, 2).train[0].width; };
  BOOST_TEST(width() == 40);
  const fs::path kept = fs::directory_iterator(below)->path();
  // The sizes in the cache are taken as long as no file has changed.
  ImageIndex index = kb::index_of_folder(folder.dir(), below, 1);
  index.train[0].width = 41;
  kb::test::write_file(kept, kb::test::text_of(kb::index_bytes(index)));
  BOOST_TEST(width() == 41);
  fs::last_write_time(folder.dir() / "train/n02/1.png", fs::file_time_type::clock::now() + std::chrono::hours(1));
  BOOST_TEST(width() == 40);
  // A change within the same second, or of the length alone, is seen too.
  const fs::path other = folder.dir() / "train/n02/1.png";
  const auto keep_wrong_width = [&] {
    index = kb::index_of_folder(folder.dir(), below, 1);
    index.train[0].width = 41;
    kb::test::write_file(kept, kb::test::text_of(kb::index_bytes(index)));
    BOOST_TEST(width() == 41);
  };
  keep_wrong_width();
  const fs::file_time_type time = fs::last_write_time(other) + std::chrono::nanoseconds(1);
  fs::last_write_time(other, time);
  BOOST_TEST(width() == 40);
  keep_wrong_width();
  std::ofstream(other, std::ios::app) << "x";
  fs::last_write_time(other, time);
  BOOST_TEST(width() == 40);
  // A damaged cache is made again.
  std::string bytes = kb::test::read_file(kept);
  bytes[bytes.size() / 2] ^= 1;
  kb::test::write_file(kept, bytes);
  BOOST_TEST(width() == 40);
  BOOST_TEST(kb::test::read_file(kept) != bytes);
  // If the cache cannot be written, the sizes are read every time.
  kb::test::write_file(cache / "file", "");
  BOOST_TEST(kb::index_of_folder(folder.dir(), cache / "file", 1).train[0].width == 40);
}

BOOST_AUTO_TEST_CASE(every_damage_of_an_index_is_found) {
  ImageFolder folder;
  const Bytes bytes = kb::index_bytes(folder.open()->index());
  BOOST_TEST(kb::parse_index(bytes, "index").train.size() == 8u);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    Bytes other = bytes;
    other[i] ^= 0x10;
    BOOST_REQUIRE_THROW(kb::parse_index(other, "index"), kb::DataError);
    BOOST_REQUIRE_THROW(kb::parse_index(std::span(bytes).first(i), "index"), kb::DataError);
  }
}

// A pack of another program may have a right checksum, and an index that does not fit together.
BOOST_AUTO_TEST_CASE(an_index_that_does_not_fit_together_is_refused) {
  ImageFolder folder;
  const ImageIndex good = folder.open()->index();
  const auto refusal = [](const Bytes& bytes) {
    const std::string text = kb::test::data_error({}, [&] { kb::parse_index(bytes, "index"); });
    return text.substr(0, text.find('\n', text.find('\n') + 1));
  };
  const std::pair<std::function<void(ImageIndex&)>, std::string> changes[] = {
      {[](ImageIndex& index) { index.train[1].name = index.names.size() + 1; }, "a name within the names"},
      {[](ImageIndex& index) { index.train[1].name_bytes = 10000; }, "a name within the names"},
      {[](ImageIndex& index) { index.train[0].label = -1; }, "labels below 2"},
      {[](ImageIndex& index) { index.test.back().label = 2; }, "labels below 2"},
      {[](ImageIndex& index) { index.test[0].spare = 1; }, "sides of 16 bits"},
      {[](ImageIndex& index) { index.train.clear(); }, "classes and training images"},
      {[](ImageIndex& index) {
         index.classes.pop_back();
         for (std::vector<kb::ImageEntry>* part : index.parts())
           for (kb::ImageEntry& entry : *part) entry.label = 0;
       },
       "classes and training images"}};
  for (const auto& [change, expected] : changes) {
    ImageIndex index = good;
    change(index);
    BOOST_TEST(refusal(kb::index_bytes(index)) == "index: the index of images is damaged\n  expected: " + expected);
  }
  // The words of the header: magic, stamp, and the numbers of classes, training and test images, and bytes of names.
  const auto changed = [&](size_t word, uint64_t value, size_t more) {
    Bytes bytes = kb::index_bytes(good);
    bytes.resize(bytes.size() - sizeof(uint64_t));
    std::memcpy(bytes.data() + word * sizeof value, &value, sizeof value);
    bytes.insert(bytes.end(), more, uint8_t{0});
    const uint64_t sum = kb::content_hash(0, bytes.data(), bytes.size());
    const auto* begin = reinterpret_cast<const uint8_t*>(&sum);
    bytes.insert(bytes.end(), begin, begin + sizeof sum);
    return refusal(bytes);
  };
  const std::string damaged = "index: the index of images is damaged\n  expected: ";
  BOOST_TEST(changed(0, 1, 0) == damaged + "an index of this version");
  BOOST_TEST(changed(2, uint64_t{1} << 40, 0).ends_with(" bytes more"));
  BOOST_TEST(changed(3, uint64_t{1} << 60, 0) == damaged + "1152921504606846976 images");
  BOOST_TEST(changed(5, uint64_t{1} << 60, 0) == damaged + "1152921504606846976 bytes more");
  BOOST_TEST(changed(1, 1, 3) == damaged + "the end of the index");
}

BOOST_AUTO_TEST_CASE(evaluated_images_are_the_centre) {
  ImageFolder folder;
  const Dataset set = kb::image_set(folder.open(), 28);
  const auto text = kb::test::read_file(folder.dir() / "train/n01/0.jpg");
  const Bytes file(text.begin(), text.end());
  kb::Resampler resampler;
  std::vector<uint8_t> expected(3 * 28 * 28);
  kb::render(*kb::open_image(file), kb::centre_view({40, 64}, 28), resampler, expected);
  BOOST_TEST(pixels_of(set.train, 0, {}) == expected);
  BOOST_TEST(pixels_of(set.train, 0, {}, 2, 5) == expected);
}

BOOST_AUTO_TEST_CASE(a_sample_is_a_function_of_seed_and_epoch) {
  ImageFolder folder;
  const Dataset set = kb::image_set(folder.open(), 28);
  const kb::AugmentSpec specs[] = {{.resized_crop = true}, {.jitter = true}, {.lighting = true}, kEveryChange};
  for (const kb::AugmentSpec& spec : specs) {
    const std::vector<uint8_t> first = pixels_of(set.train, 3, spec, 7, 2);
    BOOST_TEST(pixels_of(set.train, 3, spec, 7, 2) == first);
    BOOST_TEST(pixels_of(set.train, 3, spec, 8, 2) != first);
    BOOST_TEST(pixels_of(set.train, 3, spec, 7, 3) != first);
  }
}

// Any split of the rows over processes and any number of threads gives the same bytes.
BOOST_AUTO_TEST_CASE(any_split_of_a_minibatch_has_the_same_bytes) {
  ImageFolder folder;
  const Dataset set = kb::image_set(folder.open(), 20);
  const kb::Order order = kb::Order::training(3, set.train.count(), 4);
  const size_t image = 3 * 20 * 20;
  kb::Augmentation augmentation{.spec = kEveryChange, .seed = 3};
  augmentation.spec.flip = true;
  const auto rows = [&](int64_t step, int64_t first, size_t count, bool in_loader) {
    augmentation.in_loader = in_loader;
    std::vector<uint8_t> pixels(count * image);
    std::vector<float> weights(count);
    kb::gather_rows(set.train, order, first, augmentation)(step, {pixels, {}, weights});
    return pixels;
  };
  for (int64_t step = 0; step < 5; ++step) {
    const std::vector<uint8_t> whole = rows(step, 0, 4, false);
    std::vector<uint8_t> parts = rows(step, 0, 1, false);
    for (const auto& [first, count] : {std::pair<int64_t, size_t>{1, 2}, {3, 1}}) {
      const std::vector<uint8_t> part = rows(step, first, count, false);
      parts.insert(parts.end(), part.begin(), part.end());
    }
    BOOST_TEST(parts == whole);
    const std::vector<uint8_t> last =
        pixels_of(set.train, order.row(step, 3).sample, kEveryChange, 3, order.epoch(step));
    BOOST_TEST(std::equal(last.begin(), last.end(), whole.begin() + 3 * image));
    // The loader's own flip is the flip of the augmentation record.
    const std::vector<uint8_t> flipped = rows(step, 0, 4, true);
    for (size_t row = 0; row < 4; ++row) {
      const int64_t sample = order.row(step, static_cast<int64_t>(row)).sample;
      std::vector<uint8_t> expected(image);
      kb::augment_image(kb::augment_record(augmentation.spec, set.shape, 3, order.epoch(step), sample), set.shape, {},
                        std::span(whole).subspan(row * image, image), expected);
      BOOST_TEST(std::equal(expected.begin(), expected.end(), flipped.begin() + row * image));
    }
  }
}

BOOST_AUTO_TEST_CASE(an_unreadable_image_is_replaced_by_the_next_of_its_class) {
  ImageFolder folder;
  const auto text = kb::test::read_file(folder.dir() / "train/n01/3.jpg");
  folder.write("train/n01/3.jpg", Bytes(text.begin(), text.begin() + 400));
  folder.write("train/n02/1.png", {});
  folder.write("train/n02/2.JPEG", Bytes{'G', 'I', 'F'});
  const Dataset set = kb::image_set(folder.open(), 28);
  BOOST_TEST(set.train.count() == 8);
  BOOST_TEST(set.train.files->replaced().empty());
  // After the last image of a class comes its first.
  BOOST_TEST(pixels_of(set.train, 3, {}) == pixels_of(set.train, 0, {}));
  BOOST_TEST(pixels_of(set.train, 5, {}) == pixels_of(set.train, 7, {}));
  // The other image is seen with the draws of the sample that it stands for.
  const std::vector<uint8_t> seen = pixels_of(set.train, 5, kEveryChange);
  BOOST_TEST(seen != pixels_of(set.train, 7, kEveryChange));
  fs::copy_file(folder.dir() / "train/n02/3.jpg", folder.dir() / "train/n02/1.png",
                fs::copy_options::overwrite_existing);
  BOOST_TEST(pixels_of(set.train, 5, kEveryChange) == seen);
  folder.write("train/n02/1.png", {});
  const std::vector<std::string> expected{"train/n01/3.jpg: Premature end of JPEG file",
                                          "train/n02/1.png: an empty file",
                                          "train/n02/2.JPEG: neither JPEG, PNG nor binary PNM"};
  BOOST_TEST(set.train.files->replaced() == expected);
  BOOST_TEST(set.test.files->replaced().empty());
  for (const char* name : {"train/n02/0.jpg", "train/n02/3.jpg"}) folder.write(name, {});
  BOOST_TEST(kb::test::data_error({}, [&] { pixels_of(set.train, 4, {}); }) ==
             "train/n02/0.jpg: no image of its class can be decoded\n  expected: one of 4\n  got:      none");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_gone_stops_the_run) {
  ImageFolder folder;
  const Dataset set = kb::image_set(folder.open(), 28);
  fs::remove(folder.dir() / "train/n01/0.jpg");
  BOOST_TEST(kb::test::data_error(folder.dir(), [&] { pixels_of(set.train, 0, {}); }) ==
             "DIR/train/n01/0.jpg: cannot be read\n  expected: a readable file\n  got:      No such file or directory");
}

BOOST_AUTO_TEST_CASE(photographs_of_ten_classes) {
  const auto folder = kb::test::data_dir("imagenette2-224");
  if (!folder) return;
  const auto store = kb::open_image_store({*folder, {}, 2});
  BOOST_TEST(store->index().classes.size() == 10u);
  const Dataset set = kb::image_set(store, 224);
  BOOST_TEST(set.train.count() == 800);
  BOOST_TEST(set.test.count() == 200);
  for (const int64_t sample : {0, 399, 799}) BOOST_TEST(pixels_of(set.train, sample, kEveryChange).size() == 150528u);
  BOOST_TEST(set.train.files->replaced().empty());
}

// Every set in folders is tested on `test` if that folder holds classes, else on `val`.
BOOST_AUTO_TEST_CASE(the_part_that_is_tested_on) {
  ImageFolder folder;
  const auto tested = [&] {
    const ImageIndex index = kb::list_images(folder.dir());
    return std::string(index.name(index.test[0])).substr(0, 5);
  };
  BOOST_TEST(kb::test_part(folder.dir()) == "val");
  folder.write("test/ILSVRC2012_test_00000001.JPEG", {});  // ImageNet's published test part has no labels
  BOOST_TEST(tested() == "val/n");
  fs::remove_all(folder.dir() / "test");
  fs::rename(folder.dir() / "val", folder.dir() / "away");
  fs::create_directory(folder.dir() / "val");
  BOOST_TEST(
      kb::test::data_error(folder.dir(), [&] { kb::list_images(folder.dir()); }).starts_with("DIR/val: no images"));
  fs::remove(folder.dir() / "val");
  fs::rename(folder.dir() / "away", folder.dir() / "val");
  fs::create_directory(folder.dir() / "val/n01/d.jpg");
  BOOST_TEST(kb::test::data_error(folder.dir(), [&] {
               kb::list_images(folder.dir());
             }).starts_with("DIR/val/n01/d.jpg: is not an image that is read here"));
  fs::remove(folder.dir() / "val/n01/d.jpg");
  fs::create_directories(folder.dir() / "test");
  fs::copy(folder.dir() / "val", folder.dir() / "test", fs::copy_options::recursive);
  BOOST_TEST(tested() == "test/");
  fs::remove_all(folder.dir() / "test");
  fs::remove_all(folder.dir() / "val");
  BOOST_TEST(kb::test_part(folder.dir()) == "");
  BOOST_TEST(folder.open()->index().test.empty());
  BOOST_TEST(kb::image_set(folder.open(), 28).test.count() == 0);
  BOOST_TEST(kb::parse_index(kb::index_bytes(folder.open()->index()), "index").train.size() == 8u);
}

BOOST_AUTO_TEST_CASE(files_that_are_no_images_by_their_names_are_told) {
  ImageFolder folder;
  const kb::test::TemporaryDirectory cache;
  folder.write("train/n01/notes.txt", {});
  folder.write("train/list.txt", {});
  for (int start = 0; start < 2; ++start) {  // the second takes the cached index
    const Dataset set = kb::image_set(kb::open_image_store({folder.dir(), cache.path(), 1}), 28);
    BOOST_TEST(set.note.starts_with("NOTE: 2 files do not end in .jpg, .jpeg, .png, .ppm or .pgm"), set.note);
    BOOST_TEST(set.train.count() == 8);
  }
}

BOOST_AUTO_TEST_CASE(three_files_passed_over_are_named) {
  BOOST_TEST(kb::passed_over_note({"a", "b", "c"}).ends_with("are passed over: a, b, c"));
  BOOST_TEST(kb::passed_over_note({"a", "b", "c", "d"}).ends_with("are passed over: a, b, c, ..."));
}

BOOST_AUTO_TEST_CASE(what_the_largest_image_takes_as_a_whole_is_known) {
  ImageFolder folder;
  BOOST_TEST(kb::image_set(folder.open(), 28).train.files->held_bytes() == 0);
  const kb::ImageSize size{30, 20};
  folder.write("train/n01/7.png", kb::test::png_file(kb::test::made_pixels(size, 3), size, 3, true));
  const auto store = folder.open();
  BOOST_TEST(kb::image_set(store, 28).train.files->held_bytes() == 4 * 30 * 20);
  BOOST_TEST(kb::image_set(store, 28).test.files->held_bytes() == 0);
  kb::write_pack(*store, folder.dir() / "images.pack", {});
  BOOST_TEST(kb::image_set(kb::open_pack(folder.dir() / "images.pack"), 28).train.files->held_bytes() == 4 * 30 * 20);
  kb::write_pack(*store, folder.dir() / "small.pack", {.form = {.side = 16}});  // copies are decoded row by row
  BOOST_TEST(kb::image_set(kb::open_pack(folder.dir() / "small.pack"), 28).train.files->held_bytes() == 0);
}

// A JPEG holds whole blocks of 8 x 8 coefficients: a row of 100 pixels takes 13 + 7 + 7 blocks of 128 bytes.
BOOST_AUTO_TEST_CASE(a_narrow_image_may_hold_many_bytes_a_pixel) {
  ImageFolder folder;
  const kb::ImageSize size{100, 1};
  folder.write("train/n01/7.jpg", kb::test::jpeg_file(kb::test::made_pixels(size, 3), size, {.progressive = true}));
  const auto store = folder.open();
  const ImageIndex index = kb::parse_index(kb::index_bytes(store->index()), "index");
  BOOST_TEST(kb::held_bytes(index.train[4]) == 3500);  // rounded up to a multiple of the pixels
  kb::write_pack(*store, folder.dir() / "images.pack", {});
  BOOST_TEST(kb::image_set(kb::open_pack(folder.dir() / "images.pack"), 28).train.files->held_bytes() == 3500);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace kb::image_set_test
