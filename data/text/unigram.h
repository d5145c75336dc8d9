// The unigram model of a text: it knows how frequent the tokens are, and nothing of their order. A model that has
// learnt anything of the order has a lower loss.
#pragma once

#include "data/text/token_sequence.h"

namespace kb {

/// Returns the unigram model's loss in nats a token: the cross-entropy of the test part under the frequencies of the
/// training part, in each of which every token of the vocabulary counts once more than it occurs. Of a part of more
/// than 2^24 tokens it reads about so many, in blocks at equal distances.
double unigram_loss(const TokenText& text);

}  // namespace kb
