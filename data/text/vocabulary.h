// Vocabularies: the texts that tokens stand for, tokens being numbers from 0 on. The first four tokens are special in
// every vocabulary of sequence pairs and stand for no text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kb {

constexpr int32_t kPaddingToken = 0;  ///< fills a sequence up to the length of its bucket
constexpr int32_t kBeginToken = 1;    ///< what a decoder reads before its first token
constexpr int32_t kEndToken = 2;      ///< what a decoder predicts after its last token
constexpr int32_t kUnknownToken = 3;  ///< stands for every text that the vocabulary lacks
constexpr int32_t kSpecialTokens = 4;

class Vocabulary {
 public:
  /// `texts`: those of the tokens from kSpecialTokens on. Throws DataError for an empty text and for one that comes
  /// twice.
  explicit Vocabulary(std::vector<std::string> texts);

  /// Returns the number of tokens, special ones included: every token lies in [0, size).
  int64_t size() const { return static_cast<int64_t>(texts_.size()); }
  /// Returns the token's text; of a special token its name, "<pad>", "<s>", "</s>" or "<unk>". Throws DataError for a
  /// token outside [0, size).
  const std::string& text(int32_t token) const;
  /// Returns the token of a text, kUnknownToken where the vocabulary lacks it. A special token's name is a text like
  /// others.
  int32_t token(std::string_view text) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::vector<std::string> texts_;
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> tokens_;
};

}  // namespace kb
