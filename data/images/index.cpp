#include "data/images/index.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "data/class_folders.h"
#include "data/content_hash.h"
#include "data/data_file.h"
#include "data/error.h"
#include "data/hash_random.h"
#include "data/images/open_image.h"
#include "data/parallel.h"
#include "data/whole_file.h"

namespace kb {
namespace fs = std::filesystem;
namespace {

constexpr const char* kImageLayout = "DIR/train/CLASS/*.JPEG and DIR/val/CLASS/*.JPEG (or .jpg, .png, .ppm, .pgm)";
// A part of each index's stamp. It changes when headers are read in another way, so that cached indices are made again.
constexpr uint64_t kReading = 2;

struct stat status_of(const fs::path& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0)
    throw DataError(
        {path.string(), "cannot be read", "a file or a folder", std::generic_category().message(errno), ""});
  return status;
}

void add_file(ImageIndex& index, const fs::path& dir, const fs::path& path, int32_t label,
              std::vector<ImageEntry>& entries) {
  const struct stat status = status_of(dir / path);
  if (!S_ISREG(status.st_mode))
    throw DataError({(dir / path).string(), "is not an image that is read here", kImageLayout,
                     S_ISDIR(status.st_mode) ? "a folder" : "another kind of file", "move it elsewhere"});
  if (static_cast<uint64_t>(status.st_size) > kMostFileBytes)
    throw DataError({(dir / path).string(), "larger than any image that is decoded",
                     fmt::format("at most {} bytes", kMostFileBytes), fmt::format("{} bytes", status.st_size),
                     "move it elsewhere"});
  const std::string name = path.string();
  ImageEntry entry{.name = index.names.size(), .name_bytes = static_cast<uint32_t>(name.size()), .label = label};
  entry.bytes = static_cast<uint64_t>(status.st_size);
  index.names += name;
  index.stamp = content_hash(hash_words(index.stamp, entry.bytes, status.st_mtim.tv_sec, status.st_mtim.tv_nsec),
                             name.data(), name.size());
  entries.push_back(entry);
}

void add_part(ImageIndex& index, const fs::path& dir, const std::string& part, const std::vector<std::string>& classes,
              std::vector<ImageEntry>& entries) {
  for (const std::string& name : classes) {
    const auto at = std::lower_bound(index.classes.begin(), index.classes.end(), name);
    const auto label = static_cast<int32_t>(at - index.classes.begin());
    for (const std::string& file : images_of_class(dir / part / name, kImageLayout, index.passed))
      add_file(index, dir, fs::path(part) / name / file, label, entries);
  }
}

void add_test_part(ImageIndex& index, const fs::path& dir, const std::string& test) {
  const std::vector<std::string> tested = class_folders(dir / test, kImageLayout, index.passed);
  for (const std::string& name : tested)
    if (!std::binary_search(index.classes.begin(), index.classes.end(), name))
      throw DataError({(dir / test / name).string(), "a class that training does not have",
                       fmt::format("one of the {} folders of {}", index.classes.size(), (dir / "train").string()), name,
                       ""});
  add_part(index, dir, test, tested, index.test);
  if (index.test.empty()) throw DataError({(dir / test).string(), "no images", kImageLayout, "", ""});
}

// Sets what the header of a file says; sets nothing when the header cannot be read.
void read_header(ImageEntry& entry, const fs::path& path) {
  constexpr size_t kUsualHeader = size_t{64} << 10;  // bytes that hold the header of nearly all files
  const DataFile file(path);
  for (const size_t bytes : {std::min(file.size(), kUsualHeader), file.size()}) {
    try {
      const Bytes begin = file.read(0, bytes);
      set_header(entry, *open_image(begin));
      return;
    } catch (const UnreadableImage&) {
    }
  }
}

// Returns the name of a folder's cached index.
std::string cached_name(const fs::path& dir) {
  std::error_code error;
  const std::string path = fs::weakly_canonical(dir, error).string();
  return fmt::format("images-{:016x}.index", content_hash(0, path.data(), path.size()));
}

bool take_cached(ImageIndex& index, const fs::path& file) {
  try {
    const DataFile cached(file);
    ImageIndex known = parse_index(cached.read(0, cached.size()), file.string());
    if (known.stamp != index.stamp || known.train.size() != index.train.size() ||
        known.test.size() != index.test.size() || known.names != index.names)
      return false;
    known.passed = std::move(index.passed);
    index = std::move(known);
    return true;
  } catch (const DataError&) {  // the cached index is absent or damaged, so it is made again
    return false;
  }
}

}  // namespace

void set_header(ImageEntry& entry, const ImageDecoder& image) {
  const auto [width, height] = image.size();
  entry.width = static_cast<uint16_t>(width);
  entry.height = static_cast<uint16_t>(height);
  entry.held = static_cast<uint16_t>((image.held_bytes() + width * height - 1) / (width * height));
}

int64_t held_bytes(const ImageEntry& entry) { return int64_t{entry.held} * entry.width * entry.height; }

std::string index_fingerprint(const ImageIndex& index) {
  uint64_t hash =
      content_hash(hash_words(index.train.size(), index.test.size()), index.names.data(), index.names.size());
  for (const std::vector<ImageEntry>* part : index.parts())
    for (const ImageEntry& entry : *part) hash = hash_words(hash, entry.name_bytes, entry.label, entry.bytes);
  return fmt::format("{:016x}", hash);
}

fs::path find_image_folder(const fs::path& dir) {
  std::error_code error;
  if (dir.empty()) return {};
  for (const fs::path& folder : {dir, dir / "imagenet"})
    if (fs::is_directory(folder / "train", error)) return folder;
  return {};
}

ImageIndex list_images(const fs::path& dir) {
  ImageIndex index;
  index.stamp = kReading;
  index.classes = training_classes(dir, kImageLayout, index.passed);
  add_part(index, dir, "train", index.classes, index.train);
  if (const std::string test = test_part(dir); !test.empty()) add_test_part(index, dir, test);
  return index;
}

void read_image_sizes(ImageIndex& index, const fs::path& dir, int threads) {
  std::vector<ImageEntry*> entries;
  for (std::vector<ImageEntry>* part : index.parts())
    for (ImageEntry& entry : *part) entries.push_back(&entry);
  const auto stride = static_cast<size_t>(std::max(threads, 1));
  in_threads(stride, [&](size_t first) {
    for (size_t i = first; i < entries.size(); i += stride) read_header(*entries[i], dir / index.name(*entries[i]));
  });
}

ImageIndex index_of_folder(const fs::path& dir, const fs::path& cache, int threads) {
  ImageIndex index = list_images(dir);
  if (!cache.empty() && take_cached(index, cache / cached_name(dir))) return index;
  read_image_sizes(index, dir, threads);
  if (!cache.empty()) {
    try {
      fs::create_directories(cache);
      write_whole_file(cache / cached_name(dir), index_bytes(index));
    } catch (const std::exception&) {  // without the cache the index is made again next time
    }
  }
  return index;
}

}  // namespace kb
