#include "data/text/sequence_pairs.h"

#include <fmt/format.h>

#include "data/content_hash.h"
#include "data/error.h"

namespace kb {
namespace {

uint64_t hash_of(uint64_t key, const Vocabulary& vocabulary) {
  for (int32_t token = kSpecialTokens; token < vocabulary.size(); ++token) {
    const std::string& text = vocabulary.text(token);
    key = content_hash(key, text.data(), text.size());
  }
  return key;
}

uint64_t hash_of(uint64_t key, const RaggedTokens& tokens) {
  key = content_hash(key, tokens.offsets.data(), tokens.offsets.size() * sizeof(int64_t));
  return content_hash(key, tokens.values.data(), tokens.values.size() * sizeof(int32_t));
}

}  // namespace

std::span<const int32_t> RaggedTokens::operator[](int64_t sequence) const {
  const auto begin = offsets[static_cast<size_t>(sequence)], end = offsets[static_cast<size_t>(sequence) + 1];
  return std::span(values).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

void RaggedTokens::append(std::span<const int32_t> sequence) {
  values.insert(values.end(), sequence.begin(), sequence.end());
  offsets.push_back(static_cast<int64_t>(values.size()));
}

std::string fingerprint_of(const SequencePairs& pairs) {
  if (pairs.train.count() == 0)
    throw DataError({pairs.name, "no pairs to train on", "a training pair or more", "none", ""});
  uint64_t key = hash_of(hash_of(0, pairs.source.tokenizer->vocabulary()), pairs.target.tokenizer->vocabulary());
  for (const PairPart* part : {&pairs.train, &pairs.valid, &pairs.test}) {
    if (part->source.count() != part->target.count())
      throw DataError({pairs.name, "a part has sources without targets", "as many sources as targets",
                       fmt::format("{} and {}", part->source.count(), part->target.count()), ""});
    key = hash_of(hash_of(key, part->source), part->target);
  }
  return fmt::format("{:016x}", key);
}

}  // namespace kb
