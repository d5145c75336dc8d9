#include "data/text/tokenize_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "data/error.h"
#include "data/text/piece_tokenizer.h"
#include "data/text/unicode.h"

namespace kb {
namespace {

struct CountedText {
  std::string text;
  int64_t count;
};

std::vector<CountedText> count_units(TextUnit unit, bool lower_case, const std::vector<std::string>& sentences) {
  std::unordered_map<std::string, int64_t> counts;
  for (const std::string& sentence : sentences) {
    const std::string text = lower_case ? to_lower_case(sentence) : sentence;
    for (const std::string_view one : split_units(unit, text)) ++counts[std::string(one)];
  }
  std::vector<CountedText> counted;
  for (const auto& [text, count] : counts) counted.push_back({text, count});
  std::sort(counted.begin(), counted.end(), [](const CountedText& a, const CountedText& b) {
    return a.count != b.count ? a.count > b.count : a.text < b.text;
  });
  return counted;
}

/// Tokenizes the pairs of a part. Returns the number of those that are left out.
int64_t tokenize_part(const SentencePairs& from, const TokenizerPair& tokenizers, bool keeps_references, PairPart& to) {
  for (size_t i = 0; i < from.source.size(); ++i) {
    const std::vector<int32_t> source = tokenizers.source->encode(from.source[i]);
    const std::vector<int32_t> target = tokenizers.target->encode(from.target[i]);
    if (source.empty() || target.empty()) continue;
    to.source.append(source);
    to.target.append(target);
    if (keeps_references) to.references.push_back(tokenizers.target->reference(from.target[i]));
  }
  return from.count() - to.count();
}

std::string empty_note(const char* part, int64_t count) {
  if (count == 0) return {};
  return fmt::format("{} {} of the {} part {} an empty side: left out\n", count, count == 1 ? "pair" : "pairs", part,
                     count == 1 ? "has" : "have");
}

}  // namespace

std::shared_ptr<const Tokenizer> learn_unit_tokenizer(TextUnit unit, bool lower_case,
                                                      const std::vector<std::string>& sentences,
                                                      const VocabularyLimits& limits) {
  std::vector<CountedText> counted = count_units(unit, lower_case, sentences);
  std::vector<std::string> texts;
  for (CountedText& one : counted) {
    const bool is_full = limits.most_tokens > 0 && std::ssize(texts) + kSpecialTokens >= limits.most_tokens;
    if (one.count < limits.least_count || is_full) break;
    texts.push_back(std::move(one.text));
  }
  if (texts.empty())
    throw DataError({"vocabulary", "no text is left in it",
                     fmt::format("texts that come {} times or more, and room for more than {} tokens",
                                 limits.least_count, kSpecialTokens),
                     fmt::format("{} different texts, room for {} tokens", counted.size(),
                                 limits.most_tokens == 0 ? "all" : fmt::to_string(limits.most_tokens)),
                     ""});
  return std::make_shared<UnitTokenizer>(unit, lower_case, Vocabulary(std::move(texts)));
}

TokenizerPair learn_unit_tokenizers(const CorpusText& text, TextUnit unit, bool lower_case,
                                    const VocabularyLimits& limits) {
  return {learn_unit_tokenizer(unit, lower_case, text.train.source, limits),
          learn_unit_tokenizer(unit, lower_case, text.train.target, limits)};
}

TokenizerPair learn_piece_tokenizers(const CorpusText& text, const PieceOptions& options) {
  std::vector<std::string> both = text.train.source;
  both.insert(both.end(), text.train.target.begin(), text.train.target.end());
  const auto tokenizer = learn_piece_tokenizer(both, options);
  return {tokenizer, tokenizer};
}

SequencePairs tokenize_corpus(const CorpusText& text, const TokenizerPair& tokenizers) {
  SequencePairs pairs{.name = text.name,
                      .source = {text.source, tokenizers.source},
                      .target = {text.target, tokenizers.target},
                      .note = text.note};
  pairs.note += empty_note("training", tokenize_part(text.train, tokenizers, false, pairs.train));
  pairs.note += empty_note("validation", tokenize_part(text.valid, tokenizers, true, pairs.valid));
  pairs.note += empty_note("test", tokenize_part(text.test, tokenizers, true, pairs.test));
  pairs.fingerprint = fingerprint_of(pairs);
  return pairs;
}

}  // namespace kb
