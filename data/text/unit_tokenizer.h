// Tokenizers whose tokens are the words of a sentence, or its characters.
//
// Words are separated by spaces. Each character of punctuation, and each symbol, is a word of its own, but for these:
// - a full stop or a comma between two figures 0 to 9 stays inside the word: "3.5", "1,000";
// - a hyphen between two characters that are neither spaces nor punctuation stays: "t-shirt";
// - an apostrophe (' or U+2019) between two such characters begins a word with what follows it: "man's" is "man" "'s".
// So "The man's dog, 3.5 years old, (barks)!" is the words: The man 's dog , 3.5 years old , ( barks ) !
#pragma once

#include "data/text/tokenizer.h"

namespace kb {

enum class TextUnit { character, word };

/// Returns the words or characters of a sentence in their order, views of it.
std::vector<std::string_view> split_units(TextUnit unit, std::string_view sentence);

/// `decode` puts a space between words, and nothing between characters.
class UnitTokenizer : public Tokenizer {
 public:
  /// `lower_case`: whether sentences are turned into lower case first. `vocabulary`: of units.
  UnitTokenizer(TextUnit unit, bool lower_case, Vocabulary vocabulary)
      : unit_(unit), lower_case_(lower_case), vocabulary_(std::move(vocabulary)) {}

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::vector<int32_t> encode(std::string_view sentence) const override;
  std::string decode(std::span<const int32_t> tokens) const override;
  std::string reference(std::string_view sentence) const override;
  bool decodes_to_words() const override { return unit_ == TextUnit::word; }

 private:
  TextUnit unit_;
  bool lower_case_;
  Vocabulary vocabulary_;
};

}  // namespace kb
