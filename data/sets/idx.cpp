#include "data/sets/idx.h"

#include <fmt/format.h>

#include <future>

#include "data/error.h"
#include "data/gzip.h"
#include "data/sets/find_file.h"

namespace kb {
namespace fs = std::filesystem;
namespace {

constexpr uint32_t kImagesMagic = 0x00000803, kLabelsMagic = 0x00000801;

struct IdxFile {
  fs::path path;
  std::vector<int64_t> extents;
  Bytes elements;
};

uint32_t big_endian(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]};
}

std::string magic_name(uint32_t magic) {
  const char* meaning = magic == kImagesMagic   ? " (uint8 images)"
                        : magic == kLabelsMagic ? " (uint8 labels)"
                        : magic >> 16 == 0x1f8b ? " (a gzip file)"
                                                : "";
  return fmt::format("{:08x}{}", magic, meaning);
}

std::string magic_hint(uint32_t magic) {
  if (magic == kImagesMagic || magic == kLabelsMagic) return "images and labels were exchanged: check the file names";
  if (magic >> 16 == 0x1f8b) return "add '.gz' to its name, or unpack it with gunzip";
  return "this is not an idx file of unsigned bytes";
}

IdxFile read_idx(const fs::path& path, uint32_t magic, size_t most) {
  Bytes bytes = read_unpacked(path, most);
  const size_t dimensions = magic & 0xff, header = 4 + 4 * dimensions;
  const uint32_t got = bytes.size() < 4 ? magic : big_endian(bytes.data());
  if (got != magic)
    throw DataError({path.string(), "wrong magic number", magic_name(magic), magic_name(got), magic_hint(got)});
  if (bytes.size() < header)
    throw DataError({path.string(), "the idx header is truncated", fmt::format("at least {} bytes", header),
                     fmt::format("{} bytes", bytes.size()), "fetch the file again"});
  IdxFile file{path, {}, {}};
  for (size_t d = 1; d <= dimensions; ++d) file.extents.push_back(big_endian(bytes.data() + 4 * d));
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
  file.elements = std::move(bytes);
  return file;
}

/// Throws DataError unless the rest of the file is exactly `count` elements of `size` bytes.
void check_payload(const IdxFile& file, int64_t size) {
  const int64_t count = file.extents[0];
  if (count == 0) throw DataError({file.path.string(), "the file is empty", "at least 1 sample", "0", ""});
  const auto expected = static_cast<uint64_t>(count) * static_cast<uint64_t>(size);
  if (file.elements.size() == expected) return;
  const bool less = file.elements.size() < expected;
  throw DataError({file.path.string(), less ? "the file is truncated" : "bytes follow the last sample",
                   fmt::format("{} x {} = {} bytes after the header", count, size, expected),
                   fmt::format("{} bytes", file.elements.size()),
                   less ? "fetch the file again" : "the count in its header is wrong, or two files were joined"});
}

constexpr int64_t kMostHeader = 16;  // bytes of the header of an image file

Bytes read_images(const IdxSpec& spec, const fs::path& path) {
  const ImageShape& shape = spec.shape;
  const size_t most = most_bytes(path.parent_path(), spec.published, shape.size(), kMostHeader);
  IdxFile file = read_idx(path, kImagesMagic, most);
  if (file.extents[1] != shape.height || file.extents[2] != shape.width)
    throw DataError({path.string(), "wrong image size", fmt::format("{} x {} pixels", shape.height, shape.width),
                     fmt::format("{} x {} pixels", file.extents[1], file.extents[2]), "is this another data set?"});
  check_payload(file, shape.size());
  return std::move(file.elements);
}

std::vector<int32_t> read_labels(const IdxSpec& spec, const fs::path& path) {
  const auto classes = static_cast<int64_t>(spec.class_names.size());
  const IdxFile file = read_idx(path, kLabelsMagic, most_bytes(path.parent_path(), spec.published, 1, kMostHeader));
  check_payload(file, 1);
  for (size_t i = 0; i < file.elements.size(); ++i) {
    if (file.elements[i] >= classes)
      throw DataError({path.string(), "label out of range", fmt::format("0 to {}", classes - 1),
                       fmt::format("{} for sample {}", file.elements[i], i), "is this another data set?"});
  }
  return {file.elements.begin(), file.elements.end()};
}

fs::path find_file(const IdxSpec& spec, const fs::path& dir, const std::string& file) {
  const std::string by_hand =
      fmt::format("fetch {}{}.gz (and the other three files) into that directory", spec.source, file);
  return find_data_file({spec.name, {spec.name}, spec.is_fetched, by_hand}, dir, file);
}

Split read_split(const IdxSpec& spec, const fs::path& dir, const std::string& part) {
  const fs::path images = find_file(spec, dir, part + "-images-idx3-ubyte");
  const fs::path labels = find_file(spec, dir, part + "-labels-idx1-ubyte");
  Split split{spec.shape, read_images(spec, images), read_labels(spec, labels)};
  const auto count = static_cast<int64_t>(split.pixels.size()) / spec.shape.size();
  if (count != split.count())
    throw DataError({labels.string(), "the number of labels is not that of the images",
                     fmt::format("{} labels, as many as images in {}", count, images.string()),
                     fmt::format("{} labels", split.count()), "the files of the two parts were mixed up"});
  return split;
}

}  // namespace

Dataset load_idx_dataset(const IdxSpec& spec, const fs::path& dir) {
  std::future<Split> reading = std::async(read_split, spec, dir, "t10k");
  // If both parts have a fault, the training part's is reported.
  Split train = read_split(spec, dir, "train"), test = reading.get();
  if (train.pixels == test.pixels)
    throw DataError({dir.string(), "the test images are the training images", "two different parts",
                     fmt::format("{} equal images", test.count()), "one file was copied over the other"});
  const fs::path folder = find_file(spec, dir, "train-images-idx3-ubyte").parent_path();
  const bool variant = check_counts(spec.name, folder, spec.published, {train.count(), test.count()});
  Dataset set = make_dataset(spec.name, spec.class_names, std::move(train), std::move(test));
  set.variant = variant;
  return set;
}

}  // namespace kb
