// The number of samples that a published data set has, and the file `variant.txt` beside the data, by which a user
// states other numbers. Without that file an incomplete set is refused, so that nobody trains on half a set unawares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace kb {

/// Numbers of samples of the two parts; both are 0 when nothing is published.
struct PartCounts {
  int64_t train = 0, test = 0;
  bool operator==(const PartCounts&) const = default;
};

constexpr const char* kVariantFile = "variant.txt";

/// Returns a size in bytes that no file of the set in `folder` reaches: a header of `header` bytes and twice the
/// samples of both parts, as published or as `variant.txt` states. Returns SIZE_MAX when the numbers are not known.
size_t most_bytes(const std::filesystem::path& folder, PartCounts published, int64_t sample_bytes, int64_t header = 0);

/// Checks the counts read from `folder` against the published ones, or against those that its `variant.txt` states in
/// two lines, "train 1000" and "test 200". Returns whether that file is there. Throws DataError when counts differ.
bool check_counts(const std::string& set, const std::filesystem::path& folder, PartCounts published, PartCounts got);

}  // namespace kb
