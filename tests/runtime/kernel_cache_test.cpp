
#include "tests/runtime/kernel_cache_fixture.h"

#include <boost/test/unit_test.hpp>

namespace kb::kernel_cache_test {

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
      BOOST_TEST(test::contains(healed.warnings[0], expected));
      BOOST_TEST(!contains(healed.warnings[0], "\n"));
      check_values(healed);
      const LoadedKernels again = load(batch);
      BOOST_TEST(again.compiled == 0);
      BOOST_TEST(again.warnings.empty());
      check_values(again);
    }
  }
}

// The hash of the entry is right, and yet the loader refuses the entry. This process has never loaded it, because the
// loader knows files by name too.
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

// A directory holds kernels of two processors. Each processor finds its own, and takes those of the other for no
// damage.
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

// All processes find the same damage and repair it at the same time.
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

// A warm start compiles nothing and maps each compiled file once, however many kernels it holds. Both starts are in
// fresh processes, because this one must not have mapped any of the files.
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

// A generated kernel reads one element past the end of a heap array, and the sanitizer ends the process.
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
               ::close(STDERR_FILENO);  // hides the sanitizer's report, which is expected
               volatile const double past_the_end = sum(x.data(), 9);
               return static_cast<int>(0 * past_the_end);
             })) != 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::kernel_cache_test
