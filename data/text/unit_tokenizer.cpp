#include "data/text/unit_tokenizer.h"

#include <fmt/format.h>

#include "data/error.h"
#include "data/text/unicode.h"

namespace kb {
namespace {

// The first line of a file; then every text of the vocabulary follows on a line of its own.
constexpr std::string_view kTokenizerLine = "kilobatch tokenizer: ";
constexpr std::string_view kLowerCase = ", lower case";

std::string_view unit_name(TextUnit unit) { return unit == TextUnit::word ? "words" : "characters"; }

std::string first_line(TextUnit unit, bool lower_case) {
  return fmt::format("{}{}{}", kTokenizerLine, unit_name(unit), lower_case ? kLowerCase : "");
}

/// Returns the lines of a text that ends with a line's end.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (; !text.empty(); text.remove_prefix(lines.back().size() + 1))
    lines.emplace_back(text.substr(0, text.find('\n')));
  return lines;
}

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

std::string UnitTokenizer::file() const {
  std::string content = first_line(unit_, lower_case_) + "\n";
  for (int32_t token = kSpecialTokens; token < vocabulary_.size(); ++token) content += vocabulary_.text(token) + "\n";
  return content;
}

bool is_unit_tokenizer(std::string_view content) { return content.starts_with(kTokenizerLine); }

std::shared_ptr<const UnitTokenizer> parse_unit_tokenizer(const std::string& name, std::string_view content) {
  const std::string_view first = content.substr(0, content.find('\n'));
  const bool is_whole = content.ends_with('\n');
  for (const TextUnit unit : {TextUnit::character, TextUnit::word})
    for (const bool lower_case : {false, true})
      if (is_whole && first == first_line(unit, lower_case))
        return std::make_shared<UnitTokenizer>(unit, lower_case,
                                               Vocabulary(lines_of(content.substr(first.size() + 1))));
  throw DataError(
      {name, "not a tokenizer's file, or cut short",
       fmt::format("a first line such as \"{}\", and lines that all end", first_line(TextUnit::word, false)),
       fmt::format("\"{}\"{}", first.substr(0, 60), is_whole ? "" : ", and a last line without its end"), ""});
}

}  // namespace kb
