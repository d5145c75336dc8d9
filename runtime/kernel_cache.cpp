#include "runtime/kernel_cache.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "compiler/stopwatch.h"
#include "graph/error.h"
#include "runtime/atomic_file.h"
#include "runtime/file_error.h"
#include "runtime/input_file.h"
#include "runtime/kernel_entry.h"
#include "runtime/kernel_units.h"
#include "runtime/sha256.h"
#include "runtime/standard_streams.h"
#include "runtime/temporary_folder.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

Sha256 host_hash(const KernelBatch& batch, const HostCompiler& compiler) {
  return batch_hash(batch, {compiler.version, compiler.processor, fmt::format("{}", fmt::join(compiler.flags, "\n")),
                            fmt::format("{}", fmt::join(compiler.libraries, "\n"))});
}

// ---- reading kernels from the cache

void* open_library(const fs::path& path) { return ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); }

// Returns the entry point of kernel `key`; null when it cannot be used. Each name of a file is opened by itself. The
// loader maps a file once under all its names, but it takes a name that it has seen before for the file that had it
// then, which may be an older one without the other kernels. Nobody can exchange the file between check and loading: it
// is opened through the descriptor of a folder in which no other user may replace anything.
void* find_kernel(EntryReader& reader, const std::string& key, const std::string& name) {
  if (!reader.find(key)) return nullptr;
  void* library = open_library(reader.path(key));
  void* address = library ? ::dlsym(library, name.c_str()) : nullptr;
  if (!address) reader.refuse(key, ::dlerror());
  return address;
}

// ---- compiling kernels

// A directory for the intermediate files of one call; its destructor removes it.
class WorkDirectory {
 public:
  WorkDirectory(fs::path path, bool in_cache) : path_(std::move(path)), in_cache_(in_cache) {}
  ~WorkDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;
  const fs::path& path() const { return path_; }
  bool in_cache() const { return in_cache_; }

 private:
  fs::path path_;
  bool in_cache_;
};

// Returns nothing, with errno set, when the directory cannot be made.
std::optional<fs::path> make_work_directory(const fs::path& parent) {
  std::string path = (parent / fmt::format("{}XXXXXX", kWorkPrefix)).string();
  return ::mkdtemp(path.data()) ? std::optional<fs::path>(path) : std::nullopt;
}

// Removes directories that killed processes left when they are an hour old: no compilation takes so long.
void remove_stale_work(const fs::path& cache_dir) {
  std::error_code error;
  for (const fs::directory_entry& item : fs::directory_iterator(cache_dir, error)) {
    if (!item.path().filename().string().starts_with(kWorkPrefix)) continue;
    const auto written = item.last_write_time(error);
    if (!error && fs::file_time_type::clock::now() - written > std::chrono::hours(1)) fs::remove_all(item, error);
  }
}

// Appends in place, which is safe: the work directory is private until the entry is published.
void append(const fs::path& path, std::string_view bytes) {
  std::FILE* file = std::fopen(path.c_str(), "abe");
  if (!file) throw_file_error("write", path, errno);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) throw_file_error("write", path, errno);
}

class Loader {
 public:
  Loader(const KernelBatch& batch, const HostCompiler& compiler, const fs::path& cache_dir)
      : batch_(batch), compiler_(compiler), cache_dir_(cache_dir) {}

  LoadedKernels run(int jobs) {
    const WantedKernels wanted = distinct_kernels(batch_, host_hash(batch_, compiler_), keys_);
    const WantedKernels missing = read_cache(wanted);
    result_.cache_hits = static_cast<int64_t>(wanted.size() - missing.size());
    result_.compiled = static_cast<int64_t>(missing.size());
    if (!missing.empty()) build(split_kernels(missing, static_cast<size_t>(std::max(jobs, 1))));
    for (const std::string& key : keys_) result_.entry.push_back(addresses_.at(key));
    return std::move(result_);
  }

 private:
  fs::path entry_path(const std::string& key) const { return cache_dir_ / (key + std::string(kEntrySuffix)); }

  // Loads what the cache has, and returns the kernels that must be compiled.
  WantedKernels read_cache(const WantedKernels& wanted) {
    if (cache_dir_.empty()) return wanted;
    WantedKernels missing;
    EntryReader reader(cache_dir_, kEntrySuffix, compiler_.processor);
    for (const auto& [key, kernel] : wanted) {
      if (void* address = find_kernel(reader, key, kernel->name))
        addresses_[key] = address;
      else
        missing.emplace(key, kernel);
    }
    if (const std::string warning = reader.warning(); !warning.empty()) warn("{}", warning);
    return missing;
  }

  void build(const std::vector<KernelUnit>& units) {
    const WorkDirectory work = choose_work_directory();
    const std::vector<CompileJob> jobs = write_sources(units, work.path());
    std::vector<CompileResult> results = compile_shared_objects(compiler_, jobs);
    // A compiler is several processes, and one of them may have lacked memory beside the others. Alone it may succeed.
    for (size_t i = 0; i < units.size(); ++i)
      if (!results[i].ok && blamed_kernel(units[i], results[i].diagnostics).empty())
        results[i] = compile_shared_objects(compiler_, std::span(&jobs[i], 1))[0];
    for (size_t i = 0; i < units.size(); ++i)
      if (!results[i].ok) report_failure(units[i], jobs[i], results[i].diagnostics);
    for (size_t i = 0; i < units.size(); ++i) take(units[i], jobs[i].object, work.in_cache());
  }

  // Returns a directory in the cache itself, so that entries can be made by hard links; another one only if the cache
  // cannot be written.
  WorkDirectory choose_work_directory() {
    std::string reason = "no cache directory";
    if (!cache_dir_.empty()) {
      int error = make_private_folder(cache_dir_);
      reason = TrustedFolder(cache_dir_).refusal();
      if (error == 0 && reason.empty()) {
        remove_stale_work(cache_dir_);
        if (const std::optional<fs::path> path = make_work_directory(cache_dir_)) return {*path, true};
        error = errno;
      }
      if (error == ENOSPC) throw_file_error("write", cache_dir_, ENOSPC);
      if (reason.empty()) reason = std::generic_category().message(error);
      reason = fmt::format("kernel cache {}: {}", cache_dir_.string(), reason);
    }
    warn("{}; kernels are compiled into a temporary directory and not kept (choose another with KB_CACHE)", reason);
    const fs::path parent = temporary_parent();
    if (const std::optional<fs::path> path = make_work_directory(parent)) return {*path, false};
    throw_file_error("write", parent, errno);
  }

  std::vector<CompileJob> write_sources(const std::vector<KernelUnit>& units, const fs::path& directory) const {
    std::vector<CompileJob> jobs;
    for (size_t i = 0; i < units.size(); ++i) {
      const fs::path source = directory / fmt::format("unit{}.cpp", i);
      append(source, unit_text(batch_, units[i]));
      jobs.push_back({.source = source, .object = directory / fmt::format("unit{}.so", i)});
    }
    return jobs;
  }

  [[noreturn]] void report_failure(const KernelUnit& unit, const CompileJob& job,
                                   const std::string& diagnostics) const {
    const std::string kernel = blamed_kernel(unit, diagnostics);
    if (kernel.empty() || !is_refused(compiler_, job.source))
      throw Error(fmt::format("the host C++ compiler {} (named by {}) could not do its work:\n{}\ncommand: {}",
                              compiler_.path, compiler_.origin, diagnostics, command_line(compiler_, job)));
    const fs::path parent = job.source.parent_path().parent_path();
    CompileJob kept = {.source = parent / fmt::format("{}{}.cpp", kFailedPrefix, sha256_hex(diagnostics).substr(0, 16)),
                       .object = "/dev/null"};
    std::error_code ignored;
    fs::rename(job.source, kept.source, ignored);
    throw InternalError(fmt::format("the host C++ compiler refuses kernel {}:\n{}\nrepeat with: {}", kernel,
                                    diagnostics, command_line(compiler_, kept)));
  }

  // Appends the trailer, loads, and only then publishes: an object that cannot be loaded never enters the cache.
  void take(const KernelUnit& unit, const fs::path& object, bool keep) {
    const KernelEntry entry = {
        .processor = compiler_.processor, .compiler = compiler_.version, .keys = sorted_keys(unit)};
    append(object, make_trailer(read_file(object), entry));
    fs::permissions(object, static_cast<fs::perms>(kEntryMode));
    void* handle = open_library(object);
    if (!handle)
      throw Error(
          fmt::format("compiled kernels cannot be loaded: {}\nhint: where {} is mounted noexec, choose another "
                      "directory with KB_CACHE",
                      ::dlerror(), object.parent_path().parent_path().string()));
    for (const auto& [key, kernel] : unit.kernels) {
      addresses_[key] = ::dlsym(handle, kernel->name.c_str());
      if (!addresses_[key]) throw InternalError(fmt::format("kernel {} does not define {}", key, kernel->name));
      if (keep) publish(object, entry_path(key));
    }
  }

  template <typename... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) {
    result_.warnings.push_back(fmt::format(format, std::forward<Args>(args)...));
    print_error("kilobatch: " + result_.warnings.back());
  }

  const KernelBatch& batch_;
  const HostCompiler& compiler_;
  const fs::path& cache_dir_;
  std::vector<std::string> keys_;  // keys of the batch's kernels, in order
  std::map<std::string, void*> addresses_;
  LoadedKernels result_;
};

}  // namespace

std::string kernel_key(const KernelBatch& batch, const KernelSource& kernel, const HostCompiler& compiler) {
  return kernel_key(host_hash(batch, compiler), kernel);
}

LoadedKernels load_kernels(const KernelBatch& batch, const HostCompiler& compiler, const fs::path& cache_dir,
                           int jobs) {
  const Stopwatch watch;
  LoadedKernels kernels = Loader(batch, compiler, cache_dir).run(jobs);
  kernels.jit_milliseconds = watch.milliseconds();
  return kernels;
}

}  // namespace kb
