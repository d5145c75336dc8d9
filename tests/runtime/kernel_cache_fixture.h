// A kernel cache in a folder of its own, and kernels to put into it.
#pragma once
#include <dlfcn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include "graph/error.h"
#include "runtime/atomic_file.h"
#include "runtime/cache_listing.h"
#include "runtime/input_file.h"
#include "runtime/kernel_cache.h"
#include "runtime/kernel_entry.h"
#include "tests/support/support.h"

namespace kb::kernel_cache_test {

namespace fs = std::filesystem;
using kb::HostCompiler;
using kb::KernelBatch;
using kb::LoadedKernels;
using kb::test::TemporaryDirectory;
using test::contains;

#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

using Kernel = double (*)(double);

// Kernel i computes factor * x + i.
inline KernelBatch make_batch(int kernels) {
  KernelBatch batch{.prelude = "static const double factor = 3;\n", .kernels = {}, .options_salt = "test"};
  for (int i = 0; i < kernels; ++i) {
    const std::string body = "(double x) { return factor * x + " + std::to_string(i) + "; }\n";
    const std::string name = "k_" + std::to_string(i);
    batch.kernels.push_back({.name = name, .text = "extern \"C\" double " + name + body});
  }
  return batch;
}

struct Fixture {
  TemporaryDirectory scratch;
  fs::path cache = scratch / "cache";
  HostCompiler compiler = [this] {
    kb::RuntimeOptions options = kb::RuntimeOptions::from_environment();
    options.cache_dir = cache;
    return kb::find_host_compiler(options);
  }();

  LoadedKernels load(const KernelBatch& batch, int jobs = 2) const {
    return kb::load_kernels(batch, compiler, cache, jobs);
  }
  fs::path entry(const KernelBatch& batch, size_t kernel) const {
    return cache / (kb::kernel_key(batch, batch.kernels[kernel], compiler) + ".so");
  }
};

inline void check_values(const LoadedKernels& loaded) {
  for (size_t i = 0; i < loaded.entry.size(); ++i)
    BOOST_REQUIRE_EQUAL(reinterpret_cast<Kernel>(loaded.entry[i])(2), 6.0 + static_cast<double>(i));
}

// Returns the names of work directories and temporary files, none of which may ever stay.
inline std::vector<std::string> leftovers(const fs::path& directory) {
  std::vector<std::string> names;
  for (const fs::directory_entry& item : fs::directory_iterator(directory)) {
    const std::string name = item.path().filename().string();
    if (name.starts_with(kb::kWorkPrefix) || name.ends_with(".tmp")) names.push_back(name);
  }
  return names;
}

// Changes a byte in place, as a bad disk would.
inline void change_byte(const fs::path& path, int64_t offset_from_end) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-offset_from_end, std::ios::end);
  const char byte = static_cast<char>(file.get() ^ 0x10);
  file.seekp(-offset_from_end, std::ios::end);
  file.put(byte);
}

// Starts `body` in a child process. The exit code of the child is the value of `body`; Boost must not run in it.
inline pid_t start_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 99;
    try {
      code = body();
    } catch (...) {
    }
    ::_exit(code);
  }
  return child;
}

// Waits for the child and returns its exit code; -1 if a signal ended it.
inline int leave_code(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Returns the inodes of the cache's files that this process has mapped. A file with several names counts once.
inline std::set<uint64_t> mapped_files(const fs::path& cache) {
  std::set<uint64_t> inodes;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(cache.string()) == std::string::npos) continue;
    std::istringstream fields(line);
    std::string range, rights, offset, device;
    uint64_t inode = 0;
    fields >> range >> rights >> offset >> device >> inode;
    inodes.insert(inode);
  }
  return inodes;
}

}  // namespace kb::kernel_cache_test
