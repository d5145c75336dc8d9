// Tests that SentencePiece's library works in a program that has a protobuf of its own, as every recipe does, which
// writes TensorBoard's files.
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "data/text/piece_tokenizer.h"

namespace kb::pieces_test {
namespace {

boost::test_tools::assertion_result has_plugin(boost::unit_test::test_unit_id) {
  return std::filesystem::exists(piece_library_places().front());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pieces)

BOOST_AUTO_TEST_CASE(pieces_are_learnt_beside_protobuf, *boost::unit_test::precondition(has_plugin)) {
  std::vector<std::string> sentences;
  for (const char* one : {"ab", "abc", "abcab", "bcab", "cab"})
    for (const char* other : {"ba", "ab", "cc"}) sentences.push_back(std::string(one) + " " + other);
  const auto tokenizer = learn_piece_tokenizer(sentences, {.kind = PieceModelKind::bpe, .pieces = 12});
  BOOST_TEST(tokenizer->decode(tokenizer->encode("abc ba")) == "abc ba");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::pieces_test
