// Tests BLEU: by hand on small sentences, and against figures of sacreBLEU 2.6.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/error.h"
#include "recipes/task/bleu.h"
#include "tests/support/says.h"

namespace kb::bleu_test {
namespace {

using Sentences = std::vector<std::string>;
using Counts = std::array<int64_t, kBleuOrder>;

const Sentences kTranslations = {"The ship leaves the harbour at 7.30, in thick fog.",
                                 "Two old friends don't agree (as usual)!", "It costs 1,200 euros - or 10-12 % less.",
                                 "Nobody read the long letter of the mayor", "A bird &amp; a cat."};
const Sentences kReferences = {"The ship left the harbour at 7.30 in thick fog.",
                               "Two old friends do not agree, as usual!", "It costs 1,200 euros, or 10-12 % less.",
                               "No one has read the mayor's long letter.", "A bird & a cat sleep."};

void check_near(double got, double expected) { BOOST_TEST(std::abs(got - expected) < 1e-9, got << " " << expected); }

double score(const std::string& translation, const std::string& reference) {
  return bleu_of(count_bleu(translation, reference, BleuWords::spaces)).score;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bleu)

// Matches 5 of 6, 3 of 5, 2 of 4 and 1 of 3: one word differs.
BOOST_AUTO_TEST_CASE(the_figure_is_the_geometric_mean_of_precisions) {
  const BleuCounts counts = count_bleu("a b c d x f", "a b c d e f", BleuWords::spaces);
  BOOST_TEST(counts.matches == (Counts{5, 3, 2, 1}));
  BOOST_TEST(counts.totals == (Counts{6, 5, 4, 3}));
  const Bleu bleu = bleu_of(counts);
  check_near(bleu.score, 100 * std::pow(5.0 / 6 * 3 / 5 * 2 / 4 * 1 / 3, 0.25));
  check_near(bleu.precisions[1], 60);
  check_near(bleu.brevity_penalty, 1);
  check_near(score("a b c d", "a b c d"), 100);
}

BOOST_AUTO_TEST_CASE(an_ngram_matches_as_often_as_the_reference_has_it) {
  const BleuCounts counts = count_bleu("the the the the", "the cat the", BleuWords::spaces);
  BOOST_TEST(counts.matches == (Counts{2, 0, 0, 0}));
  BOOST_TEST(counts.totals == (Counts{4, 3, 2, 1}));
  // Smoothed: the orders without matches count 1/2, 1/4 and 1/8 of an n-gram.
  check_near(bleu_of(counts).score, 100 * std::pow(2.0 / 4 * 0.5 / 3 * 0.25 / 2 * 0.125 / 1, 0.25));
}

BOOST_AUTO_TEST_CASE(short_translations_are_penalised) {
  check_near(score("a b c d", "a b c d e f"), 100 * std::exp(1 - 6.0 / 4));
  check_near(score("a b c d e f", "a b c d"), 100 * std::pow(4.0 / 6 * 3 / 5 * 2 / 4 * 1 / 3, 0.25));
}

BOOST_AUTO_TEST_CASE(nothing_to_compare_is_0) {
  for (const auto& [translation, reference] : std::vector<std::pair<std::string, std::string>>{
           {"", "a"}, {"a b c", "a b c"}, {"a b c d", "e f g h"}, {"", ""}})
    BOOST_TEST(score(translation, reference) == 0);
  BOOST_TEST(bleu_of(count_bleu("", "a b", BleuWords::spaces)).brevity_penalty == 0);
  BOOST_TEST(bleu_of(count_bleu("a b", "a b", BleuWords::spaces)).precisions[1] == 100);
}

BOOST_AUTO_TEST_CASE(words_are_those_of_13a) {
  BOOST_TEST(tokenize_13a("The ship leaves at 7.30, in thick fog.") == "The ship leaves at 7.30 , in thick fog .");
  BOOST_TEST(tokenize_13a("It costs 1,200 euros - or 10-12 % less...") ==
             "It costs 1,200 euros - or 10 - 12 % less . . .");
  BOOST_TEST(tokenize_13a("&quot;Yes&quot;, he said &lt;twice&gt;.") == "\" Yes \" , he said < twice > .");
  BOOST_TEST(tokenize_13a("don't stop: a/b, [c] {d} $5 .5 x.y") == "don't stop : a / b , [ c ] { d } $ 5 . 5 x . y");
  BOOST_TEST(tokenize_13a("<skipped>two\u00a0words ") == "two words");
  BOOST_TEST(tokenize_13a("„so“ — 1.a,2") == "„so“ — 1 . a , 2");
  BOOST_TEST(tokenize_13a("") == "");
}

BOOST_AUTO_TEST_CASE(a_corpus_has_the_figures_of_sacrebleu) {
  const Bleu bleu = corpus_bleu(kTranslations, kReferences);
  check_near(bleu.score, 46.20774069039925);
  check_near(bleu.precisions[0], 79.16666666666667);
  check_near(bleu.precisions[3], 27.272727272727273);
  check_near(bleu.brevity_penalty, 0.9793821813312402);
  const Bleu spaces = corpus_bleu(kTranslations, kReferences, BleuWords::spaces);
  check_near(spaces.score, 21.07165684261698);
  check_near(spaces.precisions[3], 4.166666666666667);
  const double single[] = {46.59538415189962, 21.36435031981171, 73.48889200874659, 13.784336590962209,
                           67.31821382417488};
  for (size_t i = 0; i < kReferences.size(); ++i)
    check_near(bleu_of(count_bleu(kTranslations[i], kReferences[i])).score, single[i]);
}

BOOST_AUTO_TEST_CASE(counts_of_parts_add_up) {
  BleuCounts sum;
  for (size_t i = kReferences.size(); i-- > 0;) sum += count_bleu(kTranslations[i], kReferences[i]);
  BOOST_TEST(sum.matches == (Counts{38, 25, 15, 9}));
  BOOST_TEST(sum.totals == (Counts{48, 43, 38, 33}));
  BOOST_TEST(sum.reference_words == 49);
  BOOST_TEST(bleu_of(sum).score == corpus_bleu(kTranslations, kReferences).score);
  BOOST_TEST(test::error_of([&] { corpus_bleu(kTranslations, std::span(kReferences).first(4)); }) ==
             "BLEU: expected a reference for each of 5 translations, got 4");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::bleu_test
