// Tests that kernels are loaded only from files and folders that this user or the administrator owns, and that nobody
// else may write.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <functional>

#include "runtime/atomic_file.h"
#include "runtime/cache_listing.h"
#include "runtime/input_file.h"
#include "runtime/kernel_cache.h"
#include "runtime/kernel_entry.h"
#include "runtime/trusted_folder.h"
#include "tests/support/support.h"

namespace kb::cache_trust_test {

namespace fs = std::filesystem;
using kb::KernelBatch;
using kb::LoadedKernels;

namespace {

using Kernel = int (*)();
constexpr uid_t kStranger = 4711;

// A kernel that answers 42.
const KernelBatch& batch() {
  static const KernelBatch batch{
      .prelude = "",
      .kernels = {{.name = "k_answer", .text = "extern \"C\" int k_answer() { return 42; }"}},
      .options_salt = "trust"};
  return batch;
}

using test::contains;

struct Fixture {
  kb::test::TemporaryDirectory scratch;
  fs::path cache = scratch / "cache";
  kb::HostCompiler compiler = [this] {
    kb::RuntimeOptions options = kb::RuntimeOptions::from_environment();
    options.cache_dir = cache;
    return kb::find_host_compiler(options);
  }();
  fs::path entry = cache / (kb::kernel_key(batch(), batch().kernels[0], compiler) + ".so");

  LoadedKernels load() const {
    LoadedKernels loaded = kb::load_kernels(batch(), compiler, cache, 1);
    BOOST_TEST(reinterpret_cast<Kernel>(loaded.entry[0])() == 42);
    return loaded;
  }

  // Puts an object at `path` that an attacker would like to have loaded: its trailer is sound, but it answers 13. This
  // process's loader has seen none of the paths that lead here.
  void plant(const fs::path& path) const {
    const fs::path source = scratch / "planted.cpp", object = scratch / "planted.so";
    kb::write_file_atomically(source, "extern \"C\" int k_answer() { return 13; }");
    const kb::CompileJob job{source, object};
    BOOST_REQUIRE(kb::compile_shared_objects(compiler, std::span(&job, 1))[0].ok);
    const std::string image = kb::read_file(object);
    fs::remove(path);
    kb::write_file_atomically(
        path, image + kb::make_trailer(image, {.processor = compiler.processor,
                                               .compiler = compiler.version,
                                               .keys = {kb::kernel_key(batch(), batch().kernels[0], compiler)}}));
    fs::permissions(path, fs::perms::owner_all);
  }

  // Loads, and checks that the entry is refused for the reason and built again, and that the next load takes the new
  // one.
  void expect_built_again(const std::string& reason) const {
    BOOST_REQUIRE_EQUAL(kb::verify_cache(cache).size(), 1u);
    BOOST_TEST(contains(kb::verify_cache(cache)[0].damage, reason));
    const LoadedKernels loaded = load();
    BOOST_TEST(loaded.compiled == 1);
    BOOST_REQUIRE_EQUAL(loaded.warnings.size(), 1u);
    BOOST_TEST(contains(loaded.warnings[0], reason));
    BOOST_TEST(load().compiled == 0);
    BOOST_TEST(kb::verify_cache(cache).empty());
  }

  // Checks that loading refuses the whole folder for the reason: nothing in it is used and nothing is kept there.
  void expect_folder_refused(const std::string& reason) const {
    for (int time = 0; time < 2; ++time) {
      const LoadedKernels loaded = load();
      BOOST_TEST(loaded.compiled == 1);
      BOOST_REQUIRE_EQUAL(loaded.warnings.size(), 1u);
      BOOST_TEST(contains(loaded.warnings[0], cache.string() + ": " + reason));
      BOOST_TEST(contains(loaded.warnings[0], "KB_CACHE"));
    }
  }
};

bool is_root() {
  if (::geteuid() == 0) return true;
  BOOST_TEST_MESSAGE("skipped: only root can give files away");
  return false;
}

// Runs `body` in a child process of another user. Returns the child's exit code, which is the value of `body`; -1 if a
// signal ended the child.
int as_stranger(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 99;
    try {
      code = ::setgid(kStranger) == 0 && ::setuid(kStranger) == 0 ? body() : 98;
    } catch (...) {
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(cache_trust, Fixture)

// This test shows that the others can fail: a planted object is loaded if it belongs to this user.
BOOST_AUTO_TEST_CASE(what_is_planted_works) {
  kb::make_private_folder(cache);
  plant(entry);
  const LoadedKernels loaded = kb::load_kernels(batch(), compiler, cache, 1);
  BOOST_TEST(loaded.cache_hits == 1);
  BOOST_TEST(reinterpret_cast<Kernel>(loaded.entry[0])() == 13);
}

BOOST_AUTO_TEST_CASE(the_folder_and_its_files_are_made_for_their_owner) {
  const mode_t before = ::umask(0);
  load();
  ::umask(before);
  struct stat status;
  BOOST_REQUIRE(::stat(cache.c_str(), &status) == 0);
  BOOST_TEST((status.st_mode & 07777) == 0700);
  BOOST_REQUIRE(::stat(entry.c_str(), &status) == 0);
  BOOST_TEST((status.st_mode & 022) == 0);
  BOOST_TEST(load().compiled == 0);
}

BOOST_AUTO_TEST_CASE(a_file_that_others_may_write) {
  load();
  plant(entry);
  for (const mode_t mode : {0775, 0757, 0666}) {
    BOOST_REQUIRE(::chmod(entry.c_str(), mode) == 0);
    expect_built_again("others than its owner may write it (mode ");
    plant(entry);
  }
}

BOOST_AUTO_TEST_CASE(a_strangers_file) {
  if (!is_root()) return;
  load();
  plant(entry);
  BOOST_REQUIRE(::chown(entry.c_str(), kStranger, kStranger) == 0);
  expect_built_again("it belongs to user 4711, and this is user 0");
}

BOOST_AUTO_TEST_CASE(a_symbolic_link) {
  load();
  plant(scratch / "elsewhere.so");
  fs::remove(entry);
  fs::create_symlink(scratch / "elsewhere.so", entry);
  expect_built_again("it is a symbolic link");
}

// Opening a pipe would wait for its other end.
BOOST_AUTO_TEST_CASE(what_is_no_file) {
  load();
  fs::remove(entry);
  BOOST_REQUIRE(::mkfifo(entry.c_str(), 0600) == 0);
  expect_built_again("it is not a regular file");
}

BOOST_AUTO_TEST_CASE(a_folder_that_others_may_write) {
  load();
  plant(entry);
  for (const mode_t mode : {0770, 0777}) {
    BOOST_REQUIRE(::chmod(cache.c_str(), mode) == 0);
    expect_folder_refused("others than its owner may write it (mode ");
  }
  BOOST_REQUIRE(::chmod(cache.c_str(), 0755) == 0);
  const LoadedKernels loaded = kb::load_kernels(batch(), compiler, cache, 1);
  BOOST_TEST(reinterpret_cast<Kernel>(loaded.entry[0])() == 13);
}

BOOST_AUTO_TEST_CASE(a_strangers_folder) {
  if (!is_root()) return;
  load();
  plant(entry);
  BOOST_REQUIRE(::chown(cache.c_str(), kStranger, kStranger) == 0);
  expect_folder_refused("it belongs to user 4711, and this is user 0");
}

// The cache is a folder such as /tmp, in which everybody may add files but may not replace those of another user.
BOOST_AUTO_TEST_CASE(a_folder_of_everybody_in_which_files_are_their_owners) {
  load();
  BOOST_REQUIRE(::chmod(cache.c_str(), 01777) == 0);
  BOOST_TEST(load().compiled == 0);
  if (!is_root()) return;
  plant(entry);
  BOOST_REQUIRE(::chown(entry.c_str(), kStranger, kStranger) == 0);
  expect_built_again("it belongs to user 4711");
}

// An administrator fills a cache that users read.
BOOST_AUTO_TEST_CASE(a_cache_of_the_administrator_serves_everybody) {
  if (!is_root()) return;
  load();
  BOOST_REQUIRE(::chmod(scratch.path().c_str(), 0755) == 0);
  BOOST_REQUIRE(::chmod(cache.c_str(), 0755) == 0);
  BOOST_REQUIRE(::chmod(entry.c_str(), 0755) == 0);
  BOOST_TEST(as_stranger([&] {
               const LoadedKernels loaded = kb::load_kernels(batch(), compiler, cache, 1);
               return loaded.cache_hits == 1 && loaded.warnings.empty() &&
                              reinterpret_cast<Kernel>(loaded.entry[0])() == 42
                          ? 0
                          : 1;
             }) == 0);
}

// Between the check of the folder and the loading its name is given to another folder. The files of the checked one are
// read.
BOOST_AUTO_TEST_CASE(a_folder_that_is_exchanged) {
  load();
  const kb::TrustedFolder folder(cache);
  const std::string sound = kb::read_file(entry);
  fs::rename(cache, scratch / "moved");
  fs::create_directory(cache);
  kb::write_file_atomically(entry, "another's");
  const kb::TrustedFile file = folder.open(entry.filename());
  BOOST_REQUIRE(file.exists());
  BOOST_TEST((file.read() == sound));
  BOOST_TEST((kb::read_file(folder.path(entry.filename())) == sound));
  // Files of another folder have other paths, even if it now has the name of the first.
  BOOST_TEST(kb::TrustedFolder(cache).path("a") != folder.path("a"));
  BOOST_TEST(kb::TrustedFolder(scratch / "moved").path("a") == folder.path("a"));
  // One descriptor stays open for a folder, however often it is asked for.
  const auto open_files = [] { return std::ranges::distance(fs::directory_iterator("/proc/self/fd")); };
  const auto before = open_files();
  for (int i = 0; i < 3; ++i) kb::TrustedFolder(cache).path("a");
  BOOST_TEST(open_files() == before);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::cache_trust_test
