// The file format of one entry of the kernel cache: a shared object, or an image for a GPU (cubin, PTX), with a trailer
// behind it, which no loader ever sees. The trailer says which kernels the object holds and for which processor, and
// hashes everything:
//   image | description (text) | magic, size of image, size of description | sha256 of all before
// Also here: the names of everything in a cache directory.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kb {

inline constexpr std::string_view kEntrySuffix = ".so";           // <key>.so
inline constexpr std::string_view kDeviceSuffix = ".cubin";       // <key>.cubin
inline constexpr std::string_view kWorkPrefix = "tmp-";           // a call's half-done work
inline constexpr std::string_view kFailedPrefix = "failed-";      // sources that the compiler refused
inline constexpr std::string_view kCompilerPrefix = "compiler-";  // what is known of a compiler

// The mode of an entry's file: only its owner may write it, since what others may write is not loaded.
inline constexpr unsigned kEntryMode = 0644;

struct KernelEntry {
  std::string processor;          // HostCompiler::processor
  std::string compiler;           // HostCompiler::version
  std::vector<std::string> keys;  // of the kernels inside, sorted
};

// The bytes that go behind `image`.
std::string make_trailer(std::string_view image, const KernelEntry& entry);

struct CheckedEntry {
  KernelEntry entry;
  std::string damage;  // empty: whole, bit for bit as it was written
  size_t image_bytes = 0;
};

CheckedEntry check_entry(std::string_view file);

}  // namespace kb
