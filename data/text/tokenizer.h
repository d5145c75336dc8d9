// Tokenizers: they make tokens of a sentence, and a sentence of tokens.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/vocabulary.h"

namespace kb {

/// Several threads may call its functions at once. Sentences are UTF-8.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual const Vocabulary& vocabulary() const = 0;

  /// Returns the tokens of a sentence, without those of begin and end.
  virtual std::vector<int32_t> encode(std::string_view sentence) const = 0;
  /// Returns the sentence of the tokens before the first end token. Padding and begin tokens leave nothing.
  virtual std::string decode(std::span<const int32_t> tokens) const = 0;
  /// Returns the sentence as `decode` would return it if the vocabulary had all of its texts. A decoded sentence is
  /// compared with it.
  virtual std::string reference(std::string_view sentence) const = 0;
  /// Returns whether `decode` separates words by spaces instead of writing a sentence as people do. BLEU then takes
  /// these words and has no tokenisation of its own.
  virtual bool decodes_to_words() const = 0;
};

}  // namespace kb
