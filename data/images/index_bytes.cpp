#include <fmt/format.h>

#include <cstring>

#include "data/content_hash.h"
#include "data/error.h"
#include "data/images/index.h"

namespace kb {
namespace {

constexpr uint64_t kMagic = 0x3178646e49626b0a;  // the letters "\nkbIndx1"
static_assert(sizeof(ImageEntry) == 48, "entries are written as they lie in memory");

struct IndexHeader {
  uint64_t magic = kMagic, stamp = 0, classes = 0, train = 0, test = 0, names = 0;
};

void append(Bytes& out, const void* from, size_t bytes) {
  const auto* begin = static_cast<const uint8_t*>(from);
  out.insert(out.end(), begin, begin + bytes);
}

// Reads the bytes from front to back, and throws DataError at their end.
class IndexReader {
 public:
  IndexReader(std::span<const uint8_t> bytes, const std::string& subject) : rest_(bytes), subject_(subject) {}

  ImageIndex read() {
    check_sum();
    const auto header = take<IndexHeader>();
    if (header.magic != kMagic) refuse("an index of this version", "another beginning");
    ImageIndex index;
    index.stamp = header.stamp;
    for (uint64_t i = 0; i < header.classes; ++i) index.classes.push_back(text(take<uint32_t>()));
    index.names = text(header.names);
    index.train = entries(header.train);
    index.test = entries(header.test);
    for (const std::vector<ImageEntry>* part : index.parts()) {
      for (const ImageEntry& entry : *part) check(index, entry);
      check_order(*part);
    }
    if (!rest_.empty()) refuse("the end of the index", fmt::format("{} bytes more", rest_.size()));
    if (index.classes.size() < 2 || index.train.empty()) refuse("classes and training images", "none of some");
    return index;
  }

 private:
  [[noreturn]] void refuse(std::string expected, std::string got) const {
    throw DataError({subject_, "the index of images is damaged", std::move(expected), std::move(got), ""});
  }

  void check_sum() {
    uint64_t sum = 0;
    if (rest_.size() < sizeof sum) refuse("a checksum", fmt::format("{} bytes", rest_.size()));
    std::memcpy(&sum, rest_.data() + rest_.size() - sizeof sum, sizeof sum);
    rest_ = rest_.first(rest_.size() - sizeof sum);
    if (const uint64_t got = content_hash(0, rest_.data(), rest_.size()); got != sum)
      refuse(fmt::format("checksum {:016x}", sum), fmt::format("{:016x}", got));
  }

  std::span<const uint8_t> take_bytes(uint64_t bytes) {
    if (bytes > rest_.size()) refuse(fmt::format("{} bytes more", bytes), fmt::format("{}", rest_.size()));
    const std::span<const uint8_t> taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }

  template <class Value>
  Value take() {
    Value value;
    std::memcpy(&value, take_bytes(sizeof value).data(), sizeof value);
    return value;
  }

  std::string text(uint64_t bytes) {
    const std::span<const uint8_t> taken = take_bytes(bytes);
    return {taken.begin(), taken.end()};
  }

  std::vector<ImageEntry> entries(uint64_t count) {
    if (count > rest_.size() / sizeof(ImageEntry))
      refuse(fmt::format("{} images", count), fmt::format("{} bytes", rest_.size()));
    std::vector<ImageEntry> entries(count);
    if (count > 0)
      std::memcpy(entries.data(), take_bytes(count * sizeof(ImageEntry)).data(), count * sizeof(ImageEntry));
    return entries;
  }

  void check(const ImageIndex& index, const ImageEntry& entry) const {
    if (entry.name > index.names.size() || entry.name_bytes > index.names.size() - entry.name)
      refuse("a name within the names", fmt::format("one at {}", entry.name));
    if (entry.label < 0 || entry.label >= static_cast<int64_t>(index.classes.size()))
      refuse(fmt::format("labels below {}", index.classes.size()), fmt::to_string(entry.label));
    if (entry.spare != 0) refuse("sides of 16 bits", fmt::format("{} above them", entry.spare));
  }

  // Throws DataError unless labels ascend: a class is found by bisection.
  void check_order(const std::vector<ImageEntry>& part) const {
    for (size_t i = 1; i < part.size(); ++i)
      if (part[i].label < part[i - 1].label)
        refuse("labels that ascend from image to image", fmt::format("{} behind {}", part[i].label, part[i - 1].label));
  }

  std::span<const uint8_t> rest_;
  const std::string& subject_;
};

}  // namespace

Bytes index_bytes(const ImageIndex& index) {
  const IndexHeader header{
      kMagic, index.stamp, index.classes.size(), index.train.size(), index.test.size(), index.names.size()};
  Bytes bytes;
  append(bytes, &header, sizeof header);
  for (const std::string& name : index.classes) {
    const auto size = static_cast<uint32_t>(name.size());
    append(bytes, &size, sizeof size);
    append(bytes, name.data(), size);
  }
  append(bytes, index.names.data(), index.names.size());
  for (const std::vector<ImageEntry>* part : index.parts())
    append(bytes, part->data(), part->size() * sizeof(ImageEntry));
  const uint64_t sum = content_hash(0, bytes.data(), bytes.size());
  append(bytes, &sum, sizeof sum);
  return bytes;
}

ImageIndex parse_index(std::span<const uint8_t> bytes, const std::string& subject) {
  return IndexReader(bytes, subject).read();
}

}  // namespace kb
