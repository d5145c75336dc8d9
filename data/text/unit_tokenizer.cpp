#include "data/text/unit_tokenizer.h"

#include <fmt/format.h>

#include "data/text/unicode.h"

namespace kb {
namespace {

constexpr char32_t kNoneBeside = ' ';  // the character before the first one of a sentence and after the last

bool is_figure(char32_t character) { return character >= '0' && character <= '9'; }
bool is_letter(char32_t character) { return !is_space(character) && !is_punctuation(character); }
bool is_apostrophe(char32_t character) { return character == '\'' || character == 0x2019; }

/// Says how a character of punctuation lies between its neighbours.
enum class Place { alone, inside, begins };
Place place_of(char32_t before, char32_t character, char32_t after) {
  if (!is_letter(before) || !is_letter(after)) return Place::alone;
  if (is_apostrophe(character)) return Place::begins;
  const bool is_in_number = (character == '.' || character == ',') && is_figure(before) && is_figure(after);
  return is_in_number || character == '-' ? Place::inside : Place::alone;
}

/// Collects words as views of one sentence.
class WordCollector {
 public:
  explicit WordCollector(std::string_view sentence) : sentence_(sentence) {}
  void extend(size_t end) { end_ = end; }
  void close(size_t next) {  // ends the word before `next`
    if (end_ > begin_) words_.push_back(sentence_.substr(begin_, end_ - begin_));
    begin_ = end_ = next;
  }
  std::vector<std::string_view> words() { return std::move(words_); }

 private:
  std::string_view sentence_;
  std::vector<std::string_view> words_;
  size_t begin_ = 0, end_ = 0;
};

std::vector<std::string_view> words_of(std::string_view sentence) {
  WordCollector words(sentence);
  char32_t before = kNoneBeside;
  for (std::string_view rest = sentence; !rest.empty();) {
    const size_t begin = sentence.size() - rest.size();
    const char32_t character = take_character(rest);
    const size_t end = sentence.size() - rest.size();
    std::string_view following = rest;
    const char32_t after = rest.empty() ? kNoneBeside : take_character(following);
    const Place place = is_letter(character) ? Place::inside : place_of(before, character, after);
    if (place != Place::inside) words.close(is_space(character) ? end : begin);
    if (!is_space(character)) words.extend(end);
    if (place == Place::alone) words.close(end);
    before = character;
  }
  words.close(sentence.size());
  return words.words();
}

std::vector<std::string_view> characters_in(std::string_view sentence) {
  std::vector<std::string_view> characters;
  while (!sentence.empty()) {
    const std::string_view before = sentence;
    take_character(sentence);
    characters.push_back(before.substr(0, before.size() - sentence.size()));
  }
  return characters;
}

}  // namespace

std::vector<std::string_view> split_units(TextUnit unit, std::string_view sentence) {
  return unit == TextUnit::word ? words_of(sentence) : characters_in(sentence);
}

std::vector<int32_t> UnitTokenizer::encode(std::string_view sentence) const {
  const std::string small = lower_case_ ? to_lower_case(sentence) : std::string(sentence);
  std::vector<int32_t> tokens;
  for (const std::string_view unit : split_units(unit_, small)) tokens.push_back(vocabulary_.token(unit));
  return tokens;
}

std::string UnitTokenizer::decode(std::span<const int32_t> tokens) const {
  std::string sentence;
  for (const int32_t token : tokens) {
    if (token == kEndToken) break;
    if (token == kPaddingToken || token == kBeginToken) continue;
    if (unit_ == TextUnit::word && !sentence.empty()) sentence += ' ';
    sentence += vocabulary_.text(token);
  }
  return sentence;
}

std::string UnitTokenizer::reference(std::string_view sentence) const {
  const std::string small = lower_case_ ? to_lower_case(sentence) : std::string(sentence);
  return unit_ == TextUnit::word ? fmt::format("{}", fmt::join(split_units(unit_, small), " ")) : small;
}

}  // namespace kb
