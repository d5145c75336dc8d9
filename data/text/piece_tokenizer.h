// Tokenizers whose tokens are pieces of words that SentencePiece learns: frequent words whole, rare ones in parts, so
// that few texts are unknown. Spaces are parts of the pieces, and `decode` writes sentences as people do.
#pragma once

#include "data/text/piece_library.h"
#include "data/text/tokenizer.h"

namespace kb {

/// Learns pieces on sentences. Throws DataError when the library is not there, when the sentences allow no such number
/// of pieces, and when there are none.
std::shared_ptr<const Tokenizer> learn_piece_tokenizer(std::span<const std::string> sentences,
                                                       const PieceOptions& options);

/// Makes a tokenizer of the content of its file: a model of SentencePiece's own, also one that another program has
/// learnt; for a tokenizer of lower case a line before it says so. Tokens are the special ones, then the other pieces
/// in the model's order. `name`: of the file, for messages. Throws DataError when the library is not there, and for
/// another content.
std::shared_ptr<const Tokenizer> parse_piece_tokenizer(const std::string& name, const std::string& content);

}  // namespace kb
