// Tests vocabularies and pairs of token sequences.
#include <boost/test/unit_test.hpp>

#include "data/text/sequence_pairs.h"
#include "tests/data/files.h"

namespace kb::sequence_pairs_test {
namespace {

using Tokens = std::vector<int32_t>;

Tokens values_of(std::span<const int32_t> tokens) { return {tokens.begin(), tokens.end()}; }

// A tokenizer of which only the vocabulary is asked for.
class Bare : public Tokenizer {
 public:
  explicit Bare(std::vector<std::string> texts) : vocabulary_(std::move(texts)) {}
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  Tokens encode(std::string_view) const override { return {}; }
  std::string decode(std::span<const int32_t>) const override { return {}; }
  std::string reference(std::string_view) const override { return {}; }
  bool decodes_to_words() const override { return true; }

 private:
  Vocabulary vocabulary_;
};

SequencePairs small_pairs(std::vector<std::string> words = {"a", "b"}) {
  SequencePairs pairs{.name = "small",
                      .source = {"x", std::make_shared<Bare>(std::vector<std::string>{"c"})},
                      .target = {"y", std::make_shared<Bare>(std::move(words))}};
  pairs.train.source.append(Tokens{4, 3});
  pairs.train.target.append(Tokens{5});
  return pairs;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sequence_pairs)

BOOST_AUTO_TEST_CASE(a_vocabulary_has_its_texts_after_the_special_tokens) {
  const Vocabulary words({"the", "<s>", "cat"});
  BOOST_TEST(words.size() == 7);
  BOOST_TEST(words.token("the") == 4);
  BOOST_TEST(words.token("<s>") == 5);  // a text, not the special token
  BOOST_TEST(words.token("<pad>") == kUnknownToken);
  BOOST_TEST(words.text(6) == "cat");
  BOOST_TEST(words.text(kPaddingToken) == "<pad>");
  BOOST_TEST(words.text(kUnknownToken) == "<unk>");
  BOOST_TEST(test::contains(test::data_error("", [&] { words.text(-1); }), "got:      -1"));
  BOOST_TEST(test::data_error("", [&] { words.text(7); }) ==
             "vocabulary: it has no such token\n  expected: a token in [0, 7)\n  got:      7\n"
             "  hint:     the tokens are of another vocabulary");
  BOOST_TEST(
      test::data_error("", [] {
        Vocabulary({"a", "b", "a"});
      }) == "vocabulary: a text comes twice\n  expected: one token for each text\n  got:      \"a\" for 4 and 6");
  BOOST_TEST(test::contains(test::data_error("", [] { Vocabulary({"a", ""}); }), "got:      none for 5"));
}

BOOST_AUTO_TEST_CASE(ragged_tokens_keep_their_lengths) {
  RaggedTokens tokens;
  BOOST_TEST(tokens.count() == 0);
  tokens.append(Tokens{5, 6});
  tokens.append(Tokens{});
  tokens.append(Tokens{7});
  BOOST_TEST(tokens.count() == 3);
  BOOST_TEST(values_of(tokens[0]) == (Tokens{5, 6}));
  BOOST_TEST(tokens[1].empty());
  BOOST_TEST(values_of(tokens[2]) == (Tokens{7}));
}

BOOST_AUTO_TEST_CASE(a_fingerprint_is_of_all_tokens_and_vocabularies) {
  const std::string base = fingerprint_of(small_pairs());
  BOOST_TEST(base.size() == 16);
  BOOST_TEST(base == fingerprint_of(small_pairs()));
  BOOST_TEST(base != fingerprint_of(small_pairs({"a", "c"})));
  for (const bool in_source : {false, true}) {
    SequencePairs changed = small_pairs();
    RaggedTokens& side = in_source ? changed.train.source : changed.train.target;
    ++side.values.back();
    BOOST_TEST(base != fingerprint_of(changed));
  }
  SequencePairs parted[2] = {small_pairs(), small_pairs()};  // equal tokens in sequences of other lengths
  const Tokens three = {4, 3, 3};
  for (size_t i = 0; i < 2; ++i) {
    parted[i].test.source.append(std::span(three).first(i + 1));
    parted[i].test.source.append(std::span(three).subspan(i + 1));
    for (int pair = 0; pair < 2; ++pair) parted[i].test.target.append(Tokens{5});
  }
  BOOST_TEST(fingerprint_of(parted[0]) != fingerprint_of(parted[1]));
  SequencePairs other = small_pairs();
  other.train.target.values[0] = 4;
  BOOST_TEST(base != fingerprint_of(other));
  other = small_pairs();
  other.test = other.train;
  BOOST_TEST(base != fingerprint_of(other));
  std::swap(other.valid, other.test);
  BOOST_TEST(fingerprint_of(other) != base);
  other.valid.source.append(Tokens{4});
  BOOST_TEST(test::data_error("", [&] { fingerprint_of(other); }) ==
             "small: a part has sources without targets\n  expected: as many sources as targets\n  got:      2 and 1");
  other.train = {};
  BOOST_TEST(test::contains(test::data_error("", [&] { fingerprint_of(other); }), "no pairs to train on"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::sequence_pairs_test
