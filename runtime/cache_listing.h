// The kernel cache as its owner sees it: what is in it, what is damaged, away with it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kb {

// One `<key>.so` or `<key>.cubin`.
struct CacheEntry {
  std::filesystem::path path;
  int64_t bytes = 0;         // of the file; the entries of kernels compiled together are one file on the disk
  int64_t file_kernels = 0;  // kernels in the file
  double age_s = 0;          // since it was written
  std::string processor;
  std::string compiler;
  std::string damage;  // empty: whole, and nobody's but this user's. Another is deleted and built again at its next use
};

// Every entry, checked, sorted by key; none where there is no such directory.
std::vector<CacheEntry> list_cache(const std::filesystem::path& cache_dir);

// Those with damage alone.
std::vector<CacheEntry> verify_cache(const std::filesystem::path& cache_dir);

// Bytes on the disk: a file with several names counts once.
int64_t cache_bytes(const std::filesystem::path& cache_dir);

// Removes what the cache wrote, and nothing else that lies there; returns the number of entries removed.
int64_t clear_cache(const std::filesystem::path& cache_dir);

}  // namespace kb
