// Sequences of tokens: numbers below a vocabulary, which stand for bytes or pieces of a text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace kb {

/// Tokens of one part of a text. Several threads may call its functions at once.
class TokenSequence {
 public:
  virtual ~TokenSequence() = default;
  virtual int64_t count() const = 0;
  /// Writes the tokens [begin, begin + to.size()). They must be there.
  virtual void copy(int64_t begin, std::span<int32_t> to) const = 0;
};

/// A text as tokens, in its two parts.
struct TokenText {
  std::string name;
  std::string fingerprint;  ///< 16 hexadecimal digits: a hash of the tokens of both parts
  int64_t vocabulary = 0;   ///< the tokens lie in [0, vocabulary)
  bool are_bytes = false;   ///< whether a token is a byte of the text
  std::shared_ptr<const TokenSequence> train, test;
};

}  // namespace kb
