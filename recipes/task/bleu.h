// BLEU, how near translations come to the references of people (Papineni et al. 2002), with the figures of sacreBLEU
// (Post 2018): of a whole corpus, up to 4-grams, one reference a sentence.
//
// An order of which no n-gram matches counts as if 1 / 2^i of an n-gram did, where this is the i-th such order
// (sacreBLEU's smoothing `exp`, NIST's). The figure is 0 when no word matches, and when every sentence has fewer than
// four words.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kb {

constexpr int kBleuOrder = 4;  // the longest n-grams

// How a sentence becomes words.
enum class BleuWords {
  v13a,   // as mteval-v13a.pl of the WMT does it, for sentences as people write them
  spaces  // the words that spaces separate, of sentences that are tokenised already
};

// Sums over sentences, which may be added: of a corpus in parts, and of several processes.
struct BleuCounts {
  std::array<int64_t, kBleuOrder> matches = {};  // n-grams that the reference has, each as often as there at most
  std::array<int64_t, kBleuOrder> totals = {};   // n-grams of the translations
  int64_t words = 0, reference_words = 0;

  BleuCounts& operator+=(const BleuCounts& other);
  bool operator==(const BleuCounts&) const = default;
};

struct Bleu {
  double score = 0;                                // 0 to 100
  std::array<double, kBleuOrder> precisions = {};  // of each order, 0 to 100
  double brevity_penalty = 0;                      // 0 to 1: exp(1 - reference words / words) where words are fewer
};

// Returns the sentence with spaces between its words, as sacreBLEU's tokenizer "13a" makes them.
std::string tokenize_13a(std::string_view sentence);

// Returns the counts of one sentence.
BleuCounts count_bleu(std::string_view translation, std::string_view reference, BleuWords words = BleuWords::v13a);

Bleu bleu_of(const BleuCounts& counts);

// Returns the figure of a corpus. Throws Error unless there are as many references as translations.
Bleu corpus_bleu(std::span<const std::string> translations, std::span<const std::string> references,
                 BleuWords words = BleuWords::v13a);

}  // namespace kb
