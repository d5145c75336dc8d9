// A pack: the images of a folder in one file, which is mapped into memory: processes of a machine share its pages, and
// opening it lists no folder. It holds the files' own bytes, or smaller copies.
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
  int64_t side =
      0;  ///< shorter side of a smaller copy, pixels; 0: the files' own bytes. Smaller images stay as they are
  int quality = 90;  ///< of the copies' JPEGs, 1 to 100
  bool raw = false;  ///< copies are pixels, not JPEGs
  bool operator==(const PackForm&) const = default;
};

struct PackWork {
  PackForm form = {};
  int threads = 1;
  /// Called with the images and bytes that are there: at the start, and now and then.
  std::function<void(int64_t images, int64_t of, uint64_t bytes)> progress = {};
};

/// Packs the images of `store` into `file`. Until all of them are written they lie in FILE.part, their checksums in
/// FILE.part.log: the next call with the same images and form goes on behind the last one that has its checksum. An
/// image that cannot be decoded stays as it is. Returns the number of images that an earlier call had written. Throws
/// DataError.
int64_t write_pack(const ImageStore& store, const std::filesystem::path& file, const PackWork& work);

/// Throws DataError where it is no pack, or its index is damaged.
std::shared_ptr<const ImageStore> open_pack(const std::filesystem::path& file);

/// The names of images whose bytes do not have their checksum.
std::vector<std::string> verify_pack(const ImageStore& pack, const PackWork& work);

}  // namespace kb
