// The list of the images of a labelled set: names, labels, sizes, in the order of the samples. It is made from a
// folder, and lies in a cache and in packs.
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
  uint16_t width = 0;       ///< pixels; 0 where the header cannot be read
  uint16_t held = 0;        ///< ImageDecoder::held_bytes a pixel, rounded up; 0 also in packs of an earlier version
  uint16_t height = 0;      ///< pixels
  uint16_t spare = 0;       ///< sides had 32 bits once
  uint64_t bytes = 0;       ///< size of the file, bytes
  uint64_t at = 0;          ///< position of the file's first byte in a pack; 0 elsewhere
  uint64_t checksum = 0;    ///< content_hash(0, ...) of the file in a pack; 0 elsewhere
};

struct ImageIndex {
  std::vector<std::string> classes;     ///< names of the folders, in their order
  std::vector<ImageEntry> train, test;  ///< sorted by class, then by name
  std::string names;                    ///< names of all images, "train/CLASS/FILE", without separators
  uint64_t stamp = 0;                   ///< hash of names, sizes and times of change of a folder's files
  PassedOver passed = {};               ///< files of a folder that are no images by their names

  std::string_view name(const ImageEntry& entry) const {
    return std::string_view(names).substr(entry.name, entry.name_bytes);
  }
  std::array<const std::vector<ImageEntry>*, 2> parts() const { return {&train, &test}; }
  std::array<std::vector<ImageEntry>*, 2> parts() { return {&train, &test}; }
};

/// Sets size and `held` of an image.
void set_header(ImageEntry& entry, const ImageDecoder& image);
/// Returns the bytes that the decoding of the image holds of it as a whole, at most.
int64_t held_bytes(const ImageEntry& entry);

/// 16 hexadecimal digits: a hash of the names and sizes of all files. A pack of the files has that of the folder.
std::string index_fingerprint(const ImageIndex& index);

/// The index as bytes with a checksum, and back. `subject` names them in the DataError for what is damaged.
Bytes index_bytes(const ImageIndex& index);
ImageIndex parse_index(std::span<const uint8_t> bytes, const std::string& subject);

/// The folder itself, or the folder `imagenet` in it, that has a part `train`; empty where neither has.
std::filesystem::path find_image_folder(const std::filesystem::path& dir);

/// Lists the images of DIR/train/CLASS/* and of the part that is tested on, where there is one (data/class_folders.h).
/// Classes are the folders of train in the order of their names. Throws DataError for another layout.
ImageIndex list_images(const std::filesystem::path& dir);

/// Reads width and height from the headers of all files, in `threads` threads.
void read_image_sizes(ImageIndex& index, const std::filesystem::path& dir, int threads);

/// Lists a folder with the images' sizes. These are kept in `cache`, a folder that is made where it is missing, and
/// read again when a file's name, size or time of change is another. Without a cache, or where it cannot be written,
/// each call reads them.
ImageIndex index_of_folder(const std::filesystem::path& dir, const std::filesystem::path& cache, int threads);

}  // namespace kb
