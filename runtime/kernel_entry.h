// The format of one file in the kernel cache: a shared object, or an image for a GPU (cubin, PTX), followed by a
// trailer, which loaders ignore. The trailer says which kernels the object holds and for which processor, and has a
// hash of everything:
//   image | description (text) | magic, size of image, size of description | sha256 of all before
// This header also has the names of all files in a cache directory.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kb {

inline constexpr std::string_view kEntrySuffix = ".so";           // a host kernel: <key>.so
inline constexpr std::string_view kDeviceSuffix = ".cubin";       // a device kernel: <key>.cubin
inline constexpr std::string_view kWorkPrefix = "tmp-";           // intermediate files of a call
inline constexpr std::string_view kFailedPrefix = "failed-";      // sources that the compiler refused
inline constexpr std::string_view kCompilerPrefix = "compiler-";  // the record of a compiler

// The mode of an entry's file. Only its owner may write it, since a file that others may write is not loaded.
inline constexpr unsigned kEntryMode = 0644;

struct KernelEntry {
  std::string processor;          // HostCompiler::processor of the entry
  std::string compiler;           // HostCompiler::version of the entry
  std::vector<std::string> keys;  // keys of the kernels inside, sorted
};

// Returns the bytes that follow `image` in the file.
std::string make_trailer(std::string_view image, const KernelEntry& entry);

struct CheckedEntry {
  KernelEntry entry;
  std::string damage;  // empty: the entry is whole, bit for bit as it was written
  size_t image_bytes = 0;
};

CheckedEntry check_entry(std::string_view file);

}  // namespace kb
