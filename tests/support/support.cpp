#include "tests/support/support.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <sys/mount.h>
#include <algorithm>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace kb::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  if (!text.empty() && text.back() != '\n') lines.back() += " (no newline at the end)";
  return lines;
}

}  // namespace

bool was_asked(std::string_view word) {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  return std::any_of(suite.argv, suite.argv + suite.argc, [&](const char* arg) { return arg == word; });
}

uint32_t asked_number(std::string_view word, uint32_t otherwise) {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  for (int i = 1; i + 1 < suite.argc; ++i)
    if (suite.argv[i] == word) return static_cast<uint32_t>(std::atoi(suite.argv[i + 1]));
  return otherwise;
}

const fs::path& source_dir() {
  static const fs::path path = KB_SOURCE_DIR;
  return path;
}

std::optional<fs::path> data_dir(std::string_view name) {
  const char* set = std::getenv("KB_DATA");
  const fs::path path = (set && *set ? fs::path(set) : source_dir().parent_path() / "shared" / "data") / name;
  if (fs::is_directory(path)) return path;
  fmt::print("no data set {} in {} ({}): nothing to test\n", name, path.parent_path().string(),
             set && *set ? "KB_DATA" : "KB_DATA is not set");
  return std::nullopt;
}

std::string first_difference(const std::string& expected, const std::string& got) {
  if (expected == got) return "";
  const std::vector<std::string> a = split_lines(expected), b = split_lines(got);
  const size_t at = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  std::string out = fmt::format("@@ line {} @@\n", at + 1);
  for (size_t i = at - std::min<size_t>(at, 2); i < at; ++i) out += " " + a[i] + "\n";
  out += at < a.size() ? "-" + a[at] + "\n" : "-(end)\n";
  out += at < b.size() ? "+" + b[at] + "\n" : "+(end)\n";
  return out;
}

void golden(const std::string& name, const std::string& text) {
  const std::string room = std::string(program_invocation_short_name).substr(std::strlen("tests_"));
  const fs::path path = source_dir() / "tests" / room / "golden" / name;
  const bool exists = fs::exists(path);
  const std::string expected = exists ? read_file(path) : "";
  const bool same = exists && expected == text;
  if (!same && was_asked("--refresh")) {
    fmt::print("refreshed {}\n", path.string());
    return write_file(path, text);
  }
  BOOST_TEST(same,
             fmt::format("{}: {}\n{}(to accept: tests_{} -- --refresh)", fs::relative(path, source_dir()).string(),
                         exists ? "differs" : "there is no such file", first_difference(expected, text), room));
}

void skip_golden(const std::string& name) {
  BOOST_TEST_MESSAGE("skipped: " << name << " is compared in a build by g++ for x86-64");
}

size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

boost::test_tools::assertion_result contains(std::string_view text, std::string_view part) {
  boost::test_tools::assertion_result result(text.find(part) != std::string_view::npos);
  if (!result) result.message() << ": expected '" << part << "' in:\n" << text;
  return result;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  if (!in.is_open() || in.bad()) throw std::runtime_error("cannot read " + path.string());
  return out.str();
}

void write_file(const fs::path& path, std::string_view bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path.string());
}

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (fs::temp_directory_path() / "kilobatch-XXXXXX").string();
  if (!::mkdtemp(name.data())) throw std::runtime_error("cannot make a folder like " + name);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void allow_libraries_their_leaks() {
  const char* options = std::getenv("ASAN_OPTIONS");
  ::setenv("ASAN_OPTIONS", (std::string(options ? options : "") + ":detect_leaks=0").c_str(), 1);
}

SmallDisk::SmallDisk(const fs::path& folder, int64_t kibibytes) : folder_(folder) {
  if (::mount("tmpfs", folder.c_str(), "tmpfs", 0, fmt::format("size={}k", kibibytes).c_str()) != 0)
    reason_ = std::strerror(errno);
}

SmallDisk::~SmallDisk() {
  if (mounted()) ::umount2(folder_.c_str(), MNT_DETACH);
}

}  // namespace kb::test
