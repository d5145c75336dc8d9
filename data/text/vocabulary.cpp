#include "data/text/vocabulary.h"

#include <fmt/format.h>

#include "data/error.h"

namespace kb {

Vocabulary::Vocabulary(std::vector<std::string> texts) : texts_{"<pad>", "<s>", "</s>", "<unk>"} {
  texts_.reserve(texts_.size() + texts.size());
  for (std::string& text : texts) {
    const auto token = static_cast<int32_t>(texts_.size());
    if (text.empty())
      throw DataError(
          {"vocabulary", "a text is empty", "a text for every token", fmt::format("none for {}", token), ""});
    const auto [at, is_new] = tokens_.emplace(text, token);
    if (!is_new)
      throw DataError({"vocabulary", "a text comes twice", "one token for each text",
                       fmt::format("\"{}\" for {} and {}", text, at->second, token), ""});
    texts_.push_back(std::move(text));
  }
}

const std::string& Vocabulary::text(int32_t token) const {
  if (token < 0 || token >= size())
    throw DataError({"vocabulary", "it has no such token", fmt::format("a token in [0, {})", size()),
                     fmt::format("{}", token), "the tokens are of another vocabulary"});
  return texts_[static_cast<size_t>(token)];
}

int32_t Vocabulary::token(std::string_view text) const {
  const auto found = tokens_.find(text);
  return found == tokens_.end() ? kUnknownToken : found->second;
}

}  // namespace kb
