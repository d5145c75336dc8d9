// A pack: the images of a folder in one file: opening it lists no folder, and reading an image opens no file. It holds
// the files' own bytes, or smaller copies.
//
// Layout: a header of 64 bytes (8 letters, begin and size of the index), the files one behind the other, the index
// (data/images/index.h) with the place and the checksum of each.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "data/images/image_store.h"

namespace kb {

struct PackForm {
  /// Length of the shorter side of a smaller copy, pixels; smaller images stay as they are. 0: the files' own bytes.
  int64_t side = 0;
  int quality = 90;  ///< JPEG quality of the copies, 1 to 100
  bool raw = false;  ///< copies are pixels, not JPEGs
  bool operator==(const PackForm&) const = default;
};

/// confirm: the images that an earlier call has written are read back. write: images are read, shrunk, written.
/// verify: all images of a pack are read.
enum class PackStage : uint8_t { confirm, write, verify };

/// Called with the images and bytes that a stage has done, at its start and now and then.
using PackProgress = std::function<void(PackStage stage, int64_t images, int64_t of, uint64_t bytes)>;

struct PackWork {
  PackForm form = {};
  int threads = 1;
  PackProgress progress = {};
};

/// Packs the images of `store` into `file`. Until all of them are written they lie in FILE.part, their checksums in
/// FILE.part.log: the next call with the same images and form goes on behind the last one that has its checksum. An
/// image that cannot be decoded stays as it is. Returns the number of images that an earlier call had written. Throws
/// DataError, also where another process writes the same pack.
int64_t write_pack(const ImageStore& store, const std::filesystem::path& file, const PackWork& work);

/// Throws DataError where it is no pack, or its index is damaged.
std::shared_ptr<const ImageStore> open_pack(const std::filesystem::path& file);

/// Reads all images, and returns the names of those whose bytes do not have their checksum.
std::vector<std::string> verify_pack(const ImageStore& pack, int threads = 1, const PackProgress& progress = {});

}  // namespace kb
