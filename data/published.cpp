#include "data/published.h"

#include <fmt/format.h>

#include <fstream>
#include <optional>

#include "data/error.h"

namespace kb {
namespace fs = std::filesystem;
namespace {

std::string text(PartCounts counts) { return fmt::format("train {}, test {}", counts.train, counts.test); }

std::optional<PartCounts> stated_counts(const fs::path& file) {
  std::ifstream in(file);
  if (!in) return std::nullopt;
  PartCounts counts;
  std::string train, test, more;
  if (in >> train >> counts.train >> test >> counts.test && train == "train" && test == "test" && !(in >> more))
    return counts;
  throw DataError({file.string(), "not understood", "two lines: 'train N' and 'test M', the samples of the two parts",
                   "another text", "it states what a variant of a published data set holds"});
}

std::string counts_hint(const std::string& set, PartCounts published, PartCounts got) {
  if (got == PartCounts{published.test, published.train})
    return "the files of the two parts were exchanged: check the names";
  return fmt::format("fetch {} again; to use a variant on purpose, put the lines 'train {}' and 'test {}' into {}", set,
                     got.train, got.test, kVariantFile);
}

}  // namespace

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
