// Functions that the caches of host and device kernels share: they make keys, find equal kernels, put kernels together
// into translation units, and put the compiled objects into the cache.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/kernel_batch.h"
#include "runtime/kernel_entry.h"
#include "runtime/sha256.h"
#include "runtime/trusted_folder.h"

namespace kb {

// Hashes all that the kernels of a batch have in common. `compiler` lists its version, options and processor.
Sha256 batch_hash(const KernelBatch& batch, const std::vector<std::string>& compiler);
std::string kernel_key(Sha256 batch_hash, const KernelSource& kernel);

using WantedKernels = std::map<std::string, const KernelSource*>;  // key and source: equal kernels once
// Returns the distinct kernels of a batch. `keys` gets the key of each kernel of the batch, in order.
WantedKernels distinct_kernels(const KernelBatch& batch, const Sha256& batch_hash, std::vector<std::string>& keys);

// Kernels that are compiled together: key and source of each.
struct KernelUnit {
  std::vector<std::pair<std::string, const KernelSource*>> kernels;
  size_t characters = 0;
};
// Splits the kernels into at most `units` units of about equal length.
std::vector<KernelUnit> split_kernels(const WantedKernels& wanted, size_t units);
// Returns the text of a unit. Its #line directives make a compiler name the kernel in a message.
std::string unit_text(const KernelBatch& batch, const KernelUnit& unit);
// Returns the kernel (or "prelude") that the compiler's first error names, or else its first message; empty when the
// compiler had another problem.
std::string blamed_kernel(const KernelUnit& unit, const std::string& diagnostics);
std::vector<std::string> sorted_keys(const KernelUnit& unit);

// Reads entries of a cache directory that were made for one processor by this user or the administrator, and deletes
// those that must not be used. Kernels that were compiled together are one file under several names; the inode tells,
// and it is read and hashed once.
class EntryReader {
 public:
  struct Entry {
    CheckedEntry checked;
    std::string image;
  };

  EntryReader(const std::filesystem::path& cache_dir, std::string_view suffix, std::string processor)
      : cache_dir_(cache_dir), suffix_(suffix), folder_(cache_dir), processor_(std::move(processor)) {}
  // Returns the file that holds kernel `key`; null when there is none, or when it must not be used.
  const Entry* find(const std::string& key);
  // Deletes the file of `key`, and notes why.
  void refuse(const std::string& key, const std::string& damage);
  // Returns a line that counts the files that were refused; empty if there are none.
  std::string warning() const;
  // Returns a path of the file of `key` under which nobody can exchange it.
  std::filesystem::path path(const std::string& key) const { return folder_.path(key + suffix_); }

 private:
  Entry check(const TrustedFile& file) const;
  std::filesystem::path cache_dir_;
  std::string suffix_;
  TrustedFolder folder_;
  std::string processor_;
  int64_t refused_ = 0;
  std::string example_;                                   // the first refused file, and why
  std::map<std::pair<uint64_t, uint64_t>, Entry> files_;  // keyed by device and inode
};

// Gives the file a second name, or copies it where the file system makes no hard link. If the entry exists already,
// another process made it, and it is as good.
void publish(const std::filesystem::path& object, const std::filesystem::path& entry);

}  // namespace kb
