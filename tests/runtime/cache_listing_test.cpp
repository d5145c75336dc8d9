#include "runtime/cache_listing.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "runtime/atomic_file.h"
#include "runtime/input_file.h"
#include "runtime/kernel_entry.h"
#include "runtime/sha256.h"
#include "tests/support/support.h"

namespace kb::cache_listing_test {

namespace fs = std::filesystem;

namespace {

const std::string kFirst(64, 'a'), kSecond(64, 'b'), kThird(64, 'c');

// A folder with a cache: two names of one sound file, a damaged file, files that compilations left, and two files that
// are not the cache's.
struct Fixture {
  kb::test::TemporaryDirectory cache;
  std::string sound = "image" + kb::make_trailer("image", {.processor = "Vendor 1 2 features 3",
                                                           .compiler = "g++ (Debian) 12",
                                                           .keys = {kFirst, kSecond}});
  Fixture() {
    kb::write_file_atomically(cache / (kFirst + ".so"), sound);
    fs::create_hard_link(cache / (kFirst + ".so"), cache / (kSecond + ".so"));
    kb::write_file_atomically(cache / (kThird + ".so"), sound.substr(1));
    kb::write_file_atomically(cache / "compiler-12.txt", "1\n2\n");
    kb::write_file_atomically(cache / "failed-12.cpp", "x");
    fs::create_directory(cache / "tmp-12");
    kb::write_file_atomically(cache / "tmp-12/unit0.cpp", "x");
    kb::write_file_atomically(cache / "thesis.tex", "not ours");
    kb::write_file_atomically(cache / "libother.so", "not ours");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(cache_listing, Fixture)

BOOST_AUTO_TEST_CASE(lists_every_entry) {
  const std::vector<kb::CacheEntry> entries = kb::list_cache(cache.path());
  BOOST_REQUIRE_EQUAL(entries.size(), 3u);
  BOOST_TEST(entries[0].path == cache / (kFirst + ".so"));
  BOOST_TEST(entries[0].bytes == static_cast<int64_t>(sound.size()));
  BOOST_TEST(entries[0].file_kernels == 2);
  BOOST_TEST(entries[0].processor == "Vendor 1 2 features 3");
  BOOST_TEST(entries[0].compiler == "g++ (Debian) 12");
  BOOST_TEST(entries[0].age_s >= -1);
  BOOST_TEST(entries[0].age_s < 60);
  BOOST_TEST(entries[0].damage == "");
  BOOST_TEST(entries[1].damage == "");
  BOOST_TEST(entries[2].damage == "content differs from its hash");
}

BOOST_AUTO_TEST_CASE(verifies) {
  const std::vector<kb::CacheEntry> damaged = kb::verify_cache(cache.path());
  BOOST_REQUIRE_EQUAL(damaged.size(), 1u);
  BOOST_TEST(damaged[0].path == cache / (kThird + ".so"));
}

BOOST_AUTO_TEST_CASE(an_entry_under_a_wrong_name_is_damaged) {
  const std::string wrong = fmt::format("{:d>64}.so", "");
  fs::rename(cache / (kSecond + ".so"), cache / wrong);
  BOOST_TEST(kb::list_cache(cache.path())[2].damage == "holds other kernels");
}

BOOST_AUTO_TEST_CASE(bytes_count_a_file_once) {
  BOOST_TEST(kb::cache_bytes(cache.path()) == static_cast<int64_t>(2 * sound.size() - 1));
}

BOOST_AUTO_TEST_CASE(clears_its_own_and_nothing_else) {
  for (const std::string& kept : {std::string("images-0.index"), std::string("glyphs-0.pixels"),
                                  std::string("own.pixels"), std::string("deed.so"), kFirst + ".cubin"})
    kb::write_file_atomically(cache / kept, "of data");
  BOOST_TEST(kb::clear_cache(cache.path()) == 4);
  BOOST_TEST(std::distance(fs::directory_iterator(cache.path()), fs::directory_iterator()) == 4);
  BOOST_TEST(kb::read_file(cache / "thesis.tex") == "not ours");
  BOOST_TEST(kb::read_file(cache / "libother.so") == "not ours");
}

BOOST_AUTO_TEST_CASE(no_directory_is_an_empty_cache) {
  BOOST_TEST(kb::list_cache(cache / "none").empty());
  BOOST_TEST(kb::clear_cache(cache / "none") == 0);
  BOOST_CHECK_THROW(kb::list_cache(cache / "thesis.tex"), kb::Error);
}

// A program other than Kilobatch may write a right hash.
BOOST_AUTO_TEST_CASE(sizes_in_a_trailer_are_checked) {
  constexpr size_t kDigest = 32;
  const std::string hashed = sound.substr(0, sound.size() - kDigest);
  // The sizes of the image and of the description stand there.
  for (const size_t place : {hashed.size() - 16, hashed.size() - 8})
    for (const int change : {-1, 1, 100}) {
      std::string changed = hashed;
      changed[place] = static_cast<char>(changed[place] + change);
      kb::Sha256 hash;
      hash.update(changed);
      const kb::Sha256::Digest digest = hash.digest();
      changed.append(digest.begin(), digest.end());
      BOOST_TEST(kb::check_entry(changed).damage == "sizes in the trailer are wrong");
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::cache_listing_test
