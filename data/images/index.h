// The list of the images of a labelled set, in the order of the samples: names, labels and sizes. It is made from a
// folder. Caches and packs hold a copy.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/bytes.h"
#include "data/class_folders.h"

namespace kb {

class ImageDecoder;

struct ImageEntry {
  uint64_t name = 0;        ///< position of the name's first byte in ImageIndex::names
  uint32_t name_bytes = 0;  ///< length of the name, bytes
  int32_t label = 0;        ///< position of the class in ImageIndex::classes
  uint16_t width = 0;       ///< pixels; 0 if the header cannot be read
  uint16_t held = 0;        ///< ImageDecoder::held_bytes a pixel, rounded up; 0 in packs of an earlier version
  uint16_t height = 0;      ///< pixels; 0 if the header cannot be read
  uint16_t spare = 0;       ///< 0; sides had 32 bits in packs of an earlier version
  uint64_t bytes = 0;       ///< size of the file, bytes
  uint64_t at = 0;          ///< position of the file's first byte in a pack; 0 elsewhere
  uint64_t checksum = 0;    ///< content_hash(0, ...) of the file in a pack; 0 elsewhere
};

struct ImageIndex {
  std::vector<std::string> classes;     ///< names of the folders, sorted
  std::vector<ImageEntry> train, test;  ///< sorted by class, then by name
  std::string names;                    ///< names of all images, "train/CLASS/FILE", without separators
  uint64_t stamp = 0;                   ///< hash of names, sizes and modification times of the folder's files
  PassedOver passed = {};               ///< files that are no images by their names

  std::string_view name(const ImageEntry& entry) const {
    return std::string_view(names).substr(entry.name, entry.name_bytes);
  }
  std::array<const std::vector<ImageEntry>*, 2> parts() const { return {&train, &test}; }
  std::array<std::vector<ImageEntry>*, 2> parts() { return {&train, &test}; }
};

/// Sets width, height and `held` of an image from its header.
void set_header(ImageEntry& entry, const ImageDecoder& image);
/// Returns the most bytes of memory that decoding the image holds for it as a whole.
int64_t held_bytes(const ImageEntry& entry);

/// Returns 16 hexadecimal digits, a hash of the names and sizes of all files. A pack has the same as its folder.
std::string index_fingerprint(const ImageIndex& index);

/// The first returns the index as bytes with a checksum, and the second reads them. It throws DataError, which names
/// `subject`, when they are damaged.
Bytes index_bytes(const ImageIndex& index);
ImageIndex parse_index(std::span<const uint8_t> bytes, const std::string& subject);

/// Returns `dir`, or the folder `imagenet` in it, if that has a folder `train`; else an empty path.
std::filesystem::path find_image_folder(const std::filesystem::path& dir);

/// Lists the images of DIR/train/CLASS/* and of the test part, if there is one (data/class_folders.h). The classes are
/// the folders of train, sorted by name. Throws DataError for another layout.
ImageIndex list_images(const std::filesystem::path& dir);

/// Reads width and height from the headers of all files, with `threads` threads.
void read_image_sizes(ImageIndex& index, const std::filesystem::path& dir, int threads);

/// Lists a folder with the sizes of its images. The sizes are kept in `cache`, a folder that is made if it is missing,
/// until the name, size or modification time of a file changes. Without a cache, or if it cannot be written, each call
/// reads the headers.
ImageIndex index_of_folder(const std::filesystem::path& dir, const std::filesystem::path& cache, int threads);

}  // namespace kb
