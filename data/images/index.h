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

namespace kb {

struct ImageEntry {
  uint64_t name = 0;              ///< position of the name's first byte in ImageIndex::names
  uint32_t name_bytes = 0;        ///< length of the name, bytes
  int32_t label = 0;              ///< position of the class in ImageIndex::classes
  int32_t width = 0, height = 0;  ///< pixels; 0 where the header cannot be read
  uint64_t bytes = 0;             ///< size of the file, bytes
  uint64_t at = 0;                ///< position of the file's first byte in a pack; 0 elsewhere
  uint64_t checksum = 0;          ///< content_hash(0, ...) of the file in a pack; 0 elsewhere
};

struct ImageIndex {
  std::vector<std::string> classes;     ///< names of the folders, in their order
  std::vector<ImageEntry> train, test;  ///< sorted by class, then by name
  std::string names;                    ///< names of all images, "train/CLASS/FILE", without separators
  uint64_t stamp = 0;                   ///< hash of names, sizes and times of change of a folder's files

  std::string_view name(const ImageEntry& entry) const {
    return std::string_view(names).substr(entry.name, entry.name_bytes);
  }
  std::array<const std::vector<ImageEntry>*, 2> parts() const { return {&train, &test}; }
  std::array<std::vector<ImageEntry>*, 2> parts() { return {&train, &test}; }
};

/// 16 hexadecimal digits: a hash of the names and sizes of all files. A pack of the files has that of the folder.
std::string index_fingerprint(const ImageIndex& index);

/// The index as bytes with a checksum, and back. `subject` names them in the DataError for what is damaged.
Bytes index_bytes(const ImageIndex& index);
ImageIndex parse_index(std::span<const uint8_t> bytes, const std::string& subject);

/// The folder itself, or the folder `imagenet` in it, that has a part `train`; empty where neither has.
std::filesystem::path find_image_folder(const std::filesystem::path& dir);

/// Lists DIR/train/CLASS/* and the part that is tested on (data/class_folders.h): files that end in .jpg, .jpeg or
/// .png, in any case. Classes are the folders of train in the order of their names. Throws DataError for another
/// layout.
ImageIndex list_images(const std::filesystem::path& dir);

/// Reads width and height from the headers of all files, in `threads` threads.
void read_image_sizes(ImageIndex& index, const std::filesystem::path& dir, int threads);

/// Lists a folder with the images' sizes. These are kept in `cache`, a folder that is made where it is missing, and
/// read again when a file's name, size or time of change is another. Without a cache, or where it cannot be written,
/// each call reads them.
ImageIndex index_of_folder(const std::filesystem::path& dir, const std::filesystem::path& cache, int threads);

}  // namespace kb
