// A drawn language: texts of invented words whose entropy is known exactly, so that a model's loss can be held against
// the least that any model can reach.
#pragma once

#include "data/text/token_sequence.h"

namespace kb {

/// The language: classes of words follow each other as a Markov chain; within its class a word is drawn by Zipf's law,
/// with a frequency of one over its rank. A space follows every word; the only word of the class 0 is a full stop,
/// which a line feed follows.
struct WordsSpec {
  int64_t train_bytes = 4'000'000, test_bytes = 131'072;
  int64_t classes = 9;           ///< at least 2
  int64_t words_per_class = 40;  ///< but in the class 0
  uint64_t seed = 1;             ///< of the lexicon and of the text
};

/// Returns the exact entropy rate of the language in nats a byte: the mean over words of the entropy of the next class
/// and of the next word in it, over the mean length of a word in bytes. Draws no text.
double words_entropy(const WordsSpec& spec = {});

/// Returns the exact loss in nats a byte of a model that knows the frequencies of the language's bytes, and nothing of
/// their order. Draws no text.
double words_unigram_loss(const WordsSpec& spec = {});

/// Returns a drawn text, whose tokens are bytes.
TokenText words_text(const WordsSpec& spec = {});

}  // namespace kb
