#include "tests/data/files.h"

#include <fmt/format.h>
#include <libdeflate.h>

#include <boost/test/unit_test.hpp>
#include <stdexcept>

#include <sys/stat.h>

#include "data/data_file.h"
#include "data/gzip.h"
#include "data/sets/find_file.h"
#include "data/whole_file.h"
#include "tests/support/file_faults.h"

namespace kb::test {

Bytes gzip(const Bytes& plain) {
  libdeflate_compressor* compressor = libdeflate_alloc_compressor(6);
  Bytes packed(libdeflate_gzip_compress_bound(compressor, plain.size()));
  packed.resize(libdeflate_gzip_compress(compressor, plain.data(), plain.size(), packed.data(), packed.size()));
  libdeflate_free_compressor(compressor);
  if (packed.empty()) throw std::runtime_error("compression failed");
  return packed;
}

Bytes idx(uint32_t magic, const std::vector<uint32_t>& extents, const Bytes& payload) {
  Bytes out;
  const auto put = [&](uint32_t word) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<uint8_t>(word >> shift));
  };
  put(magic);
  for (const uint32_t extent : extents) put(extent);
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

}  // namespace kb::test

namespace kb::files_test {
namespace {

using kb::Bytes;
using kb::test::data_error;
using kb::test::gzip;

Bytes ramp(size_t size) {
  Bytes out(size);
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<uint8_t>(i * i / 7 + i);
  return out;
}

BOOST_AUTO_TEST_SUITE(data_files)

BOOST_AUTO_TEST_CASE(gzip_unpacks_to_the_plain_file) {
  const kb::test::TemporaryDirectory dir;
  for (const size_t size : {0u, 1u, 1000u, (1u << 20) - 1, 1u << 20, (1u << 20) + 1, 5000000u}) {
    const Bytes plain = ramp(size);
    kb::test::write_file(dir.path() / "a", kb::test::text_of(plain));
    kb::test::write_file(dir.path() / "a.gz", kb::test::text_of(gzip(plain)));
    const kb::test::Stutter stutter(1 << 16);
    BOOST_TEST((kb::read_unpacked(dir.path() / "a") == plain));
    BOOST_TEST((kb::read_unpacked(dir.path() / "a.gz") == plain));
  }
}

BOOST_AUTO_TEST_CASE(large_arrays_lie_on_huge_pages) {
  constexpr size_t kHuge = 2 << 20;
  for (const size_t bytes : {2 * kHuge, 2 * kHuge + 1}) {
    const Bytes large(bytes);
    BOOST_TEST(reinterpret_cast<uintptr_t>(large.data()) % kHuge == 0u);
  }
}

BOOST_AUTO_TEST_CASE(several_members_are_joined) {
  const kb::test::TemporaryDirectory dir;
  // A gzip file ends with the length of its last member only, from which the whole length cannot be told.
  for (const auto& [a, b] : {std::pair{10, 20}, {300000, 20}, {20, 300000}, {5000000, 0}}) {
    Bytes both = gzip(ramp(a)), second = gzip(ramp(b)), plain = ramp(a), rest = ramp(b);
    both.insert(both.end(), second.begin(), second.end());
    plain.insert(plain.end(), rest.begin(), rest.end());
    kb::test::write_file(dir.path() / "a.gz", kb::test::text_of(both));
    BOOST_TEST((kb::read_unpacked(dir.path() / "a.gz") == plain));
  }
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused) {
  const kb::test::TemporaryDirectory dir;
  const Bytes packed = gzip(ramp(300));
  for (size_t size = 0; size < packed.size(); ++size) {
    kb::test::write_file(dir.path() / "a.gz", kb::test::text_of(packed).substr(0, size));
    const std::string text = data_error(dir.path(), [&] { kb::read_unpacked(dir.path() / "a.gz"); });
    BOOST_TEST(text.starts_with("DIR/a.gz: the gzip file is truncated or corrupt\n"), size << ": " << text);
  }
}

BOOST_AUTO_TEST_CASE(no_damaged_byte_changes_the_content) {
  const kb::test::TemporaryDirectory dir;
  const Bytes plain = ramp(300), packed = gzip(plain);
  int refused = 0;
  for (size_t at = 0; at < packed.size(); ++at) {
    Bytes damaged = packed;
    damaged[at] ^= 0x10;
    kb::test::write_file(dir.path() / "a.gz", kb::test::text_of(damaged));
    try {
      BOOST_TEST((kb::read_unpacked(dir.path() / "a.gz") == plain));
    } catch (const kb::DataError&) {
      ++refused;
    }
  }
  // Only the header's time, extra flags and system (6 bytes) and its flag for text may change unnoticed.
  BOOST_TEST(refused >= static_cast<int>(packed.size()) - 7);
}

BOOST_AUTO_TEST_CASE(error_texts) {
  const kb::test::TemporaryDirectory dir;
  const auto message_of = [&](const Bytes& bytes) {
    kb::test::write_file(dir.path() / "a.gz", kb::test::text_of(bytes));
    return data_error(dir.path(), [&] { kb::read_unpacked(dir.path() / "a.gz"); });
  };
  BOOST_TEST(message_of({0, 0, 8, 3}) ==
             "DIR/a.gz: not a gzip file\n"
             "  expected: the first bytes 1f 8b\n"
             "  got:      00 00\n"
             "  hint:     if it is already unpacked, take '.gz' off its name");
  Bytes damaged = gzip(ramp(300));
  damaged[damaged.size() - 8] ^= 1;
  const Bytes whole = gzip(ramp(20));
  damaged.insert(damaged.begin(), whole.begin(), whole.end());
  BOOST_TEST(message_of(damaged) ==
             fmt::format("DIR/a.gz: the gzip file is truncated or corrupt\n"
                         "  expected: a valid stream to its end mark, with its checksum and length\n"
                         "  got:      none at byte {} of {}\n"
                         "  hint:     the file is damaged: fetch it again",
                         whole.size(), damaged.size()));
  BOOST_TEST(data_error(dir.path(), [&] { kb::read_unpacked(dir.path() / "none"); }) ==
             "DIR/none: cannot be read\n"
             "  expected: a readable file\n"
             "  got:      No such file or directory");
}

BOOST_AUTO_TEST_CASE(content_has_a_bound) {
  const kb::test::TemporaryDirectory dir;
  const Bytes plain = ramp(1000);
  kb::test::write_file(dir.path() / "a", kb::test::text_of(plain));
  kb::test::write_file(dir.path() / "a.gz", kb::test::text_of(gzip(plain)));
  for (const char* name : {"a", "a.gz"}) {
    BOOST_TEST((kb::read_unpacked(dir.path() / name, 1000) == plain));
    BOOST_TEST(data_error(dir.path(), [&] { kb::read_unpacked(dir.path() / name, 999); })
                   .starts_with("DIR/" + std::string(name) +
                                ": larger than a file of this data set\n  expected: at most 999 bytes\n"));
  }
  // The end of a file of two members tells the length of the second alone.
  Bytes two = gzip(ramp(90000)), second = gzip(ramp(20000));
  two.insert(two.end(), second.begin(), second.end());
  kb::test::write_file(dir.path() / "two.gz", kb::test::text_of(two));
  BOOST_TEST(kb::read_unpacked(dir.path() / "two.gz", 110000).size() == 110000u);
  BOOST_TEST(data_error(dir.path(), [&] {
               kb::read_unpacked(dir.path() / "two.gz", 100000);
             }).starts_with("DIR/two.gz: larger than a file of this data set\n  expected: at most 100000 bytes\n"));
  // A file with a hole of a terabyte takes no room on the disk.
  std::filesystem::resize_file(dir.path() / "a", uintmax_t{1} << 40);
  std::filesystem::resize_file(dir.path() / "a.gz", uintmax_t{1} << 40);
  for (const char* name : {"a", "a.gz"})
    BOOST_TEST(data_error(dir.path(), [&] { kb::read_unpacked(dir.path() / name, 1 << 20); }) ==
               "DIR/" + std::string(name) +
                   ": larger than a file of this data set\n  expected: at most 1048576 bytes\n"
                   "  got:      1099511627776 bytes\n  hint:     is this another file?");
}

// The file has a hole of 3 GiB before its end.
BOOST_AUTO_TEST_CASE(bytes_behind_two_gigabytes) {
  const kb::test::TemporaryDirectory dir;
  constexpr size_t kHole = size_t{3} << 30;
  kb::test::write_file(dir.path() / "a", "begin");
  std::filesystem::resize_file(dir.path() / "a", kHole);
  const Bytes end = {'e', 'n', 'd'};
  kb::GrowingFile(dir.path() / "a").append(end);
  const kb::DataFile file(dir.path() / "a");
  BOOST_TEST((file.read(kHole, 3) == end));
  BOOST_TEST(data_error(dir.path(), [&] { file.read(kHole, 4); }) ==
             "DIR/a: cannot be read to its end\n  expected: 3221225476 bytes\n  got:      3221225475 bytes");
}

// Opening a FIFO without a writer would wait for ever.
BOOST_AUTO_TEST_CASE(what_is_no_file_is_refused_by_name) {
  const kb::test::TemporaryDirectory dir;
  BOOST_REQUIRE(::mkfifo((dir.path() / "fifo").c_str(), 0600) == 0);
  std::filesystem::create_symlink(dir.path() / "loop", dir.path() / "loop");
  std::filesystem::create_symlink("/dev/zero", dir.path() / "zero");
  const std::pair<const char*, std::string> cases[] = {
      {"fifo", "a FIFO"}, {"loop", "Too many levels of symbolic links"}, {"zero", "a device"}, {".", "a folder"}};
  for (const auto& [name, what] : cases)
    BOOST_TEST(data_error(dir.path(), [&] { kb::read_unpacked(dir.path() / name); }) ==
               "DIR/" + std::string(name) + ": cannot be read\n  expected: a readable file\n  got:      " + what);
  // find_data_file() returns such a path, so that reading it reports what it is.
  const kb::FileSearch search{"set", {}, false, "fetch it"};
  BOOST_TEST(kb::find_data_file(search, dir.path(), "fifo").filename() == "fifo");
  BOOST_TEST(kb::find_data_file(search, dir.path(), "loop").filename() == "loop");
  std::filesystem::create_directory(dir.path() / "a");  // some tools unpack a.gz into a folder a/
  kb::test::write_file(dir.path() / "a.gz", "x");
  BOOST_TEST(kb::find_data_file(search, dir.path(), "a").filename() == "a.gz");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb::files_test
