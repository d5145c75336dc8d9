#include "runtime/cache_listing.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "graph/error.h"
#include "runtime/atomic_file.h"
#include "runtime/file_error.h"
#include "runtime/kernel_entry.h"
#include "runtime/trusted_folder.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKeyDigits = 64;
// Names begin and end so of what readers of data keep beside the kernels: sizes of images (data/images/index.cpp),
// drawn images (data/sets/glyphs.cpp).
constexpr std::pair<std::string_view, std::string_view> kOfData[] = {{"images-", ".index"}, {"glyphs-", ".pixels"}};

bool is_entry(const fs::path& path) {
  const std::string key = path.stem().string();
  const std::string suffix = path.extension().string();
  return (suffix == kEntrySuffix || suffix == kDeviceSuffix) && key.size() == kKeyDigits &&
         key.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool is_ours(const fs::path& path) {
  const std::string name = path.filename().string();
  return is_entry(path) || name.starts_with(kWorkPrefix) || name.starts_with(kFailedPrefix) ||
         name.starts_with(kCompilerPrefix) || std::ranges::any_of(kOfData, [&](const auto& of) {
           return name.starts_with(of.first) && name.ends_with(of.second);
         });
}

std::vector<fs::path> children(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (const fs::directory_entry& item : fs::directory_iterator(directory, error)) paths.push_back(item.path());
  if (error && error != std::errc::no_such_file_or_directory) throw_file_error("list", directory, error.value());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::pair<dev_t, ino_t> identity(const struct stat& status) { return {status.st_dev, status.st_ino}; }

CheckedEntry check_file(const TrustedFile& file) {
  try {
    return check_entry(file.read());
  } catch (const Error& error) {
    return {.entry = {}, .damage = error.what()};
  }
}

double age_seconds(const struct stat& status) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return now.count() - static_cast<double>(status.st_mtim.tv_sec) - 1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
}

CacheEntry describe(const fs::path& path, const struct stat& status, const CheckedEntry& file) {
  const std::vector<std::string>& keys = file.entry.keys;
  CacheEntry entry = {.path = path,
                      .bytes = status.st_size,
                      .file_kernels = static_cast<int64_t>(keys.size()),
                      .age_s = age_seconds(status),
                      .processor = file.entry.processor,
                      .compiler = file.entry.compiler,
                      .damage = file.damage};
  if (entry.damage.empty() && !std::binary_search(keys.begin(), keys.end(), path.stem().string()))
    entry.damage = "holds other kernels";
  return entry;
}

}  // namespace

std::vector<CacheEntry> list_cache(const fs::path& cache_dir) {
  std::map<std::pair<uint64_t, uint64_t>, CheckedEntry> files;
  std::vector<CacheEntry> entries;
  for (const fs::path& path : children(cache_dir)) {
    struct stat status;
    if (!is_entry(path) || ::lstat(path.c_str(), &status) != 0) continue;
    const TrustedFile file(path);
    if (!file.refusal().empty()) {
      entries.push_back(describe(path, status, {.entry = {}, .damage = file.refusal()}));
    } else if (file.exists()) {
      const auto [position, is_new] = files.try_emplace(file.identity());
      if (is_new) position->second = check_file(file);
      entries.push_back(describe(path, status, position->second));
    }
  }
  return entries;
}

std::vector<CacheEntry> verify_cache(const fs::path& cache_dir) {
  std::vector<CacheEntry> entries = list_cache(cache_dir);
  std::erase_if(entries, [](const CacheEntry& entry) { return entry.damage.empty(); });
  return entries;
}

int64_t cache_bytes(const fs::path& cache_dir) {
  std::set<std::pair<dev_t, ino_t>> seen;
  int64_t bytes = 0;
  for (const fs::path& path : children(cache_dir)) {
    struct stat status;
    if (is_entry(path) && ::stat(path.c_str(), &status) == 0 && seen.insert(identity(status)).second)
      bytes += status.st_size;
  }
  return bytes;
}

int64_t clear_cache(const fs::path& cache_dir) {
  int64_t removed = 0;
  for (const fs::path& path : children(cache_dir)) {
    if (!is_ours(path)) continue;
    std::error_code error;
    fs::remove_all(path, error);
    if (error) throw_file_error("remove", path, error.value());
    removed += is_entry(path);
  }
  return removed;
}

}  // namespace kb
