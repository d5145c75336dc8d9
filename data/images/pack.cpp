#include "data/images/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "data/content_hash.h"
#include "data/data_file.h"
#include "data/error.h"
#include "data/hash_random.h"
#include "data/images/jpeg.h"
#include "data/images/open_image.h"
#include "data/images/pixels.h"
#include "data/images/view.h"
#include "data/parallel.h"
#include "data/whole_file.h"

namespace kb {
namespace fs = std::filesystem;
namespace {

constexpr char kSignature[8] = {'k', 'b', 'p', 'a', 'c', 'k', '1', '\n'};
constexpr size_t kAtOnce = 64;  // images that a thread makes or reads between two calls of the progress function

// Calls work(i) for first <= i < end, kAtOnce of them in each thread.
template <class Work>
void at_once(size_t first, size_t end, const Work& work) {
  in_threads((end - first + kAtOnce - 1) / kAtOnce, [&](size_t part) {
    const size_t begin = first + part * kAtOnce;
    for (size_t i = begin; i < std::min(begin + kAtOnce, end); ++i) work(i);
  });
}

struct PackHeader {
  char signature[8] = {};
  uint64_t index_at = 0, index_bytes = 0;
  uint64_t spare[5] = {};
};
static_assert(sizeof(PackHeader) == 64);

// The record in FILE.part.log of one image in FILE.part.
struct LogEntry {
  uint64_t bytes = 0, checksum = 0;
  uint16_t width = 0, held = 0, height = 0, spare = 0;  // ImageEntry has these members, too
};

template <class Value>
std::span<const uint8_t> bytes_in(const Value& value) {
  return {reinterpret_cast<const uint8_t*>(&value), sizeof value};
}

// Returns a hash of the images and the form, with which the log begins.
uint64_t identity_of(const ImageIndex& index, const PackForm& form) {
  const std::string print = index_fingerprint(index);
  return content_hash(hash_words(index.stamp, form.side, form.quality, form.raw), print.data(), print.size());
}

// Returns a size whose shorter side is `side` and whose aspect ratio is the image's; the image's own size if it is
// smaller.
ImageSize shrunk(ImageSize size, int64_t side) {
  if (std::min(size.width, size.height) <= side) return size;
  if (size.width <= size.height) return {side, side * size.height / size.width};
  return {side * size.width / size.height, side};
}

// Returns the image resampled to `size` pixels, as red, green and blue of each pixel.
std::vector<uint8_t> resized_pixels(ImageDecoder& image, ImageSize size) {
  const Bytes planes = resampled(image, {0, 0, image.size().width, image.size().height}, size);
  const size_t plane = planes.size() / 3;
  std::vector<uint8_t> pixels(planes.size());
  for (size_t i = 0; i < plane; ++i)
    for (size_t c = 0; c < 3; ++c) pixels[3 * i + c] = planes[c * plane + i];
  return pixels;
}

struct Packed {
  Bytes file;
  LogEntry entry;
};

Packed with_checksum(Packed made) {
  made.entry.bytes = made.file.size();
  made.entry.checksum = content_hash(0, made.file.data(), made.file.size());
  return made;
}

Packed packed(const ImageStore& store, const ImageEntry& from, const PackForm& form) {
  Packed made;
  store.file(from, made.file);
  made.entry.width = from.width;
  made.entry.held = from.held;
  made.entry.height = from.height;
  if (form.side > 0) {
    try {
      const std::unique_ptr<ImageDecoder> image = open_image(made.file);
      const ImageSize size = shrunk(image->size(), form.side);
      if (size == image->size() && !form.raw) return with_checksum(std::move(made));
      const std::vector<uint8_t> pixels = resized_pixels(*image, size);
      made.file = form.raw ? encode_pixels(pixels, size) : encode_jpeg(pixels, size, form.quality);
      made.entry.width = static_cast<uint16_t>(size.width);
      made.entry.held = 0;
      made.entry.height = static_cast<uint16_t>(size.height);
    } catch (const UnreadableImage&) {  // the pack gets the unreadable bytes
    }
  }
  return with_checksum(std::move(made));
}

// Returns the entries of the log of FILE.part; none when the log is of other images or another form.
std::vector<LogEntry> logged_entries(const fs::path& log, uint64_t identity, size_t most) {
  const DataFile lines(log);
  const Bytes text = lines.read(0, lines.size());
  uint64_t owner = 0;
  if (text.size() < sizeof owner) return {};
  std::memcpy(&owner, text.data(), sizeof owner);
  if (owner != identity) return {};
  std::vector<LogEntry> entries(std::min(most, (text.size() - sizeof owner) / sizeof(LogEntry)));
  if (!entries.empty()) std::memcpy(entries.data(), text.data() + sizeof owner, entries.size() * sizeof(LogEntry));
  return entries;
}

class PackWriter {
 public:
  PackWriter(const ImageStore& store, const fs::path& file, const PackWork& work)
      : store_(store),
        work_(work),
        index_(store.index()),
        part_(file.string() + ".part"),
        log_(part_.string() + ".log") {
    for (std::vector<ImageEntry>* entries : index_.parts())
      for (ImageEntry& entry : *entries) entries_.push_back(&entry);
  }

  // Writes the pack. Both files are locked before they are read, since another process may be writing them.
  int64_t write(const fs::path& file) {
    GrowingFile part(part_), log(log_);
    const uint64_t identity = identity_of(index_, work_.form);
    const size_t there = confirm(logged_entries(log_, identity, entries_.size()));
    part.keep(there == 0 ? 0 : at_);
    log.keep(there == 0 ? 0 : sizeof identity + there * sizeof(LogEntry));
    if (there == 0) {
      part.append(bytes_in(PackHeader{}));
      log.append(bytes_in(identity));
    }
    tell(PackStage::write, there, entries_.size());
    for (size_t i = there; i < entries_.size();) i = write_some(i, part, log);
    finish(part, file);
    return static_cast<int64_t>(there);
  }

 private:
  // Returns the number of images that FILE.part holds: it counts entries up to the first whose bytes are missing or
  // differ.
  size_t confirm(const std::vector<LogEntry>& logged) {
    const DataFile data(part_);
    for (size_t i = 0; i < logged.size(); ++i) {
      if (i % kAtOnce == 0) tell(PackStage::confirm, i, logged.size());
      if (at_ > data.size() || logged[i].bytes > data.size() - at_) return i;
      const Bytes file = data.read(at_, logged[i].bytes);
      if (content_hash(0, file.data(), file.size()) != logged[i].checksum) return i;
      set(i, logged[i]);
    }
    return logged.size();
  }

  void set(size_t image, const LogEntry& entry) {
    ImageEntry& to = *entries_[image];
    to.width = entry.width;
    to.held = entry.held;
    to.height = entry.height;
    to.bytes = entry.bytes;
    to.checksum = entry.checksum;
    to.at = at_;
    at_ += entry.bytes;
  }

  // Makes the next images in all threads and writes them in order. Returns the number of the first image that is left.
  size_t write_some(size_t first, GrowingFile& part, GrowingFile& log) {
    const size_t end = std::min(first + kAtOnce * static_cast<size_t>(std::max(work_.threads, 1)), entries_.size());
    std::vector<Packed> made(end - first);
    at_once(first, end, [&](size_t i) { made[i - first] = packed(store_, *entries_[i], work_.form); });
    for (size_t i = first; i < end; ++i) {
      part.append(made[i - first].file);
      log.append(bytes_in(made[i - first].entry));
      set(i, made[i - first].entry);
    }
    tell(PackStage::write, end, entries_.size());
    return end;
  }

  void tell(PackStage stage, size_t images, size_t total) const {
    if (work_.progress) work_.progress(stage, static_cast<int64_t>(images), static_cast<int64_t>(total), at_);
  }

  void finish(GrowingFile& part, const fs::path& file) {
    PackHeader header;
    std::copy(std::begin(kSignature), std::end(kSignature), header.signature);
    const Bytes index = index_bytes(index_);
    header.index_at = at_;
    header.index_bytes = index.size();
    part.append(index);
    part.overwrite(0, bytes_in(header));
    part.flush();
    std::error_code error;
    fs::rename(part_, file, error);
    if (error) throw DataError({file.string(), "cannot be written", "", error.message(), ""});
    fs::remove(log_, error);
  }

  const ImageStore& store_;
  const PackWork& work_;
  ImageIndex index_;
  fs::path part_, log_;
  std::vector<ImageEntry*> entries_;  // the entries of index_, both parts
  uint64_t at_ = sizeof(PackHeader);  // end of the images that are written
};

ImageIndex read_pack_index(const DataFile& file, const fs::path& path) {
  PackHeader header;
  const Bytes begin = file.read(0, std::min(file.size(), sizeof header));
  if (begin.size() < sizeof header || !std::equal(std::begin(kSignature), std::end(kSignature), begin.begin()))
    throw DataError({path.string(), "is not a pack of images", "a file that ./run pack has written to its end",
                     file.size() == 0 ? "an empty file" : "another beginning", "./run pack DIR --to FILE makes one"});
  std::memcpy(&header, begin.data(), sizeof header);
  const auto refuse = [&](std::string expected, std::string got) {
    throw DataError(
        {path.string(), "the pack is damaged", std::move(expected), std::move(got), "pack the images again"});
  };
  if (header.index_at > file.size() || header.index_bytes != file.size() - header.index_at)
    refuse(fmt::format("an index of {} bytes at {}", header.index_bytes, header.index_at),
           fmt::format("a file of {} bytes", file.size()));
  ImageIndex index = parse_index(file.read(header.index_at, header.index_bytes), path.string());
  for (const std::vector<ImageEntry>* part : index.parts())
    for (const ImageEntry& entry : *part)
      if (entry.at < sizeof header || entry.at > header.index_at || entry.bytes > header.index_at - entry.at)
        refuse(fmt::format("images between bytes {} and {}", sizeof header, header.index_at),
               fmt::format("{} of {} bytes at {}", index.name(entry), entry.bytes, entry.at));
  return index;
}

// A pack open for reading. It is read and not mapped into memory: if another program cut the file short, touching the
// missing part of a map would end the process. The system shares its pages among processes either way.
class PackStore : public ImageStore {
 public:
  PackStore(const fs::path& path, std::unique_ptr<const DataFile> file)
      : ImageStore(read_pack_index(*file, path)), file_(std::move(file)) {}

  std::span<const uint8_t> file(const ImageEntry& entry, Bytes& memory) const override {
    memory.resize(entry.bytes);
    file_->read(entry.at, std::span(memory));
    return memory;
  }

 private:
  std::unique_ptr<const DataFile> file_;
};

}  // namespace

int64_t write_pack(const ImageStore& store, const fs::path& file, const PackWork& work) {
  if (std::error_code error; fs::is_directory(file, error))
    throw DataError(
        {file.string(), "cannot be written", "the name of a file", "a folder", (file / "images.pack").string()});
  return PackWriter(store, file, work).write(file);
}

std::shared_ptr<const ImageStore> open_pack(const fs::path& file) {
  return std::make_shared<PackStore>(file, std::make_unique<const DataFile>(file));
}

std::vector<std::string> verify_pack(const ImageStore& pack, int threads, const PackProgress& progress) {
  std::vector<const ImageEntry*> entries;
  for (const std::vector<ImageEntry>* part : pack.index().parts())
    for (const ImageEntry& entry : *part) entries.push_back(&entry);
  std::vector<char> damaged(entries.size());
  uint64_t bytes = 0;
  for (size_t first = 0; first < entries.size();) {
    if (progress) progress(PackStage::verify, static_cast<int64_t>(first), static_cast<int64_t>(entries.size()), bytes);
    const size_t end = std::min(first + kAtOnce * static_cast<size_t>(std::max(threads, 1)), entries.size());
    at_once(first, end, [&](size_t i) {
      thread_local Bytes memory;
      const std::span<const uint8_t> file = pack.file(*entries[i], memory);
      damaged[i] = content_hash(0, file.data(), file.size()) != entries[i]->checksum ? 1 : 0;
    });
    for (; first < end; ++first) bytes += entries[first]->bytes;
  }
  if (progress)
    progress(PackStage::verify, static_cast<int64_t>(entries.size()), static_cast<int64_t>(entries.size()), bytes);
  std::vector<std::string> names;
  for (size_t i = 0; i < entries.size(); ++i)
    if (damaged[i] != 0) names.emplace_back(pack.index().name(*entries[i]));
  return names;
}

}  // namespace kb
