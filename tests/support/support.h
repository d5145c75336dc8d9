// Helpers that all tests share: where the sources and the data sets lie, golden texts, temporary folders.
// A golden text lies beside the test as tests/ROOM/golden/NAME; `tests_ROOM -- --refresh` rewrites those that differ.
#pragma once
#include <boost/test/tools/assertion_result.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace kb::test {

// The repository's root; also the working directory of every test that ctest starts.
const std::filesystem::path& source_dir();

// Returns the folder of the data set `name` ("mnist") under $KB_DATA, or else under ../shared/data beside the
// repository. If there is no such folder, prints where it was looked for; the test should then return.
std::optional<std::filesystem::path> data_dir(std::string_view name);

// Returns whether the test program was started with this word behind --, as in `tests_runtime -- --all`.
bool was_asked(std::string_view word);
// Returns the number that follows this word there, as in `tests_simt -- --nets 500`, or else `otherwise`.
uint32_t asked_number(std::string_view word, uint32_t otherwise);

// Fails the running test at the first line in which `text` differs from the golden file `name` of the room whose tests
// this program holds.
void golden(const std::string& name, const std::string& text);

void skip_golden(const std::string& name);

// Compares a text that numbers nodes or registers with its golden file. Their order is the one in which g++ for x86-64
// evaluates arguments; another compiler's or processor's is another, so such a build only says that it skips the text.
inline void golden_in_order([[maybe_unused]] const std::string& name, [[maybe_unused]] const std::string& text) {
#if defined(__clang__) || !defined(__x86_64__)
  skip_golden(name);
#else
  golden(name, text);
#endif
}

// Returns the first line in which two texts differ, with up to two lines before it, in the manner of diff -u: "-"
// expected, "+" got. The result is empty for equal texts.
std::string first_difference(const std::string& expected, const std::string& got);

// Returns how many times a text holds a part; the places may overlap.
size_t count_of(std::string_view text, std::string_view part);

// Returns whether a text holds a part; a check of it that fails prints both.
boost::test_tools::assertion_result contains(std::string_view text, std::string_view part);

// Returns the bytes of the whole file. Throws std::runtime_error, which names the file, if it cannot be read.
std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::string_view bytes);

// Makes a new, empty folder, and removes it with all its content at the end of the scope.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// Turns off the search for leaks in programs that this process starts from now on, because MPI, cuDNN and cuBLASLt keep
// memory that a sanitizer calls leaked.
void allow_libraries_their_leaks();

// Mounts a file system of `kibibytes` KiB at an existing folder until the end of the scope. If mounting is not allowed,
// reason() says why.
class SmallDisk {
 public:
  SmallDisk(const std::filesystem::path& folder, int64_t kibibytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return reason_.empty(); }
  const std::string& reason() const { return reason_; }

 private:
  std::filesystem::path folder_;
  std::string reason_;
};

}  // namespace kb::test
