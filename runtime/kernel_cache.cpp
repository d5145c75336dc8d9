#include "runtime/kernel_cache.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "graph/error.h"
#include "runtime/atomic_file.h"
#include "runtime/kernel_entry.h"
#include "runtime/sha256.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

// Goes into every key; changes with the way a translation unit is put together here.
constexpr std::string_view kCacheVersion = "1";

// ---- Keys

Sha256 batch_hash(const KernelBatch& batch, const HostCompiler& compiler) {
  Sha256 hash;
  hash.update_field(kCacheVersion);
  hash.update_field(batch.options_salt);
  hash.update_field(compiler.version);
  hash.update_field(compiler.processor);
  hash.update_field(fmt::format("{}", fmt::join(compiler.flags, "\n")));
  hash.update_field(fmt::format("{}", fmt::join(compiler.libraries, "\n")));
  hash.update_field(batch.prelude);
  return hash;
}

std::string finish_key(Sha256 hash, const KernelSource& kernel) {
  hash.update_field(kernel.name);
  hash.update_field(kernel.text);
  return hash.hex();
}

using KeyedKernel = std::pair<std::string, const KernelSource*>;
using Wanted = std::map<std::string, const KernelSource*>;  // by key: equal kernels once

// ---- Reading

void* open_library(const fs::path& path) { return ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); }

// Kernels compiled together are one file under several names: it is read and hashed once, told by its inode. Each name
// is still opened by itself: the loader maps a file once whatever its name, but takes a name that it has seen for the
// file that had it then - an older one with this kernel, perhaps without the others.
class Reader {
 public:
  explicit Reader(const HostCompiler& compiler) : compiler_(compiler) {}

  // The entry point of kernel `key`, or null with the reason in `damage`. A file that is not there is no damage.
  void* find(const fs::path& path, const std::string& key, const std::string& name, std::string& damage) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) return nullptr;
    const auto [position, is_new] = files_.try_emplace({status.st_dev, status.st_ino});
    if (is_new) position->second = check(path);
    const CheckedEntry& file = position->second;
    damage = file.damage;
    if (!damage.empty()) return nullptr;
    if (!std::binary_search(file.entry.keys.begin(), file.entry.keys.end(), key)) {
      damage = "holds other kernels";
      return nullptr;
    }
    void* library = open_library(path);
    void* address = library ? ::dlsym(library, name.c_str()) : nullptr;
    if (!address) damage = ::dlerror();
    return address;
  }

 private:
  CheckedEntry check(const fs::path& path) const {
    try {
      CheckedEntry checked = check_entry(read_file(path));
      if (checked.damage.empty() && checked.entry.processor != compiler_.processor)
        checked.damage = "made for another processor: " + checked.entry.processor;
      return checked;
    } catch (const Error& error) {
      return {.entry = {}, .damage = error.what()};
    }
  }

  const HostCompiler& compiler_;
  std::map<std::pair<dev_t, ino_t>, CheckedEntry> files_;
};

// ---- Compiling

struct Unit {
  std::vector<KeyedKernel> kernels;
  size_t characters = 0;
};

// Longest text first, each to the unit that has least: compile time goes with the length of the text.
std::vector<Unit> split(const Wanted& missing, int jobs) {
  std::vector<KeyedKernel> kernels(missing.begin(), missing.end());
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.second->text.size() > b.second->text.size(); });
  std::vector<Unit> units(std::min<size_t>(static_cast<size_t>(std::max(jobs, 1)), kernels.size()));
  for (const KeyedKernel& kernel : kernels) {
    Unit& unit = *std::min_element(units.begin(), units.end(),
                                   [](const Unit& a, const Unit& b) { return a.characters < b.characters; });
    unit.kernels.push_back(kernel);
    unit.characters += kernel.second->text.size();
  }
  return units;
}

// The #line directives make the compiler call each kernel by its name.
std::string unit_text(const KernelBatch& batch, const Unit& unit) {
  std::string text = "#line 1 \"prelude\"\n" + batch.prelude;
  for (const auto& [key, kernel] : unit.kernels)
    text += fmt::format("\n#line 1 \"{}\"\n{}", kernel->name, kernel->text);
  return text + "\n";
}

// The kernel (or "prelude") that the compiler complained about first; empty where its trouble was another one.
std::string blamed_kernel(const Unit& unit, const std::string& diagnostics) {
  std::pair<size_t, std::string> first = {diagnostics.find("prelude:"), "prelude"};
  for (const auto& [key, kernel] : unit.kernels)
    first = std::min(first, {diagnostics.find(kernel->name + ":"), kernel->name});
  return first.first == std::string::npos ? "" : first.second;
}

// A directory for one call's half-done work; nothing of it survives.
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

// Null, with errno, where the directory cannot be had.
std::optional<fs::path> make_work_directory(const fs::path& parent) {
  std::string path = (parent / fmt::format("{}XXXXXX", kWorkPrefix)).string();
  return ::mkdtemp(path.data()) ? std::optional<fs::path>(path) : std::nullopt;
}

// What killed processes left; an hour is longer than any compilation.
void remove_stale_work(const fs::path& cache_dir) {
  std::error_code error;
  for (const fs::directory_entry& item : fs::directory_iterator(cache_dir, error)) {
    if (!item.path().filename().string().starts_with(kWorkPrefix)) continue;
    const auto written = item.last_write_time(error);
    if (!error && fs::file_time_type::clock::now() - written > std::chrono::hours(1)) fs::remove_all(item, error);
  }
}

// A second name for the file; a copy where the file system has no hard links. An entry that is already there came from
// another process and is as good.
void publish(const fs::path& object, const fs::path& entry) {
  if (::link(object.c_str(), entry.c_str()) == 0 || errno == EEXIST) return;
  if (errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK) return write_file_atomically(entry, read_file(object));
  throw_file_error("write", entry, errno);
}

// Appends in place: the work directory is private until the entry is published.
void append(const fs::path& path, std::string_view bytes) {
  std::FILE* file = std::fopen(path.c_str(), "ab");
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
    const Wanted wanted = distinct_kernels();
    const Wanted missing = read_cache(wanted);
    result_.cache_hits = static_cast<int64_t>(wanted.size() - missing.size());
    result_.compiled = static_cast<int64_t>(missing.size());
    if (!missing.empty()) build(split(missing, jobs));
    for (const std::string& key : keys_) result_.entry.push_back(addresses_.at(key));
    return std::move(result_);
  }

 private:
  Wanted distinct_kernels() {
    Wanted wanted;
    const Sha256 hash = batch_hash(batch_, compiler_);
    for (const KernelSource& kernel : batch_.kernels) {
      keys_.push_back(finish_key(hash, kernel));
      wanted.emplace(keys_.back(), &kernel);
    }
    return wanted;
  }

  fs::path entry_path(const std::string& key) const { return cache_dir_ / (key + std::string(kEntrySuffix)); }

  // Returns what has to be compiled.
  Wanted read_cache(const Wanted& wanted) {
    if (cache_dir_.empty()) return wanted;
    Wanted missing;
    Reader reader(compiler_);
    int64_t damaged = 0;
    std::string example;
    for (const auto& [key, kernel] : wanted) {
      std::string damage;
      void* address = reader.find(entry_path(key), key, kernel->name, damage);
      if (address) {
        addresses_[key] = address;
        continue;
      }
      missing.emplace(key, kernel);
      if (damage.empty()) continue;
      ::unlink(entry_path(key).c_str());
      if (damaged++ == 0) example = fmt::format("{}.so: {}", key, damage);
    }
    if (damaged > 0)
      warn("kernel cache {}: {} damaged, built again ({})", cache_dir_.string(),
           damaged == 1 ? "1 entry was" : fmt::format("{} entries were", damaged), example);
    return missing;
  }

  void build(const std::vector<Unit>& units) {
    const WorkDirectory work = choose_work_directory();
    const std::vector<CompileJob> jobs = write_sources(units, work.path());
    const std::vector<CompileResult> results = compile_shared_objects(compiler_, jobs);
    for (size_t i = 0; i < units.size(); ++i)
      if (!results[i].ok) report_failure(units[i], jobs[i], results[i].diagnostics);
    for (size_t i = 0; i < units.size(); ++i) take(units[i], jobs[i].object, work.in_cache());
  }

  // In the cache itself, so that entries are made by link; elsewhere only where it cannot be written.
  WorkDirectory choose_work_directory() {
    std::string reason = "no cache directory";
    if (!cache_dir_.empty()) {
      std::error_code error;
      fs::create_directories(cache_dir_, error);
      remove_stale_work(cache_dir_);
      if (const std::optional<fs::path> path = make_work_directory(cache_dir_)) return {*path, true};
      const int error_number = error ? error.value() : errno;
      if (error_number == ENOSPC) throw_file_error("write", cache_dir_, ENOSPC);
      reason = fmt::format("kernel cache {}: {}", cache_dir_.string(), std::generic_category().message(error_number));
    }
    warn("{}; kernels are compiled into a temporary directory and not kept (choose another with KB_CACHE)", reason);
    std::error_code ignored;
    const fs::path parent = fs::temp_directory_path(ignored);
    if (const std::optional<fs::path> path = make_work_directory(parent)) return {*path, false};
    throw_file_error("write", parent, errno);
  }

  std::vector<CompileJob> write_sources(const std::vector<Unit>& units, const fs::path& directory) const {
    std::vector<CompileJob> jobs;
    for (size_t i = 0; i < units.size(); ++i) {
      const fs::path source = directory / fmt::format("unit{}.cpp", i);
      append(source, unit_text(batch_, units[i]));
      jobs.push_back({.source = source, .object = directory / fmt::format("unit{}.so", i)});
    }
    return jobs;
  }

  [[noreturn]] void report_failure(const Unit& unit, const CompileJob& job, const std::string& diagnostics) const {
    const std::string kernel = blamed_kernel(unit, diagnostics);
    if (kernel.empty())
      throw Error(fmt::format("the host C++ compiler {} could not do its work:\n{}\ncommand: {}", compiler_.path,
                              diagnostics, command_line(compiler_, job)));
    const fs::path parent = job.source.parent_path().parent_path();
    CompileJob kept = {.source = parent / fmt::format("{}{}.cpp", kFailedPrefix, sha256_hex(diagnostics).substr(0, 16)),
                       .object = "/dev/null"};
    std::error_code ignored;
    fs::rename(job.source, kept.source, ignored);
    throw InternalError(fmt::format("the host C++ compiler refuses kernel {}:\n{}\nrepeat with: {}", kernel,
                                    diagnostics, command_line(compiler_, kept)));
  }

  // Seals, loads, and only then publishes: what cannot be loaded never enters the cache.
  void take(const Unit& unit, const fs::path& object, bool keep) {
    KernelEntry entry = {.processor = compiler_.processor, .compiler = compiler_.version, .keys = {}};
    for (const auto& [key, kernel] : unit.kernels) entry.keys.push_back(key);
    std::sort(entry.keys.begin(), entry.keys.end());
    append(object, make_trailer(read_file(object), entry));
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
    fmt::print(stderr, "kilobatch: {}\n", result_.warnings.back());
  }

  const KernelBatch& batch_;
  const HostCompiler& compiler_;
  const fs::path& cache_dir_;
  std::vector<std::string> keys_;  // of the batch's kernels, in order
  std::map<std::string, void*> addresses_;
  LoadedKernels result_;
};

}  // namespace

std::string kernel_name(std::string_view text) { return "k_" + sha256_hex(text).substr(0, 16); }

std::string kernel_key(const KernelBatch& batch, const KernelSource& kernel, const HostCompiler& compiler) {
  return finish_key(batch_hash(batch, compiler), kernel);
}

LoadedKernels load_kernels(const KernelBatch& batch, const HostCompiler& compiler, const fs::path& cache_dir,
                           int jobs) {
  const auto start = std::chrono::steady_clock::now();
  LoadedKernels kernels = Loader(batch, compiler, cache_dir).run(jobs);
  kernels.jit_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return kernels;
}

}  // namespace kb
