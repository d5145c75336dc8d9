// Helpers that all tests share: where the sources and the data sets lie, golden texts, temporary folders.
// A golden text lies beside the test as tests/ROOM/golden/NAME; `tests_ROOM -- --refresh` rewrites those that differ.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace kb::test {

// The repository's root; also the working directory of every test that ctest starts.
const std::filesystem::path& source_dir();

// The folder of the data set `name` ("mnist"): under $KB_DATA, else under ../shared/data beside the repository. Where
// it is absent, prints what was looked for, and the test should return.
std::optional<std::filesystem::path> data_dir(std::string_view name);

// Fails the running test at the first line in which `text` differs from the golden file `name` of the room whose tests
// this program holds.
void golden(const std::string& name, const std::string& text);

void skip_golden(const std::string& name);

// Guards a text that numbers nodes or registers: they are made in the order in which g++ evaluates arguments. Built by
// clang, which has another, the test only says so.
inline void golden_in_order([[maybe_unused]] const std::string& name, [[maybe_unused]] const std::string& text) {
#ifdef __clang__
  skip_golden(name);
#else
  golden(name, text);
#endif
}

// The first line in which two texts differ, with up to two lines before it, in the manner of diff -u: "-" expected,
// "+" got. Empty for equal texts.
std::string first_difference(const std::string& expected, const std::string& got);

// The whole file, bytes as they are. Throws std::runtime_error, naming the file, where it cannot be read.
std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::string_view bytes);

// A new, empty folder, removed with all that is in it at the end of the scope.
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

// Settings for programs that this process starts from now on: MPI, cuDNN and cuBLASLt keep what a sanitizer calls
// leaked.
void allow_libraries_their_leaks();

// A file system of its own in a folder that is there, where mounting is allowed; else the reason why not.
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
