// Files of tokens as llm.c writes them (dev/data/data_common.py): a header of 256 numbers of 32 bits, which begins with
// a magic number, a version and the number of tokens, and then the tokens, of 16 bits (GPT-2) or 32 (Llama 3).
#pragma once

#include <filesystem>

#include "data/text/token_sequence.h"

namespace kb {

/// Returns whether the path is a file of tokens, or a folder that holds one directly.
bool has_token_files(const std::filesystem::path& path);

/// Maps the files of tokens. In a folder, those with "_val" in their names are the test part and the others, in the
/// order of their names, the training part; hidden files are passed over. Without one of the parts, and of a single
/// file, the last hundredth of the tokens, from the last file, is the test part. `vocabulary`: bound of the tokens,
/// which is not checked here. Throws DataError for a file that is truncated or of another format or version.
TokenText open_token_files(const std::filesystem::path& path, int64_t vocabulary);

}  // namespace kb
