// A source whose samples lie in memory and differ in length.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/text/sequence_pairs.h"
#include "recipes/task/source.h"

namespace kb {

// Its fields are, for each of the sequences, the ragged field and its lengths (ragged_field and length_field of
// recipes/task/task.h): a task of two ragged fields a, b has the fields a, a.length, b, b.length.
class RaggedSource : public SampleSource {
 public:
  // Throws Error where there are no sequences, or those of the fields are not as many.
  RaggedSource(std::vector<RaggedTokens> sequences, std::string fingerprint);

  int64_t count() const override { return sequences_.front().count(); }
  int64_t length(int64_t sample) const override;
  int64_t ragged_values(int64_t sample) const override;
  std::string fingerprint() const override { return fingerprint_; }
  // Throws Error for a sample that is longer than the memory's rows.
  void read(const SampleRequest& sample, std::span<const std::span<std::byte>> fields) const override;

 private:
  std::vector<RaggedTokens> sequences_;
  std::string fingerprint_;
};

}  // namespace kb
