#include "data/text/length_buckets.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/error.h"

namespace kb {
namespace {

/// The different lengths, ascending, from index 1 on, and how many sequences are at most so long. Index 0: none are.
struct LengthCounts {
  std::vector<int64_t> lengths = {0}, counts = {0};

  explicit LengthCounts(std::vector<int64_t> all) {
    std::sort(all.begin(), all.end());
    for (size_t i = 0; i < all.size(); ++i)
      if (i + 1 == all.size() || all[i + 1] != all[i]) {
        lengths.push_back(all[i]);
        counts.push_back(static_cast<int64_t>(i) + 1);
      }
  }
  size_t different() const { return lengths.size() - 1; }
  /// Returns the elements of a bucket that ends with length `last`, the bucket before it with length `before`.
  int64_t elements(size_t before, size_t last) const { return lengths[last] * (counts[last] - counts[before]); }
};

/// The least number of elements that buckets of the lengths up to each index have, and the index at which the last
/// bucket but one ends.
struct BucketStage {
  std::vector<int64_t> elements;
  std::vector<size_t> before;
};

/// Fills the entries [first, last] of a stage with one bucket more than `fewer` has. The best end of the bucket before
/// is monotone in the index, since elements(a, c) + elements(b, d) <= elements(a, d) + elements(b, c) for a <= b <= c
/// <= d: the entry in the middle halves the range that the others search.
void fill_stage(const LengthCounts& counts, const BucketStage& fewer, size_t first, size_t last, size_t least,
                size_t most, BucketStage& stage) {
  if (first > last) return;
  const size_t middle = first + (last - first) / 2;
  int64_t best = -1;
  for (size_t before = least; before <= std::min(most, middle - 1); ++before) {
    const int64_t elements = fewer.elements[before] + counts.elements(before, middle);
    if (best >= 0 && elements >= best) continue;
    best = elements;
    stage.before[middle] = before;
  }
  stage.elements[middle] = best;
  fill_stage(counts, fewer, first, middle - 1, least, stage.before[middle], stage);
  fill_stage(counts, fewer, middle + 1, last, stage.before[middle], most, stage);
}

void check_lengths(std::span<const int64_t> lengths, int64_t buckets) {
  if (buckets < 1) throw DataError({"buckets", "too few", "1 bucket or more", fmt::format("{}", buckets), ""});
  if (lengths.empty())
    throw DataError({"buckets", "no lengths to choose buckets for", "the length of a sample or more", "none", ""});
  const int64_t least = *std::min_element(lengths.begin(), lengths.end());
  if (least < 0) throw DataError({"buckets", "a length is negative", "0 or more", fmt::format("{}", least), ""});
}

}  // namespace

std::vector<int64_t> least_padding(std::span<const int64_t> lengths, int64_t buckets) {
  check_lengths(lengths, buckets);
  const LengthCounts counts({lengths.begin(), lengths.end()});
  const size_t different = counts.different();
  std::vector<BucketStage> stages(1, {std::vector<int64_t>(different + 1), std::vector<size_t>(different + 1)});
  for (size_t last = 1; last <= different; ++last) stages[0].elements[last] = counts.elements(0, last);
  while (std::ssize(stages) < std::min(buckets, static_cast<int64_t>(different))) {
    BucketStage stage{std::vector<int64_t>(different + 1), std::vector<size_t>(different + 1)};
    fill_stage(counts, stages.back(), 1, different, 0, different, stage);
    stages.push_back(std::move(stage));
  }
  std::vector<int64_t> ends;
  for (size_t at = different; at > 0; stages.pop_back()) {
    ends.push_back(counts.lengths[at]);
    at = stages.back().before[at];
  }
  return {ends.rbegin(), ends.rend()};
}

}  // namespace kb
