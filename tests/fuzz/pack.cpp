// Fuzzes the readers of packs and of the index in a pack. An input that begins with 'i' is an index without its
// checksum; the checksum is appended, and the index is read alone and in a pack. Any other input is a whole pack.

#include "data/images/pack.h"
#include "data/augment.h"
#include "data/content_hash.h"
#include "data/error.h"
#include "data/image_files.h"
#include "data/images/image_set.h"
#include "tests/fuzz/target.h"

namespace kb::fuzz::pack_target {
namespace {

std::string with_checksum(std::string_view index) {
  const uint64_t sum = content_hash(0, index.data(), index.size());
  std::string bytes(index);
  bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return bytes;
}

std::string pack_of(const std::string& index) {
  const uint64_t header[8] = {0x0a316b6361706b62, 64 + 32, index.size()};  // "kbpack1\n"
  std::string bytes(reinterpret_cast<const char*>(header), sizeof header);
  return bytes + std::string(32, 'x') + index;
}

void read_pack(const MemoryFile& file) {
  const auto pack = open_pack(file.path());
  const size_t images = pack->index().train.size() + pack->index().test.size();
  require(verify_pack(*pack).size() <= images, "a checksum an image");
  const Dataset set = image_set(pack, 8);
  require(set.train.count() > 0, "a pack has training images");
  std::vector<uint8_t> pixels(static_cast<size_t>(set.shape.size()));
  for (const int64_t sample : {int64_t{0}, set.train.count() - 1}) {
    try {
      set.train.files->read(sample, {AugmentSpec{}}, pixels);
    } catch (const DataError&) {  // no image of the class can be decoded
    }
  }
}

}  // namespace

KB_FUZZ_TARGET(pack) {
  static const MemoryFile file;
  const std::string_view text = text_of(data, size);
  try {
    if (!text.starts_with('i')) {
      file.write(text);
      read_pack(file);
      return;
    }
    const std::string index = with_checksum(text.substr(1));
    const ImageIndex parsed = parse_index({reinterpret_cast<const uint8_t*>(index.data()), index.size()}, "index");
    const Bytes again = index_bytes(parsed);
    require(std::equal(again.begin(), again.end(), index.begin(), index.end(),
                       [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); }),
            "an index is written as it was read");
    file.write(pack_of(index));
    read_pack(file);
  } catch (const DataError&) {
  }
}

}  // namespace kb::fuzz::pack_target
