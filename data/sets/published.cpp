#include "data/sets/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "data/data_file.h"
#include "data/error.h"

namespace kb {
namespace fs = std::filesystem;
namespace {

std::string text(PartCounts counts) { return fmt::format("train {}, test {}", counts.train, counts.test); }

std::optional<PartCounts> stated_counts(const fs::path& path) {
  constexpr size_t kMost = 4096;  // bytes; two lines fit with many blanks
  std::error_code error;
  if (fs::status(path, error).type() == fs::file_type::not_found) return std::nullopt;
  const DataFile file(path);
  const Bytes bytes = file.read(0, std::min(file.size(), kMost));
  std::istringstream in(std::string(bytes.begin(), bytes.end()));
  PartCounts counts;
  std::string train, test, more;
  if (in >> train >> counts.train >> test >> counts.test && train == "train" && test == "test" && !(in >> more) &&
      file.size() <= kMost && counts.train > 0 && counts.test > 0)
    return counts;
  throw DataError({path.string(), "not understood", "two lines: 'train N' and 'test M', the samples of the two parts",
                   "another text", "it states what a variant of a published data set holds"});
}

std::string counts_hint(const std::string& set, PartCounts published, PartCounts got) {
  if (got == PartCounts{published.test, published.train})
    return "the files of the two parts were exchanged: check the names";
  return fmt::format("fetch {} again; to use a variant on purpose, put the lines 'train {}' and 'test {}' into {}", set,
                     got.train, got.test, kVariantFile);
}

}  // namespace

size_t most_bytes(const fs::path& folder, PartCounts published, int64_t sample_bytes, int64_t header) {
  const PartCounts counts = stated_counts(folder / kVariantFile).value_or(published);
  if (counts == PartCounts{}) return SIZE_MAX;
  int64_t samples = 0, bytes = 0;
  const bool beyond = __builtin_add_overflow(counts.train, counts.test, &samples) ||
                      __builtin_mul_overflow(samples, 2 * sample_bytes, &bytes) ||
                      __builtin_add_overflow(bytes, header, &bytes);
  return beyond ? SIZE_MAX : static_cast<size_t>(bytes);
}

bool check_counts(const std::string& set, const fs::path& folder, PartCounts published, PartCounts got) {
  const fs::path file = folder / kVariantFile;
  if (const std::optional<PartCounts> stated = stated_counts(file)) {
    if (*stated == got) return true;
    throw DataError({folder.string(), fmt::format("the data is not what {} states", kVariantFile), text(*stated),
                     text(got), "correct that file, or the data"});
  }
  if (published == PartCounts{} || published == got) return false;
  throw DataError({folder.string(), fmt::format("this is not the whole of {}", set), text(published), text(got),
                   counts_hint(set, published, got)});
}

}  // namespace kb
