// Tokenizers whose tokens are pieces of words that SentencePiece learns: frequent words whole, rare ones in parts, so
// that few texts are unknown. Spaces are parts of the pieces, and `decode` writes sentences as people do.
#pragma once

#include "data/text/piece_library.h"
#include "data/text/tokenizer.h"

namespace kb {

/// Learns pieces on sentences. Tokens are the special ones, then the other pieces in the model's order. Throws
/// DataError when the library is not there, when the sentences allow no such number of pieces, and when there are none.
std::shared_ptr<const Tokenizer> learn_piece_tokenizer(std::span<const std::string> sentences,
                                                       const PieceOptions& options);

}  // namespace kb
