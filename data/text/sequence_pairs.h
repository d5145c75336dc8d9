// Pairs of token sequences, a source and its target, for models that make one of the other: translations, figures and
// their words. Sequences keep their own lengths; who trains on them pads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/text/tokenizer.h"

namespace kb {

/// Sequences of tokens, one after another. Sequence i has the values [offsets[i], offsets[i + 1]).
struct RaggedTokens {
  std::vector<int32_t> values;
  std::vector<int64_t> offsets = {0};  ///< count + 1 of them

  int64_t count() const { return static_cast<int64_t>(offsets.size()) - 1; }
  std::span<const int32_t> operator[](int64_t sequence) const;
  void append(std::span<const int32_t> sequence);
};

/// A part of a data set: sequence i of `source` belongs to sequence i of `target`. No sequence is empty, and none has
/// special tokens but kUnknownToken: who trains adds begin and end.
struct PairPart {
  RaggedTokens source = {}, target = {};
  /// The target sentences of a part that is not for training, in the form of Tokenizer::reference; else empty.
  std::vector<std::string> references = {};

  int64_t count() const { return source.count(); }
};

/// One side of all pairs.
struct PairSide {
  std::string language;  ///< "de"; "figures"
  std::shared_ptr<const Tokenizer> tokenizer;
};

struct SequencePairs {
  std::string name;
  std::string fingerprint = {};  ///< 16 hexadecimal digits: a hash of the vocabularies and of the tokens of all parts
  PairSide source, target;       ///< both may have one tokenizer
  PairPart train = {}, valid = {}, test = {};  ///< `valid` and `test` may have no pairs
  std::string note = {};                       ///< lines that tell what was left out or chosen; "": nothing was
};

/// Returns the fingerprint. Throws DataError for parts whose sides have different counts, and for a set without
/// training pairs.
std::string fingerprint_of(const SequencePairs& pairs);

}  // namespace kb
