#include "runtime/kernel_cache.h"

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
#include "runtime/kernel_entry.h"
#include "tests/support/support.h"

namespace kb::kernel_cache_test {

namespace fs = std::filesystem;
using kb::HostCompiler;
using kb::KernelBatch;
using kb::LoadedKernels;
using kb::test::TemporaryDirectory;

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

using Kernel = double (*)(double);

// Kernel i computes factor * x + i.
KernelBatch make_batch(int kernels) {
  KernelBatch batch{.prelude = "static const double factor = 3;\n", .kernels = {}, .options_salt = "test"};
  for (int i = 0; i < kernels; ++i) {
    const std::string body = "(double x) { return factor * x + " + std::to_string(i) + "; }\n";
    const std::string name = kb::kernel_name("double NAME" + body);
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

void check_values(const LoadedKernels& loaded) {
  for (size_t i = 0; i < loaded.entry.size(); ++i)
    BOOST_REQUIRE_EQUAL(reinterpret_cast<Kernel>(loaded.entry[i])(2), 6.0 + static_cast<double>(i));
}

// Work directories and temporary files: what must never be left behind.
std::vector<std::string> leftovers(const fs::path& directory) {
  std::vector<std::string> names;
  for (const fs::directory_entry& item : fs::directory_iterator(directory)) {
    const std::string name = item.path().filename().string();
    if (name.starts_with(kb::kWorkPrefix) || name.ends_with(".tmp")) names.push_back(name);
  }
  return names;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Overwrites in place, as a bad disk would.
void change_byte(const fs::path& path, int64_t offset_from_end) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-offset_from_end, std::ios::end);
  const char byte = static_cast<char>(file.get() ^ 0x10);
  file.seekp(-offset_from_end, std::ios::end);
  file.put(byte);
}

// `body` in a process of its own, which leaves with what it returns; Boost must not run in it.
pid_t start_child(const std::function<int()>& body) {
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
int leave_code(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(kernel_cache, Fixture)

BOOST_AUTO_TEST_CASE(cold_then_warm) {
  const KernelBatch batch = make_batch(7);
  const LoadedKernels cold = load(batch);
  BOOST_TEST(cold.compiled == 7);
  BOOST_TEST(cold.cache_hits == 0);
  check_values(cold);
  const LoadedKernels warm = load(batch);
  BOOST_TEST(warm.compiled == 0);
  BOOST_TEST(warm.cache_hits == 7);
  BOOST_TEST(warm.warnings.empty());
  check_values(warm);
  BOOST_TEST((warm.entry == cold.entry));  // one mapping, not two
  BOOST_TEST(leftovers(cache).empty());
}

BOOST_AUTO_TEST_CASE(a_slash_at_the_end_changes_nothing) {
  cache += "/";
  load(make_batch(1));
  BOOST_TEST(load(make_batch(1)).compiled == 0);
}

BOOST_AUTO_TEST_CASE(only_what_is_missing_is_compiled) {
  load(make_batch(3));
  const LoadedKernels more = load(make_batch(5));
  BOOST_TEST(more.cache_hits == 3);
  BOOST_TEST(more.compiled == 2);
  check_values(more);
}

BOOST_AUTO_TEST_CASE(equal_kernels_are_one) {
  KernelBatch batch = make_batch(2);
  batch.kernels.push_back(batch.kernels[0]);
  const LoadedKernels loaded = load(batch);
  BOOST_TEST(loaded.compiled == 2);
  BOOST_REQUIRE_EQUAL(loaded.entry.size(), 3u);
  BOOST_TEST(loaded.entry[2] == loaded.entry[0]);
}

BOOST_AUTO_TEST_CASE(no_kernels_need_nothing) {
  compiler.path = "/nowhere/g++";
  BOOST_TEST(load(make_batch(0)).entry.empty());
}

BOOST_AUTO_TEST_CASE(jobs_bound_the_files_and_kernels_share_them) {
  const KernelBatch batch = make_batch(12);
  load(batch, 3);
  std::set<ino_t> files;
  for (size_t i = 0; i < 12; ++i) {
    struct stat status;
    BOOST_REQUIRE(::stat(entry(batch, i).c_str(), &status) == 0);
    files.insert(status.st_ino);
  }
  BOOST_TEST(files.size() == 3u);
}

BOOST_AUTO_TEST_CASE(the_loader_maps_a_file_once_whatever_its_name) {
  const KernelBatch batch = make_batch(2);
  const LoadedKernels loaded = load(batch, 1);
  void* first = ::dlopen(entry(batch, 0).c_str(), RTLD_NOW);
  void* second = ::dlopen(entry(batch, 1).c_str(), RTLD_NOW);
  BOOST_TEST(first != nullptr);
  BOOST_TEST(first == second);
}

BOOST_AUTO_TEST_CASE(every_ingredient_is_in_the_key) {
  const KernelBatch batch = make_batch(1);
  std::set<std::string> keys;
  const auto add = [&](const KernelBatch& changed, const HostCompiler& by) {
    keys.insert(kb::kernel_key(changed, changed.kernels[0], by));
  };
  add(batch, compiler);
  add(batch, compiler);
  BOOST_TEST(keys.size() == 1u);
  KernelBatch other = batch;
  other.prelude += " ";
  add(other, compiler);
  other = batch;
  other.options_salt += "2";
  add(other, compiler);
  other = batch;
  other.kernels[0].text += " ";
  add(other, compiler);
  other = batch;
  other.kernels[0].name += "x";
  add(other, compiler);
  HostCompiler by = compiler;
  by.version += " patched";
  add(batch, by);
  by = compiler;
  by.flags.push_back("-fsanitize=address");
  add(batch, by);
  by = compiler;
  by.libraries.push_back("-lmvec");
  add(batch, by);
  by = compiler;
  by.processor += " avx10";
  add(batch, by);
  BOOST_TEST(keys.size() == 9u);
  by = compiler;
  by.path = "/elsewhere/g++";  // the same compiler under another name
  add(batch, by);
  BOOST_TEST(keys.size() == 9u);
}

BOOST_AUTO_TEST_CASE(names_follow_the_text) {
  BOOST_TEST(kb::kernel_name("a") == kb::kernel_name("a"));
  BOOST_TEST(kb::kernel_name("a") != kb::kernel_name("b"));
  BOOST_TEST(kb::kernel_name("a").size() == 18u);
}

// Each kind of damage, done to a copy under the entry's name, in a process that has loaded none of it before.
BOOST_AUTO_TEST_CASE(damage_heals) {
  const KernelBatch batch = make_batch(4);
  load(batch);
  const fs::path victim = entry(batch, 1);
  const std::string whole = kb::read_file(victim);
  const auto written = [&](const std::string& content) {
    return [&victim, content] {
      fs::remove(victim);
      kb::write_file_atomically(victim, content);
    };
  };
  const kb::CheckedEntry sound = kb::check_entry(whole);
  const std::string image = "not an ELF image";
  kb::KernelEntry foreign = sound.entry;
  foreign.processor = "AnotherVendor 1 2";
  kb::KernelEntry others = sound.entry;
  others.keys = {std::string(64, '0')};
  const std::pair<const char*, std::function<void()>> damages[] = {
      {"only 0 bytes", written("")},
      {"no trailer", written(whole.substr(0, whole.size() - 100))},
      {"no trailer", written(std::string(10000, 'j'))},
      {"differs from its hash", [&] { change_byte(victim, 1); }},
      {"differs from its hash", [&] { change_byte(victim, static_cast<int64_t>(whole.size()) - 700); }},
      {"another processor: AnotherVendor 1 2", written(image + kb::make_trailer(image, foreign))},
      {"holds other kernels", written(image + kb::make_trailer(image, others))},
  };
  for (const auto& [expected, damage] : damages) {
    fs::remove(victim);
    kb::write_file_atomically(victim, whole);
    damage();
    const LoadedKernels healed = load(batch);
    BOOST_TEST_CONTEXT(expected) {
      BOOST_TEST(healed.compiled == 1);
      BOOST_TEST(healed.cache_hits == 3);
      BOOST_REQUIRE_EQUAL(healed.warnings.size(), 1u);
      BOOST_TEST(contains(healed.warnings[0], expected), healed.warnings[0]);
      BOOST_TEST(!contains(healed.warnings[0], "\n"));
      check_values(healed);
      const LoadedKernels again = load(batch);
      BOOST_TEST(again.compiled == 0);
      BOOST_TEST(again.warnings.empty());
      check_values(again);
    }
  }
}

// Right by its hash, and yet the loader refuses it. Never loaded here before: the loader knows files by name too.
BOOST_AUTO_TEST_CASE(an_entry_that_does_not_load_heals) {
  const KernelBatch batch = make_batch(1);
  const std::string image = "not an ELF image";
  const std::string key = kb::kernel_key(batch, batch.kernels[0], compiler);
  fs::create_directories(cache);
  kb::write_file_atomically(
      entry(batch, 0),
      image + kb::make_trailer(image, {.processor = compiler.processor, .compiler = compiler.version, .keys = {key}}));
  const LoadedKernels healed = load(batch);
  BOOST_TEST(healed.compiled == 1);
  BOOST_REQUIRE_EQUAL(healed.warnings.size(), 1u);
  check_values(healed);
  BOOST_TEST(load(batch).compiled == 0);
}

// A directory that holds another processor's kernels and ours: each finds its own, nothing is taken for damage.
BOOST_AUTO_TEST_CASE(processors_share_a_directory) {
  const KernelBatch batch = make_batch(2);
  load(batch);
  HostCompiler other = compiler;
  other.processor = "AnotherVendor 1 2";
  BOOST_TEST(kb::load_kernels(batch, other, cache, 2).compiled == 2);
  BOOST_TEST(load(batch).compiled == 0);
  BOOST_TEST(kb::list_cache(cache).size() == 4u);
  BOOST_TEST(kb::verify_cache(cache).empty());
}

BOOST_AUTO_TEST_CASE(many_processes_start_with_an_empty_cache) {
  const KernelBatch batch = make_batch(6);
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(start_child([&] {
      const LoadedKernels loaded = load(batch);
      for (size_t k = 0; k < 6; ++k)
        if (reinterpret_cast<Kernel>(loaded.entry[k])(2) != 6.0 + static_cast<double>(k)) return 1;
      return loaded.warnings.empty() ? 0 : 2;
    }));
  }
  for (const pid_t child : children) BOOST_TEST(leave_code(child) == 0);
  BOOST_TEST(kb::list_cache(cache).size() == 6u);
  BOOST_TEST(kb::verify_cache(cache).empty());
  BOOST_TEST(leftovers(cache).empty());
  BOOST_TEST(load(batch).compiled == 0);
}

// All find the same damage and heal it, over each other's feet.
BOOST_AUTO_TEST_CASE(many_processes_heal_at_once) {
  const KernelBatch batch = make_batch(4);
  load(batch);
  for (size_t i = 0; i < 4; ++i) {
    fs::remove(entry(batch, i));
    kb::write_file_atomically(entry(batch, i), "junk");
  }
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) children.push_back(start_child([&] { return load(batch).entry.size() == 4 ? 0 : 1; }));
  for (const pid_t child : children) BOOST_TEST(leave_code(child) == 0);
  BOOST_TEST(kb::verify_cache(cache).empty());
}

BOOST_AUTO_TEST_CASE(a_missing_compiler_is_named_and_a_warm_cache_needs_none) {
  const KernelBatch batch = make_batch(2);
  load(batch);
  compiler.path = "/nowhere/g++";
  BOOST_TEST(load(batch).compiled == 0);
  BOOST_CHECK_EXCEPTION(load(make_batch(3)), kb::Error, [](const kb::Error& error) {
    const std::string text = error.what();
    return contains(text, "'/nowhere/g++' (named by ") && contains(text, "apt install g++") && contains(text, "KB_CXX");
  });
  BOOST_TEST(leftovers(cache).empty());
}

BOOST_AUTO_TEST_CASE(a_refused_kernel_is_named_with_a_command_that_repeats_it) {
  KernelBatch batch = make_batch(4);
  batch.kernels[2].text += "int broken = nonsense;\n";
  std::string text;
  try {
    load(batch, 1);
  } catch (const kb::InternalError& error) {
    text = error.what();
  }
  BOOST_TEST(contains(text, "refuses kernel " + batch.kernels[2].name + ":\n"), text);
  BOOST_TEST(contains(text, "nonsense"), text);
  BOOST_TEST(leftovers(cache).empty());
  BOOST_TEST(kb::list_cache(cache).empty());
  const std::string command = text.substr(text.find("repeat with: ") + 13);
  BOOST_TEST(::system((command + " 2>&1 | grep -q nonsense").c_str()) == 0, command);
}

BOOST_AUTO_TEST_CASE(a_refused_prelude_is_named) {
  KernelBatch batch = make_batch(1);
  batch.prelude += "nonsense;\n";
  BOOST_CHECK_EXCEPTION(load(batch), kb::InternalError, [](const kb::InternalError& error) {
    return contains(error.what(), "refuses kernel prelude");
  });
}

// /bin/false fails without a word; /bin/true takes any arguments, compiles nothing and reports no error.
BOOST_AUTO_TEST_CASE(trouble_of_the_compiler_itself_is_not_a_kernels_fault) {
  compiler.origin = "KB_CXX";
  const auto refused = [&](const std::string& path, const std::string& reason) {
    compiler.path = path;
    BOOST_CHECK_EXCEPTION(load(make_batch(2), 1), kb::Error, [&](const kb::Error& error) {
      return contains(error.what(),
                      "the host C++ compiler " + path + " (named by KB_CXX) could not do its work:\n" + reason);
    });
    BOOST_TEST(leftovers(cache).empty());
  };
  refused("/bin/false", "it ended with status 1\n");
  refused("/bin/true", "it ended without an error but wrote no unit0.so: is it a C++ compiler?\n");
}

// A compiler that finds no room for its own processes beside others of its kind.
BOOST_AUTO_TEST_CASE(a_compiler_that_fails_in_company_is_asked_alone) {
  const fs::path program = scratch / "cxx", marks = scratch / "marks";
  fs::create_directory(marks);
  kb::write_file_atomically(program, "#!/bin/sh\nif mkdir " + (marks / "first").string() + " 2>/dev/null; then\n" +
                                         "  echo \"cannot execute 'cc1plus': Resource temporarily unavailable\"\n" +
                                         "  exit 1\nfi\nexec " + compiler.path + " \"$@\"\n");
  fs::permissions(program, fs::perms::owner_all);
  compiler.path = program;
  const LoadedKernels loaded = load(make_batch(4));
  BOOST_TEST(loaded.compiled == 4);
  check_values(loaded);
}

// g++ names a place in a kernel where its own temporary files find no room: TMPDIR is full, the text is right.
BOOST_AUTO_TEST_CASE(a_write_that_fails_is_not_a_kernels_fault) {
  const KernelBatch batch = make_batch(1);
  const fs::path program = scratch / "cxx";
  kb::write_file_atomically(
      program, "#!/bin/sh\ncase \" $* \" in *' -fsyntax-only '*) exec " + compiler.path + " \"$@\" ;; esac\necho \"" +
                   batch.kernels[0].name +
                   ":1:5: fatal error: error closing /tmp/cc.s: No space left on device\"\nexit 1\n");
  fs::permissions(program, fs::perms::owner_all);
  compiler.path = program;
  BOOST_CHECK_EXCEPTION(load(batch), kb::Error, [](const kb::Error& error) {
    return contains(error.what(), "could not do its work:\n") && contains(error.what(), "No space left on device");
  });
}

BOOST_AUTO_TEST_CASE(a_text_without_its_function_is_ours) {
  KernelBatch batch = make_batch(1);
  batch.kernels[0].name = "k_elsewhere";
  BOOST_CHECK_THROW(load(batch), kb::InternalError);
  BOOST_TEST(kb::list_cache(cache).empty());
}

BOOST_AUTO_TEST_CASE(a_cache_that_cannot_be_written_is_replaced_for_the_call) {
  kb::write_file_atomically(scratch / "file", "");
  const fs::path blocked = scratch / "file/cache";
  const LoadedKernels loaded = kb::load_kernels(make_batch(3), compiler, blocked, 2);
  BOOST_TEST(loaded.compiled == 3);
  check_values(loaded);
  BOOST_REQUIRE_EQUAL(loaded.warnings.size(), 1u);
  BOOST_TEST(contains(loaded.warnings[0], blocked.string() + ": Not a directory"), loaded.warnings[0]);
  BOOST_TEST(kb::load_kernels(make_batch(1), compiler, "", 2).warnings.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_an_error_that_leaves_nothing) {
  fs::create_directory(cache);
  if (::mount("tmpfs", cache.c_str(), "tmpfs", 0, "size=16k") != 0) {
    BOOST_TEST_MESSAGE("skipped: no small file system can be mounted: " << std::strerror(errno));
    return;
  }
  BOOST_CHECK_EXCEPTION(load(make_batch(2), 1), kb::Error,
                        [](const kb::Error& error) { return contains(error.what(), "No space left on device"); });
  BOOST_TEST(fs::is_empty(cache));
  ::umount2(cache.c_str(), MNT_DETACH);
}

// Left by a killed process: gone with the next compilation, once it is surely nobody's.
BOOST_AUTO_TEST_CASE(stale_work_is_removed) {
  fs::create_directories(cache / "tmp-stale");
  fs::create_directories(cache / "tmp-alive");
  fs::last_write_time(cache / "tmp-stale", fs::file_time_type::clock::now() - std::chrono::hours(2));
  load(make_batch(1));
  BOOST_TEST(leftovers(cache) == std::vector<std::string>{"tmp-alive"}, boost::test_tools::per_element());
}

// The files of the cache that this process has mapped; one of several names counts once.
std::set<uint64_t> mapped_files(const fs::path& cache) {
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

// A warm start compiles nothing and maps each compiled file once, however many kernels it holds. In fresh processes:
// this one must not have mapped any of them.
BOOST_AUTO_TEST_CASE(sixty_kernels_load_warm_from_as_many_files_as_were_compiled) {
  const KernelBatch batch = make_batch(60);
  BOOST_REQUIRE_EQUAL(leave_code(start_child([&] { return load(batch).compiled == 60 ? 0 : 1; })), 0);
  std::set<uint64_t> files;
  for (const kb::CacheEntry& entry : kb::list_cache(cache)) {
    struct stat status;
    BOOST_REQUIRE(::stat(entry.path.c_str(), &status) == 0);
    files.insert(status.st_ino);
  }
  BOOST_TEST(files.size() < 60u);
  BOOST_TEST(leave_code(start_child([&] {
               const LoadedKernels warm = load(batch);
               return warm.compiled == 0 && mapped_files(cache) == files ? 0 : 1;
             })) == 0);
}

// One element past the end of a heap array, read by a generated kernel: the sanitizer ends the process.
BOOST_AUTO_TEST_CASE(sanitizers_cover_the_kernels) {
  if (!kSanitized) return;
  KernelBatch batch{.prelude = "", .kernels = {}, .options_salt = "test"};
  batch.kernels.push_back({.name = "k_sum",
                           .text = "extern \"C\" double k_sum(const double* x, long n) {\n"
                                   "  double sum = 0; for (long i = 0; i < n; ++i) sum += x[i];\n"
                                   "  return sum; }\n"});
  const auto sum = reinterpret_cast<double (*)(const double*, long)>(load(batch).entry[0]);
  const std::vector<double> x(8, 1.0);
  BOOST_TEST(sum(x.data(), 8) == 8);
  BOOST_TEST(leave_code(start_child([&] {
               ::close(STDERR_FILENO);  // the expected report
               volatile const double past_the_end = sum(x.data(), 9);
               return static_cast<int>(0 * past_the_end);
             })) != 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::kernel_cache_test
