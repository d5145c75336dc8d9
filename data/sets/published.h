// Samples that a published data set is known to hold, and the one way to use less or other: a file `variant.txt` beside
// the data that says so. Without it a set that is not whole is refused, so that nobody trains on half of one unawares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace kb {

/// Samples of the two parts; 0 and 0 where nothing is published.
struct PartCounts {
  int64_t train = 0, test = 0;
  bool operator==(const PartCounts&) const = default;
};

constexpr const char* kVariantFile = "variant.txt";

/// The bytes that no file of the set in `folder` comes near: of twice the samples of both parts, with `header` bytes
/// before them; as published, or as `variant.txt` states. SIZE_MAX where nothing is known.
size_t most_bytes(const std::filesystem::path& folder, PartCounts published, int64_t sample_bytes, int64_t header = 0);

/// Checks what was read from `folder` against the published counts, or those that `variant.txt` in it states in two
/// lines, "train 1000" and "test 200". True where that file is there. Throws DataError where they differ.
bool check_counts(const std::string& set, const std::filesystem::path& folder, PartCounts published, PartCounts got);

}  // namespace kb
