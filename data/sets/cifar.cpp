#include "data/sets/cifar.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "data/content_hash.h"
#include "data/error.h"
#include "data/gzip.h"
#include "data/sets/find_file.h"

namespace kb {
namespace fs = std::filesystem;
namespace {

// The coarse class that each fine class of CIFAR-100 belongs to.
constexpr uint8_t kCoarseOfFine[] = {4,  1,  14, 8,  0,  6,  7,  7,  18, 3,  3,  14, 9,  18, 7,  11, 3,  9,  7,  11,
                                     6,  11, 5,  10, 7,  6,  13, 15, 3,  15, 0,  11, 1,  10, 12, 14, 16, 9,  11, 5,
                                     5,  19, 8,  8,  15, 13, 14, 17, 18, 10, 16, 4,  17, 4,  2,  0,  17, 4,  18, 17,
                                     10, 3,  2,  12, 12, 16, 12, 1,  9,  19, 2,  10, 0,  1,  16, 12, 9,  13, 15, 13,
                                     16, 19, 2,  4,  6,  19, 5,  5,  8,  19, 18, 1,  2,  15, 6,  0,  17, 8,  14, 13};

class Reader {
 public:
  Reader(const CifarSpec& spec, const fs::path& dir)
      : spec_(spec),
        dir_(dir),
        label_bytes_(spec.coarse_classes > 0 ? 2 : 1),
        record_(label_bytes_ + kCifarShape.size()) {}

  Split read(const std::vector<CifarFile>& files) const {
    Split split{kCifarShape, {}, {}};
    for (const CifarFile& file : files) append(split, file, files.size());
    return split;
  }

  fs::path find(const CifarFile& file) const {
    const std::string by_hand = fmt::format(
        "fetch https://www.cs.toronto.edu/~kriz/{}.tar.gz (the binary version) and unpack it into that directory",
        spec_.coarse_classes > 0 ? "cifar-100-binary" : "cifar-10-binary");
    return find_data_file({spec_.name, {spec_.folder, spec_.name}, spec_.is_fetched, by_hand}, dir_, file.name);
  }

 private:
  /// Appends the records of one of `files` files, which are about equally large.
  void append(Split& split, const CifarFile& file, size_t files) const {
    const fs::path path = find(file);
    const Bytes bytes = read_unpacked(path, most_bytes(path.parent_path(), spec_.published, record_));
    check_size(path, bytes.size());
    const size_t count = bytes.size() / static_cast<size_t>(record_);
    if (split.pixels.empty()) split.pixels.reserve(files * count * kCifarShape.size());
    split.pixels.resize(split.pixels.size() + count * kCifarShape.size());
    uint8_t* pixels = &split.pixels.back() + 1 - count * kCifarShape.size();
    for (size_t i = 0; i < count; ++i, pixels += kCifarShape.size()) {
      const uint8_t* record = bytes.data() + i * record_;
      check_labels(path, record, i);
      split.labels.push_back(record[label_bytes_ - 1]);
      std::copy(record + label_bytes_, record + record_, pixels);
    }
    check_role(path, file, content_hash(0, bytes.data(), bytes.size()));
  }

  void check_size(const fs::path& path, size_t size) const {
    if (size == 0) throw DataError({path.string(), "the file is empty", "at least 1 sample", "0", ""});
    if (size % static_cast<size_t>(record_) == 0) return;
    const int64_t other = record_ + (label_bytes_ == 1 ? 1 : -1);
    const bool foreign = size % static_cast<size_t>(other) == 0;
    throw DataError({path.string(), "the file does not end with a whole sample",
                     fmt::format("a multiple of {} bytes: {} of labels and {} pixels a sample", record_, label_bytes_,
                                 kCifarShape.size()),
                     fmt::format("{} bytes: {} samples and {} bytes", size, size / record_, size % record_),
                     foreign ? fmt::format("this is a file of {}", label_bytes_ == 1 ? "cifar100" : "cifar10")
                             : "it is truncated, or another file: fetch it again"});
  }

  void check_labels(const fs::path& path, const uint8_t* record, size_t sample) const {
    const int64_t fine = record[label_bytes_ - 1], classes = static_cast<int64_t>(spec_.class_names.size());
    if (fine >= classes) refuse_label(path, "label", classes, fine, sample);
    if (label_bytes_ == 1) return;
    if (record[0] >= spec_.coarse_classes) refuse_label(path, "coarse label", spec_.coarse_classes, record[0], sample);
    if (record[0] == kCoarseOfFine[fine]) return;
    throw DataError({path.string(), "coarse and fine label do not belong together",
                     fmt::format("coarse label {} with '{}'", kCoarseOfFine[fine], spec_.class_names.at(fine)),
                     fmt::format("{} for sample {}", record[0], sample), "the file is damaged: fetch it again"});
  }

  [[noreturn]] static void refuse_label(const fs::path& path, const char* what, int64_t classes, int64_t got,
                                        size_t sample) {
    throw DataError({path.string(), fmt::format("{} out of range", what), fmt::format("0 to {}", classes - 1),
                     fmt::format("{} for sample {}", got, sample), "is this another data set?"});
  }

  /// Throws DataError when the content is that of another published file.
  void check_role(const fs::path& path, const CifarFile& file, uint64_t content) const {
    std::vector<CifarFile> all = spec_.train;
    all.push_back(spec_.test);
    for (const CifarFile& other : all) {
      if (other.content == 0 || other.content != content || other.name == file.name) continue;
      throw DataError({path.string(), "the content is that of another file", file.name, other.name,
                       "files were renamed: fetch them again"});
    }
  }

  const CifarSpec& spec_;
  const fs::path& dir_;
  const int64_t label_bytes_, record_;
};

}  // namespace

CifarSpec cifar10_spec() {
  return {"cifar10",
          "cifar-10-batches-bin",
          {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
          0,
          {{"data_batch_1.bin", 0xf6cf424fcdae1711},
           {"data_batch_2.bin", 0x6e3b3f9c4640c0ac},
           {"data_batch_3.bin", 0x7f9b09c349e119c3},
           {"data_batch_4.bin", 0x9c1a3cbc48308da0},
           {"data_batch_5.bin", 0xaa5747323a3207ef}},
          {"test_batch.bin", 0x6332a0f48b012fbe},
          {50000, 10000},
          true};
}

CifarSpec cifar100_spec() {
  return {"cifar100",
          "cifar-100-binary",
          {"apple",      "aquarium_fish", "baby",         "bear",       "beaver",      "bed",         "bee",
           "beetle",     "bicycle",       "bottle",       "bowl",       "boy",         "bridge",      "bus",
           "butterfly",  "camel",         "can",          "castle",     "caterpillar", "cattle",      "chair",
           "chimpanzee", "clock",         "cloud",        "cockroach",  "couch",       "crab",        "crocodile",
           "cup",        "dinosaur",      "dolphin",      "elephant",   "flatfish",    "forest",      "fox",
           "girl",       "hamster",       "house",        "kangaroo",   "keyboard",    "lamp",        "lawn_mower",
           "leopard",    "lion",          "lizard",       "lobster",    "man",         "maple_tree",  "motorcycle",
           "mountain",   "mouse",         "mushroom",     "oak_tree",   "orange",      "orchid",      "otter",
           "palm_tree",  "pear",          "pickup_truck", "pine_tree",  "plain",       "plate",       "poppy",
           "porcupine",  "possum",        "rabbit",       "raccoon",    "ray",         "road",        "rocket",
           "rose",       "sea",           "seal",         "shark",      "shrew",       "skunk",       "skyscraper",
           "snail",      "snake",         "spider",       "squirrel",   "streetcar",   "sunflower",   "sweet_pepper",
           "table",      "tank",          "telephone",    "television", "tiger",       "tractor",     "train",
           "trout",      "tulip",         "turtle",       "wardrobe",   "whale",       "willow_tree", "wolf",
           "woman",      "worm"},
          20,
          {{"train.bin", 0}},
          {"test.bin", 0},
          {50000, 10000}};
}

Dataset load_cifar_dataset(const CifarSpec& spec, const fs::path& dir) {
  const Reader reader(spec, dir);
  std::future<Split> reading = std::async([&] { return reader.read({spec.test}); });
  // If both parts have a fault, the training part's is reported.
  Split train = reader.read(spec.train), test = reading.get();
  if (train.pixels == test.pixels)
    throw DataError({dir.string(), "the test images are the training images", "two different parts",
                     fmt::format("{} equal images", test.count()), "one file was copied over the other"});
  const fs::path folder = reader.find(spec.test).parent_path();
  const bool variant = check_counts(spec.name, folder, spec.published, {train.count(), test.count()});
  Dataset set = make_dataset(spec.name, spec.class_names, std::move(train), std::move(test));
  set.variant = variant;
  return set;
}

}  // namespace kb
