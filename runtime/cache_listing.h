// The kernel cache as its owner sees it: lists what is in it, finds what is damaged, and clears it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kb {

// One entry, `<key>.so` or `<key>.cubin`.
struct CacheEntry {
  std::filesystem::path path;
  int64_t bytes = 0;         // size of the file; the entries of kernels compiled together are one file
  int64_t file_kernels = 0;  // kernels in the file
  double age_s = 0;          // seconds since the file was written
  std::string processor;
  std::string compiler;
  // Empty: the entry is whole and belongs to this user; otherwise its next user deletes and rebuilds it.
  std::string damage;
};

// Returns every entry, checked, sorted by key; nothing if the directory does not exist.
std::vector<CacheEntry> list_cache(const std::filesystem::path& cache_dir);

// Returns the entries with damage.
std::vector<CacheEntry> verify_cache(const std::filesystem::path& cache_dir);

// Returns the bytes on the disk; a file with several names counts once.
int64_t cache_bytes(const std::filesystem::path& cache_dir);

// Removes what the cache and the readers of data wrote, and nothing else in the directory; returns the number of
// entries removed.
int64_t clear_cache(const std::filesystem::path& cache_dir);

}  // namespace kb
