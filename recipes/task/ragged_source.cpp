#include "recipes/task/ragged_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "graph/error.h"

namespace kb {
namespace {

std::vector<size_t> ragged_bytes(size_t sequences) {
  std::vector<size_t> bytes;
  for (size_t i = 0; i < sequences; ++i) bytes.insert(bytes.end(), {0, sizeof(int32_t)});
  return bytes;
}

int64_t length_of(const RaggedTokens& sequences, int64_t sample) { return std::ssize(sequences[sample]); }

}  // namespace

RaggedSource::RaggedSource(std::vector<RaggedTokens> sequences, std::string fingerprint)
    : SampleSource(ragged_bytes(sequences.size())),
      sequences_(std::move(sequences)),
      fingerprint_(std::move(fingerprint)) {
  if (sequences_.empty() || count() == 0) throw Error("a source of sequences: expected one or more, got none");
  for (const RaggedTokens& field : sequences_)
    if (field.count() != count())
      throw Error(fmt::format("a source of sequences: expected {} in each field, as in the first, got {}", count(),
                              field.count()));
}

int64_t RaggedSource::length(int64_t sample) const {
  int64_t longest = 0;
  for (const RaggedTokens& field : sequences_) longest = std::max(longest, length_of(field, sample));
  return longest;
}

int64_t RaggedSource::ragged_values(int64_t sample) const {
  int64_t sum = 0;
  for (const RaggedTokens& field : sequences_) sum += length_of(field, sample);
  return sum;
}

void RaggedSource::read(const SampleRequest& sample, std::span<const std::span<std::byte>> fields) const {
  for (size_t f = 0; f < sequences_.size(); ++f) {
    const std::span<const std::byte> own = std::as_bytes(sequences_[f][sample.number]);
    const std::span<std::byte> padded = fields[2 * f], length = fields[2 * f + 1];
    if (!padded.empty()) {
      if (own.size() > padded.size())
        throw Error(fmt::format("a source of sequences: expected samples of at most {} values, got {} of sample {}",
                                padded.size() / sizeof(int32_t), own.size() / sizeof(int32_t), sample.number));
      std::ranges::copy(own, padded.begin());
      std::ranges::fill(padded.subspan(own.size()), std::byte{0});
    }
    const auto count = static_cast<int32_t>(own.size() / sizeof(int32_t));
    if (!length.empty()) std::memcpy(length.data(), &count, sizeof(count));
  }
}

}  // namespace kb
