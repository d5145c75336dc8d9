// From sentences to tokens: tokenizers that are learnt on the training part of parallel texts, and the pairs that they
// make.
#pragma once

#include "data/text/corpus_text.h"
#include "data/text/piece_library.h"
#include "data/text/sequence_pairs.h"
#include "data/text/unit_tokenizer.h"

namespace kb {

/// How a vocabulary is chosen among the words or characters of the training part: the most frequent go first, and of
/// equal ones those whose bytes are less.
struct VocabularyLimits {
  int64_t least_count = 2;  ///< words that come more rarely are unknown
  int64_t most_tokens = 0;  ///< bound of Vocabulary::size, special tokens included; 0: none
};

/// Learns a tokenizer on sentences. Throws DataError when no word is left.
std::shared_ptr<const Tokenizer> learn_unit_tokenizer(TextUnit unit, bool lower_case,
                                                      const std::vector<std::string>& sentences,
                                                      const VocabularyLimits& limits);

/// The tokenizers of both sides.
struct TokenizerPair {
  std::shared_ptr<const Tokenizer> source, target;
};

/// Learns one for each side.
TokenizerPair learn_unit_tokenizers(const CorpusText& text, TextUnit unit, bool lower_case,
                                    const VocabularyLimits& limits);

/// Learns one for both sides, on the sentences of both. Throws DataError as learn_piece_tokenizer does.
TokenizerPair learn_piece_tokenizers(const CorpusText& text, const PieceOptions& options);

/// Tokenizes all parts. Pairs of which a side has no token, as empty lines, are left out, and the note tells how many.
/// Throws DataError when none is left for training.
SequencePairs tokenize_corpus(const CorpusText& text, const TokenizerPair& tokenizers);

}  // namespace kb
