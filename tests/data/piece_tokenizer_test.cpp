// Tests pieces of words by SentencePiece, and what is said where it is missing.
#include <boost/test/unit_test.hpp>

#include "data/text/piece_tokenizer.h"
#include "data/text/tokenize_corpus.h"
#include "tests/data/files.h"

namespace kb::piece_tokenizer_test {
namespace {

using Tokens = std::vector<int32_t>;
using Sentences = std::vector<std::string>;

// A build without SentencePiece, or with sanitizers, has no plug-in.
boost::test_tools::assertion_result has_plugin(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(std::filesystem::exists(piece_library_places().front()));
  result.message() << "this build has no " << piece_library_places().front().filename();
  return result;
}

// Sentences of a few words in many forms.
Sentences forms() {
  Sentences sentences;
  for (const char* root : {"walk", "talk", "play", "jump", "schön", "Haus", "Garten"})
    for (const char* ending : {"", "s", "ed", "ing", "er", "est"})
      for (const char* other : {"The cat", "Ein Hund", "nobody", "der Mann im Hut"})
        sentences.push_back(std::string(other) + " " + root + ending + ".");
  return sentences;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(piece_tokenizer)

BOOST_AUTO_TEST_CASE(without_the_plugin_an_error_names_the_package) {
  const std::string error = test::data_error("", [] { open_piece_library({"/nowhere/libkilobatch_pieces.so"}); });
  BOOST_TEST(error ==
             "SentencePiece: it cannot be used\n  expected: Kilobatch's library libkilobatch_pieces.so\n"
             "  got:      no /nowhere/libkilobatch_pieces.so\n"
             "  hint:     cmake --build BUILD --target kilobatch_pieces builds it; where there is no such target, apt "
             "install libsentencepiece-dev, then configure again (cmake -DKB_SENTENCEPIECE=ON says what it does not "
             "find)");
}

// A sanitizer, with which the plug-in is not built, ends the program at any file that is to be opened in this way.
BOOST_AUTO_TEST_CASE(a_file_that_is_no_library_is_named, *boost::unit_test::precondition(has_plugin)) {
  const test::TemporaryDirectory directory;
  test::write_file(directory.path() / "libkilobatch_pieces.so", "no library");
  BOOST_TEST(test::contains(
      test::data_error(directory.path(), [&] { open_piece_library({directory.path() / "libkilobatch_pieces.so"}); }),
      "got:      DIR/libkilobatch_pieces.so: "));
}

BOOST_AUTO_TEST_CASE(sentences_come_back_from_their_pieces, *boost::unit_test::precondition(has_plugin)) {
  for (const PieceModelKind kind : {PieceModelKind::unigram, PieceModelKind::bpe}) {
    const auto tokenizer = learn_piece_tokenizer(forms(), {.kind = kind, .pieces = 44});
    BOOST_TEST(tokenizer->vocabulary().size() == 44);
    BOOST_TEST(tokenizer->vocabulary().text(kUnknownToken) == "<unk>");
    for (const std::string& sentence : Sentences{"The cat walks.", "Ein schöner Hund", "est ing Hut", ""}) {
      const Tokens tokens = tokenizer->encode(sentence);
      BOOST_TEST(tokenizer->decode(tokens) == sentence);
      std::string joined;
      for (const int32_t token : tokens) joined += tokenizer->vocabulary().text(token);
      for (size_t at; (at = joined.find("\u2581")) != std::string::npos;) joined.replace(at, 3, " ");
      BOOST_TEST(joined == (sentence.empty() ? "" : " " + sentence));
    }
    BOOST_TEST(tokenizer->encode("  The  cat ") == tokenizer->encode("The cat"));
    BOOST_TEST(!tokenizer->decodes_to_words());
    BOOST_TEST(tokenizer->reference("The  CAT") == "The  CAT");
    Tokens tokens = tokenizer->encode("The cat");
    tokens.insert(tokens.begin(), {kPaddingToken, kBeginToken});
    tokens.insert(tokens.end(), {kEndToken, 4, 5});
    BOOST_TEST(tokenizer->decode(tokens) == "The cat");
    BOOST_TEST(tokenizer->encode("中").back() == kUnknownToken);
    BOOST_TEST(test::contains(test::data_error("", [&] { tokenizer->decode(Tokens{44}); }), "a token in [0, 44)"));
  }
}

BOOST_AUTO_TEST_CASE(rare_characters_of_a_small_alphabet_have_pieces, *boost::unit_test::precondition(has_plugin)) {
  Sentences sentences(3000, "aaaa bbbb ab");
  sentences.push_back("ß");
  const auto is_known = [&](const PieceOptions& options) {
    return learn_piece_tokenizer(sentences, options)->encode("ß").back() != kUnknownToken;
  };
  const PieceModelKind bpe = PieceModelKind::bpe;
  BOOST_TEST(!is_known({.kind = bpe, .pieces = 9}));
  BOOST_TEST(is_known({.kind = bpe, .pieces = 9, .character_coverage = 1}));
}

BOOST_AUTO_TEST_CASE(pieces_follow_from_the_sentences, *boost::unit_test::precondition(has_plugin)) {
  const auto one = learn_piece_tokenizer(forms(), {.pieces = 44}),
             again = learn_piece_tokenizer(forms(), {.pieces = 44});
  for (int32_t token = 0; token < one->vocabulary().size(); ++token)
    BOOST_TEST(one->vocabulary().text(token) == again->vocabulary().text(token));
  BOOST_TEST(one->encode("nobody talked") == again->encode("nobody talked"));
}

BOOST_AUTO_TEST_CASE(pieces_of_lower_case, *boost::unit_test::precondition(has_plugin)) {
  const auto small = learn_piece_tokenizer(forms(), {.pieces = 44, .lower_case = true});
  BOOST_TEST(small->encode("THE CAT") == small->encode("the cat"));
  BOOST_TEST(small->decode(small->encode("Der SCHÖNE Garten")) == "der schöne garten");
  BOOST_TEST(small->reference("Der Garten") == "der garten");
}

BOOST_AUTO_TEST_CASE(both_sides_share_their_pieces, *boost::unit_test::precondition(has_plugin)) {
  const CorpusText text{.name = "t", .source = "a", .target = "b", .train = {forms(), forms()}};
  const TokenizerPair tokenizers = learn_piece_tokenizers(text, {.pieces = 44});
  BOOST_TEST((tokenizers.source == tokenizers.target));
  const SequencePairs pairs = tokenize_corpus(text, tokenizers);
  BOOST_TEST(pairs.target.tokenizer->decode(pairs.train.target[1]) == forms()[1]);
}

BOOST_AUTO_TEST_CASE(pieces_that_cannot_be_are_refused, *boost::unit_test::precondition(has_plugin)) {
  const auto error = [](auto&& action) { return test::data_error("", action); };
  const std::string many = error([] { learn_piece_tokenizer(forms(), {.pieces = 5000}); });
  BOOST_TEST(
      many.starts_with("pieces: SentencePiece learns no 5000 of them on these sentences\n"
                       "  expected: a number that the sentences allow\n"
                       "  got:      Vocabulary size too high (5000). Please set it to a value <= "));
  BOOST_TEST(
      test::contains(error([] { learn_piece_tokenizer(forms(), {.pieces = 10}); }), "smaller than required_chars"));
  BOOST_TEST(test::contains(error([] { learn_piece_tokenizer({}, {}); }), "no sentences to learn them on"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::piece_tokenizer_test
