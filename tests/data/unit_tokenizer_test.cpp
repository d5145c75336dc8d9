// Tests characters of UTF-8 and the tokenizers of words and characters.
#include <boost/test/unit_test.hpp>

#include "data/text/unicode.h"
#include "data/text/unit_tokenizer.h"

namespace kb::unit_tokenizer_test {
namespace {

using Tokens = std::vector<int32_t>;

std::string words(std::string_view sentence) {
  std::string text;
  for (const std::string_view word : split_units(TextUnit::word, sentence))
    text += (text.empty() ? "" : "|") + std::string(word);
  return text;
}

// The bytes of a character, also of one that UTF-8 forbids.
std::string encoded(uint32_t character, size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = bytes - 1; i > 0; --i, character >>= 6) text[i] = static_cast<char>(0x80 | (character & 0x3f));
  text[0] = static_cast<char>(bytes == 1 ? character : (0xf00u >> bytes & 0xffu) | character);
  return text;
}

std::string utf8(uint32_t character) {
  return encoded(character, character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(unit_tokenizer)

BOOST_AUTO_TEST_CASE(characters_are_read_and_broken_ones_found) {
  for (const uint32_t character : {0u, 0x7fu, 0x80u, 0x7ffu, 0x800u, 0xd7ffu, 0xe000u, 0xffffu, 0x10000u, 0x10ffffu}) {
    const std::string text = utf8(character) + "x";
    std::string_view rest = text;
    BOOST_TEST((take_character(rest) == character));
    BOOST_TEST(rest == "x");
    BOOST_TEST(find_no_character(text) == std::string_view::npos);
    if (text.size() == 2) continue;
    BOOST_TEST(find_no_character("ab" + text.substr(0, text.size() - 2)) == 2);        // cut short
    BOOST_TEST(find_no_character("ab" + text.substr(0, text.size() - 2) + "c") == 2);  // followed by another
  }
  for (const std::string& bad : {encoded(0x7f, 2), encoded(0x7ff, 3), encoded(0xffff, 4), encoded(0xd800, 3),
                                 encoded(0xdfff, 3), encoded(0x110000, 4), std::string("\x80"), std::string("\xff")}) {
    std::string_view rest = bad;
    BOOST_TEST((take_character(rest) == kReplacement));
    BOOST_TEST(rest.size() == bad.size() - 1);
    BOOST_TEST(find_no_character("a" + bad) == 1);
  }
}

BOOST_AUTO_TEST_CASE(letters_get_their_lower_case) {
  BOOST_TEST(to_lower_case("A Cat, 12 ÄÖÜ ẞ ŠŽ ΑΩ ЁЖЯ Ǆ") == "a cat, 12 äöü ß šž αω ёжя ǆ");
  BOOST_TEST(to_lower_case(utf8(0x100) + utf8(0x101)) == utf8(0x101) + utf8(0x101));  // capitals are every second one
  BOOST_TEST(to_lower_case("äß ÷ × ſ 中\xff") == "äß ÷ × ſ 中\xff");
  BOOST_TEST(to_lower_case(utf8(0x130) + utf8(0x1e94) + utf8(0x1e95)) == "i" + utf8(0x1e95) + utf8(0x1e95));
}

BOOST_AUTO_TEST_CASE(punctuation_and_spaces_are_unicodes) {
  for (const char32_t one : {U'!', U'_', U'~', U'$', U'«', U'¿', U'×', U'…', U'„', U'€', U'、', U'،', U'😀', U'→'})
    BOOST_TEST(is_punctuation(one));
  for (const char32_t one : {U' ', U'0', U'a', U'ª', U'µ', U'ß', U'²', U'½', U'中', U'Ⅷ', char32_t{0x301}})
    BOOST_TEST(!is_punctuation(one));
  for (const uint32_t one : {0x09u, 0x1fu, 0x20u, 0xa0u, 0x2009u, 0x3000u}) BOOST_TEST(is_space(one));
  for (const uint32_t one : {0x08u, 0x21u, 0x200bu, 0xfeffu}) BOOST_TEST(!is_space(one));
}

BOOST_AUTO_TEST_CASE(words_are_separated_from_punctuation) {
  BOOST_TEST(words("The man's dog, 3.5 years old, (barks)!") == "The|man|'s|dog|,|3.5|years|old|,|(|barks|)|!");
  BOOST_TEST(words("„Wie geht’s?“ – Müller-Lüdenscheidt…") == "„|Wie|geht|’s|?|“|–|Müller-Lüdenscheidt|…");
  BOOST_TEST(words("1,000 men, 2,x 3. ...") == "1,000|men|,|2|,|x|3|.|.|.|.");
  BOOST_TEST(words("'a' t-shirt -b c- -- d'") == "'|a|'|t-shirt|-|b|c|-|-|-|d|'");
  BOOST_TEST(words(" \t a\xc2\xa0"
                   "b \xe3\x80\x80 ") == "a|b");
  BOOST_TEST(words("").empty());
  BOOST_TEST(words("a\xff"
                   "b") == "a|\xff|b");  // a byte that is no character counts as a symbol
}

BOOST_AUTO_TEST_CASE(words_become_tokens_and_a_sentence) {
  const UnitTokenizer tokenizer(TextUnit::word, true, Vocabulary({"a", "dog", ".", "äh"}));
  BOOST_TEST(tokenizer.encode("A cat, äh.") == (Tokens{4, 3, 3, 7, 6}));
  BOOST_TEST(tokenizer.encode("ÄH A") == (Tokens{7, 4}));
  BOOST_TEST(tokenizer.decode(Tokens{1, 4, 5, 3, 6, 2, 4}) == "a dog <unk> .");
  BOOST_TEST(tokenizer.decode(Tokens{0, 0}).empty());
  BOOST_TEST(tokenizer.reference("A  Cat, äh.") == "a cat , äh .");
  BOOST_TEST(tokenizer.decodes_to_words());
  BOOST_TEST(UnitTokenizer(TextUnit::word, false, Vocabulary({"a"})).encode("A a") == (Tokens{3, 4}));
}

BOOST_AUTO_TEST_CASE(characters_become_tokens_and_a_sentence) {
  const UnitTokenizer tokenizer(TextUnit::character, false, Vocabulary({"a", "ä", " "}));
  BOOST_TEST(tokenizer.encode("aä a!") == (Tokens{4, 5, 6, 4, 3}));
  BOOST_TEST(tokenizer.decode(Tokens{4, 5, 6, 4, 2}) == "aä a");
  BOOST_TEST(tokenizer.reference("Aä") == "Aä");
  BOOST_TEST(!tokenizer.decodes_to_words());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::unit_tokenizer_test
