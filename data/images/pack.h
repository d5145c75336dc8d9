// A pack: the images of a folder in one file. Opening it lists no folder, and reading an image opens no file. It holds
// the files' own bytes, or smaller copies.
//
// Layout: a header of 64 bytes (8 letters, begin and size of the index), the files one after another, the index
// (data/images/index.h) with the place and the checksum of each.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "data/images/image_store.h"

namespace kb {

struct PackForm {
  /// Pixels of the shorter side of the copies; an image that is smaller stays as it is. 0: the pack holds the files'
  /// own bytes.
  int64_t side = 0;
  int quality = 90;  ///< JPEG quality of the copies, 1 to 100
  bool raw = false;  ///< true: copies are bare pixels (data/images/pixels.h); false: JPEGs
  bool operator==(const PackForm&) const = default;
};

/// The stages of packing. confirm: images that an earlier call has written are read back. write: images are read,
/// shrunk and written. verify: all images of a pack are read.
enum class PackStage : uint8_t { confirm, write, verify };

/// Is told how many of the `total` images of a stage are done, and their bytes: at its start and several times more.
using PackProgress = std::function<void(PackStage stage, int64_t images, int64_t total, uint64_t bytes)>;

struct PackWork {
  PackForm form = {};
  int threads = 1;
  PackProgress progress = {};
};

/// Packs the images of `store` into `file`. Until all are written they lie in FILE.part and their checksums in
/// FILE.part.log: another call with the same images and form continues after the last one whose checksum is right. An
/// image that cannot be decoded is copied as it is. Returns the number of images that an earlier call had written.
/// Throws DataError, also when another process is writing the same pack.
int64_t write_pack(const ImageStore& store, const std::filesystem::path& file, const PackWork& work);

/// Opens a pack. Throws DataError when the file is no pack or its index is damaged.
std::shared_ptr<const ImageStore> open_pack(const std::filesystem::path& file);

/// Reads all images, and returns the names of those whose bytes do not have their checksum.
std::vector<std::string> verify_pack(const ImageStore& pack, int threads = 1, const PackProgress& progress = {});

}  // namespace kb
