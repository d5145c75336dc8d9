// Tests texts as tokens: bytes of files, files of tokens as llm.c writes them, and the drawn language.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>

#include "data/text/byte_text.h"
#include "data/text/token_file.h"
#include "data/text/unigram.h"
#include "data/text/words.h"
#include "tests/data/files.h"

namespace kb::text_test {
namespace {

namespace fs = std::filesystem;

struct Fixture {
  Fixture() { fs::create_directories(folder); }
  test::TemporaryDirectory directory;
  fs::path folder = directory.path() / "texts";
};

std::vector<int32_t> tokens_of(const TokenSequence& sequence, int64_t begin, int64_t count) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  sequence.copy(begin, tokens);
  return tokens;
}

std::string text_of(const TokenSequence& sequence) {
  std::string text;
  for (const int32_t token : tokens_of(sequence, 0, sequence.count())) text += static_cast<char>(token);
  return text;
}

Bytes bytes_of(const std::string& text) { return Bytes(text.begin(), text.end()); }

std::string numbers(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i) + " ";
  return text;
}

// Returns a file of tokens: the header and the tokens 0, 1, 2, ... + first.
std::string token_file(int32_t magic, int32_t version, int32_t count, size_t bytes, uint32_t first = 0) {
  int32_t header[256] = {magic, version, count};
  std::string file(reinterpret_cast<const char*>(header), sizeof header);
  for (int32_t i = 0; i < count; ++i) {
    const uint32_t token = first + static_cast<uint32_t>(i);
    file.append(reinterpret_cast<const char*>(&token), bytes);
  }
  return file;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(text, Fixture)

BOOST_AUTO_TEST_CASE(bytes_of_a_file_a_folder_and_gzip_are_tokens) {
  const std::string whole = numbers(300);
  test::write_file(folder / "b.txt", whole.substr(100));
  test::write_file(folder / "a.txt.gz", test::text_of(test::gzip(bytes_of(whole.substr(0, 40)))));
  fs::create_directories(folder / "a.txt.more");
  test::write_file(folder / "a.txt.more" / "c.dz", test::text_of(test::gzip(bytes_of(whole.substr(40, 60)))));
  const TokenText text = read_byte_text(folder);
  const size_t tested = (whole.size() + 99) / 100;
  BOOST_TEST(text.vocabulary == 256);
  BOOST_TEST(text_of(*text.train) == whole.substr(0, whole.size() - tested));
  BOOST_TEST(text_of(*text.test) == whole.substr(whole.size() - tested));
  test::write_file(directory.path() / "one", whole);
  BOOST_TEST(read_byte_text(directory.path() / "one").fingerprint == text.fingerprint);
  test::write_file(directory.path() / "one", numbers(301));
  BOOST_TEST(read_byte_text(directory.path() / "one").fingerprint != text.fingerprint);
}

BOOST_AUTO_TEST_CASE(a_text_that_is_too_short_or_not_there_is_refused) {
  const fs::path file = folder / "short";
  test::write_file(file, "hello");
  BOOST_TEST(test::data_error(folder, [&] { read_byte_text(file); }) ==
             "DIR/short: too short to learn from\n  expected: 200 bytes of text or more\n  got:      5 bytes");
  BOOST_TEST(test::contains(test::data_error(folder, [&] { read_byte_text(folder / "none"); }), "No such file"));
  test::write_file(file, std::string(200, 'x'));
  BOOST_TEST(read_byte_text(file).test->count() == 2);
  for (const int64_t tested : {0, 5})
    BOOST_TEST(test::data_error({}, [&] { byte_text("words", bytes_of("hello"), tested); }) ==
               fmt::format("words: a text has two parts\n  expected: a test part of 1 to 4 bytes\n  got:      {} bytes",
                           tested));
}

BOOST_AUTO_TEST_CASE(files_of_tokens_are_joined) {
  test::write_file(folder / "x_train_000001.bin", token_file(20240520, 1, 5, 2, 10));
  test::write_file(folder / "x_train_000002.bin", token_file(20240520, 1, 4, 2, 50000));
  test::write_file(folder / "x_val.bin", token_file(20240520, 1, 3, 2, 7));
  test::write_file(folder / "notes.txt", "no tokens");
  BOOST_TEST(has_token_files(folder));
  const TokenText text = open_token_files(folder, 50257);
  BOOST_TEST(text.vocabulary == 50257);
  BOOST_TEST(!text.are_bytes);
  const std::vector<int32_t> all = {10, 11, 12, 13, 14, 50000, 50001, 50002, 50003};
  BOOST_TEST(tokens_of(*text.train, 0, 9) == all);
  for (int64_t begin = 0; begin < 9; ++begin)
    for (int64_t end = begin; end <= 9; ++end)
      BOOST_TEST(tokens_of(*text.train, begin, end - begin) == std::vector(all.begin() + begin, all.begin() + end));
  BOOST_TEST(tokens_of(*text.test, 0, 3) == (std::vector<int32_t>{7, 8, 9}));
}

// A folder lists its files in any order.
BOOST_AUTO_TEST_CASE(files_of_tokens_go_by_their_names) {
  std::vector<int32_t> all;
  for (const uint32_t i : {5u, 2u, 8u, 0u, 3u, 7u, 1u, 6u, 4u})
    test::write_file(folder / fmt::format("x_{}.bin", i), token_file(20240520, 1, 2, 2, 2 * i));
  for (int32_t token = 0; token < 17; ++token) all.push_back(token);
  BOOST_TEST(tokens_of(*open_token_files(folder, 256).train, 0, 17) == all);
  // The only file is that of training, whatever its name.
  test::write_file(directory.path() / "x_val.bin", token_file(20240520, 1, 9, 2));
  BOOST_TEST(open_token_files(directory.path() / "x_val.bin", 256).train->count() == 8);
}

// The last file is the test part as a whole if it has no more than a hundredth of the tokens.
BOOST_AUTO_TEST_CASE(a_short_last_file_of_tokens_is_the_test_part) {
  test::write_file(folder / "x_1.bin", token_file(20240520, 1, 5, 2));
  test::write_file(folder / "x_2.bin", token_file(20240520, 1, 1, 2, 9));
  const TokenText text = open_token_files(folder, 256);
  BOOST_TEST(text.train->count() == 5);
  BOOST_TEST(tokens_of(*text.test, 0, text.test->count()) == (std::vector<int32_t>{9}));
}

BOOST_AUTO_TEST_CASE(one_file_of_tokens_is_split) {
  const fs::path file = folder / "llama.bin";
  test::write_file(file, token_file(20240801, 7, 201, 4, 100000));
  const TokenText text = open_token_files(file, 128256);
  BOOST_TEST(text.train->count() == 198);
  BOOST_TEST(tokens_of(*text.test, 0, 3) == (std::vector<int32_t>{100198, 100199, 100200}));
}

BOOST_AUTO_TEST_CASE(damaged_files_of_tokens_are_refused) {
  const fs::path file = folder / "a.bin";
  const auto error = [&](const std::string& content) {
    test::write_file(file, content);
    return test::data_error(folder, [&] { open_token_files(file, 256); });
  };
  const std::string whole = token_file(20240520, 1, 100, 2);
  BOOST_TEST(error(whole.substr(0, whole.size() - 1)) ==
             "DIR/a.bin: the file of tokens is truncated or damaged\n"
             "  expected: 1224 bytes for the 100 tokens that its header tells\n  got:      1223 bytes\n"
             "  hint:     make or fetch it again");
  BOOST_TEST(error(whole + "x").find("got:      1225 bytes") != std::string::npos);
  BOOST_TEST(test::contains(error(token_file(20240520, 1, 0, 2)), "1024 bytes for the 0 tokens"));
  BOOST_TEST(test::contains(error(token_file(20240520, 2, 100, 2)), "got:      20240520 with version 2"));
  BOOST_TEST(test::contains(error(token_file(1, 1, 100, 2)), "got:      1 with version 1"));
  BOOST_TEST(test::contains(error("short"), "got:      0 with version 0"));
  BOOST_TEST(test::contains(error(token_file(20240520, 1, 1, 2)), "too few tokens"));
  BOOST_TEST(!has_token_files(folder / "none"));
}

// The next word follows from the class of the last one, so the entropy of a word given the one before it, measured on
// the text, is that of the process.
BOOST_AUTO_TEST_CASE(the_entropy_of_drawn_words_is_exact) {
  const WordsSpec spec{.train_bytes = 2'000'000, .test_bytes = 1000, .classes = 4, .words_per_class = 3, .seed = 5};
  const std::string text = text_of(*words_text(spec).train);
  std::map<std::string, std::map<std::string, double>> following;
  std::string last;
  double bytes = 0;
  for (size_t begin = 0, end; (end = text.find_first_of(" \n", begin)) != std::string::npos; begin = end + 1) {
    const std::string word = text.substr(begin, end + 1 - begin);
    ++following[last][word];
    last = word;
    bytes += static_cast<double>(word.size());
  }
  BOOST_TEST(following.size() == 1 + 1 + 3 * 3);
  double nats = 0;
  for (const auto& [before, counts] : following) {
    double sum = 0;
    for (const auto& [word, count] : counts) sum += count;
    for (const auto& [word, count] : counts) nats -= count * std::log(count / sum);
  }
  BOOST_TEST(words_entropy(spec) == nats / bytes, boost::test_tools::tolerance(0.005));
}

// Half of the training bytes are a, and three quarters of the test bytes; each of 256 bytes counts once more.
BOOST_AUTO_TEST_CASE(the_unigram_loss_is_that_of_the_training_frequencies) {
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) bytes += "ab";
  for (int i = 0; i < 50; ++i) bytes += "aaac";
  const double a = 10'001.0 / 20'256, c = 1.0 / 20'256;
  BOOST_TEST(unigram_loss(byte_text("letters", bytes_of(bytes), 200)) == -0.75 * std::log(a) - 0.25 * std::log(c),
             boost::test_tools::tolerance(1e-12));
  TokenText few = byte_text("letters", bytes_of(bytes), 200);
  few.vocabulary = 98;
  BOOST_TEST(test::data_error("", [&] { unigram_loss(few); }) ==
             "letters: a token is outside of the vocabulary\n  expected: tokens in [0, 98)\n  got:      98");
}

BOOST_AUTO_TEST_CASE(the_unigram_loss_of_drawn_words_is_exact) {
  BOOST_TEST(words_unigram_loss() == unigram_loss(words_text()), boost::test_tools::tolerance(0.003));
}

// Published losses are of this text.
BOOST_AUTO_TEST_CASE(the_drawn_text_is_fixed) {
  BOOST_TEST(words_text({.train_bytes = 20000, .test_bytes = 1000}).fingerprint == "35680663cca93a21");
  BOOST_TEST(words_entropy() == 0.84835059220805, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(words_unigram_loss() == 3.00171610998755, boost::test_tools::tolerance(1e-12));
  for (const WordsSpec& none : {WordsSpec{.classes = 1}, WordsSpec{.words_per_class = 0}})
    BOOST_TEST(test::data_error("", [&] { words_text(none); }).starts_with("words: a language of too few words"));
}

BOOST_AUTO_TEST_CASE(a_language_follows_from_its_seed) {
  const WordsSpec spec{.train_bytes = 3000, .test_bytes = 500};
  const TokenText one = words_text(spec), again = words_text(spec);
  BOOST_TEST(one.train->count() == 3000);
  BOOST_TEST(one.test->count() == 500);
  BOOST_TEST(text_of(*one.train) == text_of(*again.train));
  WordsSpec other = spec;
  other.seed = 2;
  BOOST_TEST(words_text(other).fingerprint != one.fingerprint);
  other.classes = 1;
  BOOST_TEST(test::contains(test::data_error("", [&] { words_text(other); }), "too few words"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::text_test
