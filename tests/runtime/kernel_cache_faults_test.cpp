// Tests a kernel cache with compilers that fail, with full disks, and with work that killed processes left.
#include "tests/runtime/kernel_cache_fixture.h"

#include <boost/test/unit_test.hpp>
#include <cerrno>

#include "runtime/kernel_units.h"
#include "tests/support/file_faults.h"
#include "tests/support/says.h"

namespace kb::kernel_cache_test {

BOOST_FIXTURE_TEST_SUITE(kernel_cache_faults, Fixture)

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
  const std::string text = test::error_of<InternalError>([&] { load(batch, 1); });
  BOOST_TEST(test::contains(text, "refuses kernel " + batch.kernels[2].name + ":\n"));
  BOOST_TEST(test::contains(text, "nonsense"));
  BOOST_TEST(leftovers(cache).empty());
  BOOST_TEST(kb::list_cache(cache).empty());
  const std::string command = text.substr(text.find("repeat with: ") + 13);
  BOOST_TEST(::system((command + " 2>&1 | grep -q nonsense").c_str()) == 0, command);
}

BOOST_AUTO_TEST_CASE(a_refused_prelude_is_named) {
  KernelBatch batch = make_batch(1);
  batch.prelude += "nonsense;\n";
  BOOST_CHECK_EXCEPTION(load(batch), kb::InternalError, test::says("refuses kernel prelude"));
}

// Some file systems have no hard links, or no more for one file: then the entry is a copy.
BOOST_AUTO_TEST_CASE(an_entry_without_a_link_is_a_copy) {
  const fs::path object = scratch / "object";
  kb::test::write_file(object, "code");
  for (const int reason : {0, EPERM, EOPNOTSUPP, EMLINK, ENOSYS, EINVAL}) {
    const kb::test::Lacking lacking(reason, 0);
    const fs::path entry = scratch / std::to_string(reason);
    for (int process = 0; process < 2; ++process) kb::publish(object, entry);
    BOOST_TEST(kb::read_file(entry) == "code");
  }
  BOOST_CHECK_THROW(kb::publish(object, scratch / "missing" / "entry"), kb::Error);
}

BOOST_AUTO_TEST_CASE(units_have_about_equal_lengths) {
  KernelBatch batch = make_batch(5);
  batch.kernels[3].text += std::string(1000, ' ');
  std::vector<std::string> keys;
  const kb::WantedKernels wanted = kb::distinct_kernels(batch, kb::batch_hash(batch, {}), keys);
  const std::vector<kb::KernelUnit> units = kb::split_kernels(wanted, 2);
  BOOST_TEST(units.at(0).kernels.size() == 1u);
  BOOST_TEST(units.at(1).kernels.size() == 4u);
  BOOST_TEST(kb::split_kernels(wanted, 9).size() == 5u);
}

// /bin/false fails without a word; /bin/true takes any arguments, compiles nothing and reports no error.
BOOST_AUTO_TEST_CASE(trouble_of_the_compiler_itself_is_not_a_kernels_fault) {
  compiler.origin = "KB_CXX";
  const auto refused = [&](const std::string& path, const std::string& reason) {
    compiler.path = path;
    BOOST_CHECK_EXCEPTION(
        load(make_batch(2), 1), kb::Error,
        test::says("the host C++ compiler " + path + " (named by KB_CXX) could not do its work:\n" + reason));
    BOOST_TEST(leftovers(cache).empty());
  };
  refused("/bin/false", "it ended with status 1\n");
  refused("/bin/true", "it ended without an error but wrote no unit0.so: is it a C++ compiler?\n");
}

// The compiler fails at its first call, as if it found no room for its own processes beside others of its kind.
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

// g++ names a place in a kernel even if it fails because TMPDIR is full, and the text of the kernel is right.
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
  BOOST_TEST(test::contains(loaded.warnings[0], blocked.string() + ": Not a directory"));
  BOOST_TEST(kb::load_kernels(make_batch(1), compiler, "", 2).warnings.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_an_error_that_leaves_nothing) {
  fs::create_directory(cache);
  if (::mount("tmpfs", cache.c_str(), "tmpfs", 0, "size=16k") != 0) {
    BOOST_TEST_MESSAGE("skipped: no small file system can be mounted: " << std::strerror(errno));
    return;
  }
  BOOST_CHECK_EXCEPTION(load(make_batch(2), 1), kb::Error, test::says("No space left on device"));
  BOOST_TEST(fs::is_empty(cache));
  ::umount2(cache.c_str(), MNT_DETACH);
}

// Work that a killed process left is removed by the next compilation, once it is too old to be in use.
BOOST_AUTO_TEST_CASE(stale_work_is_removed) {
  fs::create_directories(cache / "tmp-stale");
  fs::create_directories(cache / "tmp-alive");
  fs::last_write_time(cache / "tmp-stale", fs::file_time_type::clock::now() - std::chrono::hours(2));
  load(make_batch(1));
  BOOST_TEST(leftovers(cache) == std::vector<std::string>{"tmp-alive"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::kernel_cache_test
