// Tokenizers out of files, such as those of a run's folder.
#pragma once

#include <memory>

#include "data/text/tokenizer.h"

namespace kb {

/// Makes a tokenizer of words, characters or pieces of the content of its file (Tokenizer::file). `name`: of the file,
/// for messages. Throws DataError for another content; of pieces also when SentencePiece is not there.
std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& name, const std::string& content);

}  // namespace kb
