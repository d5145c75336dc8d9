// Tests parallel texts: the search for their files, their sentences, and the pairs of tokens that are made of them.
#include <boost/test/unit_test.hpp>

#include "data/text/tokenize_corpus.h"
#include "tests/data/files.h"

namespace kb::corpus_test {
namespace {

namespace fs = std::filesystem;
using Tokens = std::vector<int32_t>;
using Sentences = std::vector<std::string>;

struct Fixture {
  Fixture() { fs::create_directories(folder); }
  void write(const std::string& name, const std::string& text) const { test::write_file(folder / name, text); }
  void write_packed(const std::string& name, const std::string& text) const {
    write(name, std::string(test::text_of(test::gzip(Bytes(text.begin(), text.end())))));
  }
  std::string find_error(const CorpusChoice& choice = {}) const {
    return test::data_error(folder, [&] { find_corpus(folder, choice); });
  }
  std::string read_error() const {
    return test::data_error(folder, [&] { read_corpus(find_corpus(folder)); });
  }

  test::TemporaryDirectory directory;
  fs::path folder = directory.path() / "parallel";
};

std::string name(const fs::path& path) { return path.filename().string(); }
Tokens tokens_of(std::span<const int32_t> tokens) { return {tokens.begin(), tokens.end()}; }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(corpus, Fixture)

BOOST_AUTO_TEST_CASE(files_are_found_by_their_names) {
  for (const char* file : {"train.en.gz", "train.de.gz", "val.de", "val.en.gz", "test_2016.de", "test_2016.en",
                           "test_2017.de", "test_2017.en", "test_0.de", "README", "train", "notes.txt"})
    write(file, "");
  fs::create_directory(folder / "train.fr");
  fs::create_symlink("loop.de", folder / "loop.de");
  const Corpus found = find_corpus(folder);
  BOOST_TEST(found.name == "parallel");
  BOOST_TEST(found.source == "de");
  BOOST_TEST(found.target == "en");
  BOOST_TEST(name(found.train.source) == "train.de.gz");
  BOOST_TEST(name(found.train.target) == "train.en.gz");
  BOOST_TEST(name(found.valid.source) == "val.de");
  BOOST_TEST(name(found.valid.target) == "val.en.gz");
  BOOST_TEST(name(found.test.target) == "test_2016.en");
  BOOST_TEST(found.note == "test is of test_2016; not read: test_2017\n");

  const Corpus chosen = find_corpus(folder, {.source = "en", .target = "de", .test = "test_2017"});
  BOOST_TEST(name(chosen.train.source) == "train.en.gz");
  BOOST_TEST(name(chosen.test.source) == "test_2017.en");
  BOOST_TEST(chosen.note.empty());
  BOOST_TEST(find_corpus(folder / "", {.source = "en"}).target == "de");
  BOOST_TEST(find_corpus(folder, {.target = "de"}).source == "en");

  write("train.en", "");
  BOOST_TEST(name(find_corpus(folder).train.target) == "train.en");
  for (int i = 10; i < 20; ++i)  // in whatever order the folder lists them, plain files go before packed ones
    for (const char* end : {".de", ".en", ".en.gz"}) write("test_" + std::to_string(i) + end, "");
  for (int i = 10; i < 20; ++i) {
    const std::string stem = "test_" + std::to_string(i);
    BOOST_TEST(name(find_corpus(folder, {.test = stem}).test.target) == stem + ".en");
  }
  BOOST_TEST(test::contains(find_error({.train = "none"}), " more\n"));  // not all names are told
}

BOOST_AUTO_TEST_CASE(two_files_are_named_by_what_they_share) {
  for (const char* file : {"europarl-v7.de-en.de", "europarl-v7.de-en.en.gz", "europarl-v7.fr-en.fr", "test.de",
                           "test.en", "heldout.de", "heldout.en"})
    write(file, "");
  const Corpus found = find_corpus(folder / "europarl-v7.de-en");
  BOOST_TEST(found.name == "europarl-v7.de-en");
  BOOST_TEST(name(found.train.source) == "europarl-v7.de-en.de");
  BOOST_TEST(name(found.train.target) == "europarl-v7.de-en.en.gz");
  BOOST_TEST(!found.valid.exist());
  BOOST_TEST(!found.test.exist());  // another text's, unless the user says so
  const CorpusChoice choice{.valid = "heldout"};
  BOOST_TEST(name(find_corpus(folder / "europarl-v7.de-en", choice).valid.target) == "heldout.en");
}

BOOST_AUTO_TEST_CASE(files_that_are_not_clear_are_refused) {
  BOOST_TEST(find_error() ==
             "DIR: which languages it holds is not clear\n"
             "  expected: files train*.LANGUAGE[.gz] of two languages, or the names of both\n"
             "  got:      no file of the form NAME.LANGUAGE\n"
             "  hint:     the data is a folder, or the path of a text's files without .LANGUAGE");
  for (const char* file : {"train.cs", "train.de", "train.en", "test.en"}) write(file, "");
  BOOST_TEST(find_error() ==
             "DIR: which languages it holds is not clear\n"
             "  expected: files train*.LANGUAGE[.gz] of two languages, or the names of both\n"
             "  got:      the languages cs, de, en\n"
             "  hint:     name the source and the target language");
  BOOST_TEST(test::contains(find_error({.source = "cs"}), "the languages cs, de, en"));
  BOOST_TEST(find_error({.source = "en", .target = "fr"}) ==
             "DIR: no files for the training part\n  expected: train*.en[.gz] and train*.fr[.gz]\n"
             "  got:      test.en, train.cs, train.de, train.en\n"
             "  hint:     the data is a folder, or the path of a text's files without .LANGUAGE");
  const CorpusChoice choice{.source = "de", .target = "en", .test = "test"};
  BOOST_TEST(
      test::contains(find_error(choice), "no files for the test part\n  expected: test.de[.gz] and test.en[.gz]"));
}

BOOST_AUTO_TEST_CASE(sentences_are_lines) {
  write("a",
        "\xef\xbb\xbf"
        "Ein Satz.\r\n\nnoch \xe2\x80\xa8"
        "einer");
  BOOST_TEST(read_sentences(folder / "a") == (Sentences{"Ein Satz.", "",
                                                        "noch \xe2\x80\xa8"
                                                        "einer"}));
  write_packed("b.gz", "one\ntwo\n");
  BOOST_TEST(read_sentences(folder / "b.gz") == (Sentences{"one", "two"}));
  write("c", "gut\nsch\xf6n\n");
  BOOST_TEST(test::data_error(folder, [&] { read_sentences(folder / "c"); }) ==
             "DIR/c: line 2 is not UTF-8\n  expected: text in UTF-8\n  got:      the byte f6 at byte 4 of the line\n"
             "  hint:     of another encoding? convert it: iconv -f ISO-8859-1 -t UTF-8");
}

BOOST_AUTO_TEST_CASE(files_that_are_not_line_for_line_are_refused) {
  write("train.de", "eins\nzwei\n");
  write("train.en", "one\ntwo\nthree");
  BOOST_TEST(read_error() ==
             "DIR/train.de: not line for line DIR/train.en\n  expected: as many lines in both files\n"
             "  got:      2 and 3\n  hint:     one was cut short, or they are of different texts");
  write("train.en", "one\n");
  BOOST_TEST(test::contains(read_error(), "got:      2 and 1"));
  write("train.de", "eins");
  write("train.en", "one");
  BOOST_TEST(read_error() == "DIR/train.de: no pairs to train on\n  expected: 2 lines or more\n  got:      1");
}

BOOST_AUTO_TEST_CASE(the_last_hundredth_is_tested_where_no_file_is) {
  std::string source, target;
  for (int i = 0; i < 101; ++i) {
    source += std::to_string(i) + "\n";
    target += "n" + std::to_string(i) + "\n";
  }
  write("train.a", source);
  write("train.b", target);
  const CorpusText text = read_corpus(find_corpus(folder));
  BOOST_TEST(text.train.count() == 99);
  BOOST_TEST(text.test.source == (Sentences{"99", "100"}));
  BOOST_TEST(text.test.target == (Sentences{"n99", "n100"}));
  write("dev.a", "1\n");
  write("dev.b", "2\n");
  const CorpusText with_valid = read_corpus(find_corpus(folder));
  BOOST_TEST(with_valid.train.count() == 101);
  BOOST_TEST(with_valid.valid.count() == 1);
  BOOST_TEST(with_valid.test.count() == 0);
  for (const char* language : {"a", "b"})
    fs::rename(folder / (std::string("dev.") + language), folder / (std::string("test.") + language));
  const CorpusText with_test = read_corpus(find_corpus(folder));
  BOOST_TEST(with_test.train.count() == 101);
  BOOST_TEST(with_test.test.target == (Sentences{"2"}));
}

BOOST_AUTO_TEST_CASE(a_vocabulary_has_the_most_frequent_words) {
  const Sentences sentences = {"b a B, c", "a b d.", "a"};
  const auto words = [&](bool lower_case, const VocabularyLimits& limits) {
    const auto tokenizer = learn_unit_tokenizer(TextUnit::word, lower_case, sentences, limits);
    Sentences words;
    for (int32_t i = kSpecialTokens; i < tokenizer->vocabulary().size(); ++i)
      words.push_back(tokenizer->vocabulary().text(i));
    return words;
  };
  BOOST_TEST(words(true, {.least_count = 1}) == (Sentences{"a", "b", ",", ".", "c", "d"}));
  BOOST_TEST(words(true, {.least_count = 2}) == (Sentences{"a", "b"}));
  BOOST_TEST(words(false, {.least_count = 2}) == (Sentences{"a", "b"}));
  BOOST_TEST(words(false, {.least_count = 1, .most_tokens = 8}) == (Sentences{"a", "b", ",", "."}));
  BOOST_TEST(words(false, {.least_count = 3}) == (Sentences{"a"}));
  BOOST_TEST(test::data_error("", [&] { words(true, {.least_count = 9}); }) ==
             "vocabulary: no text is left in it\n"
             "  expected: texts that come 9 times or more, and room for more than 4 tokens\n"
             "  got:      6 different texts, room for all tokens");
}

BOOST_AUTO_TEST_CASE(sentences_become_pairs_of_tokens) {
  const CorpusText text{.name = "tiny",
                        .source = "de",
                        .target = "en",
                        .train = {{"Ein Hund.", " ", "Ein Hund", "zwei"}, {"A dog.", "x", "a dog", ""}},
                        .test = {{"Hund", "", "Katze."}, {"The Dog", "y", "Cat."}},
                        .note = "one\n"};
  const TokenizerPair tokenizers = learn_unit_tokenizers(text, TextUnit::word, true, {.least_count = 1});
  const SequencePairs pairs = tokenize_corpus(text, tokenizers);
  BOOST_TEST(pairs.source.language == "de");
  BOOST_TEST(pairs.train.count() == 2);
  BOOST_TEST(pairs.source.tokenizer->decode(pairs.train.source[0]) == "ein hund .");
  BOOST_TEST(pairs.target.tokenizer->decode(pairs.train.target[1]) == "a dog");
  BOOST_TEST(pairs.train.references.empty());
  BOOST_TEST(pairs.test.count() == 2);
  BOOST_TEST(pairs.test.references == (Sentences{"the dog", "cat ."}));
  BOOST_TEST(tokens_of(pairs.test.target[1]) ==
             (Tokens{kUnknownToken, pairs.target.tokenizer->vocabulary().token(".")}));
  BOOST_TEST(pairs.note ==
             "one\n2 pairs of the training part have an empty side: left out\n"
             "1 pair of the test part has an empty side: left out\n");
  BOOST_TEST(pairs.fingerprint.size() == 16);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::corpus_test
