// Functions that the caches of host and device kernels share: they make keys, take equal kernels once, and put kernels
// together into translation units and their objects into the cache.
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

// Hashes all that the kernels of a batch have in common; `compiler` gives its version, options and processor.
Sha256 batch_hash(const KernelBatch& batch, const std::vector<std::string>& compiler);
std::string kernel_key(Sha256 batch_hash, const KernelSource& kernel);

using WantedKernels = std::map<std::string, const KernelSource*>;  // by key: equal kernels once
// `keys` gets those of the batch's kernels, in order.
WantedKernels distinct_kernels(const KernelBatch& batch, const Sha256& batch_hash, std::vector<std::string>& keys);

// Kernels compiled together: key and source.
struct KernelUnit {
  std::vector<std::pair<std::string, const KernelSource*>> kernels;
  size_t characters = 0;
};
// At most `units` of about equal lengths.
std::vector<KernelUnit> split_kernels(const WantedKernels& wanted, size_t units);
// The #line directives make a compiler call each kernel by its name.
std::string unit_text(const KernelBatch& batch, const KernelUnit& unit);
// The kernel (or "prelude") of the compiler's first error, else of its first message; empty where its trouble was
// another one.
std::string blamed_kernel(const KernelUnit& unit, const std::string& diagnostics);
std::vector<std::string> sorted_keys(const KernelUnit& unit);

// Entries of a cache directory that were made for one processor, by this user or the administrator. Kernels compiled
// together are one file under several names: it is read and hashed once, told by its inode.
class EntryReader {
 public:
  struct Entry {
    CheckedEntry checked;
    std::string image;
  };

  EntryReader(const std::filesystem::path& cache_dir, std::string processor)
      : folder_(cache_dir), processor_(std::move(processor)) {}
  // The file of this name, which holds kernel `key`; null where there is none, or where it is not to be used, with the
  // reason in `damage`.
  const Entry* find(const std::string& name, const std::string& key, std::string& damage);
  const TrustedFolder& folder() const { return folder_; }

 private:
  Entry check(const TrustedFile& file) const;
  TrustedFolder folder_;
  std::string processor_;
  std::map<std::pair<uint64_t, uint64_t>, Entry> files_;  // by device and inode
};

// A second name for the file; a copy where the file system has no hard links. An entry that is already there came from
// another process and is as good.
void publish(const std::filesystem::path& object, const std::filesystem::path& entry);

}  // namespace kb
