#include "data/text/words.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "data/error.h"
#include "data/hash_random.h"
#include "data/text/byte_text.h"

namespace kb {
namespace {

/// A distribution over a few numbers from 0 on.
class Distribution {
 public:
  explicit Distribution(std::vector<double> weights) : shares_(std::move(weights)) {
    double sum = 0;
    for (const double weight : shares_) sum += weight;
    double end = 0;
    for (double& share : shares_) {
      share /= sum;
      ends_.push_back(end += share);
    }
  }

  const std::vector<double>& shares() const { return shares_; }
  size_t draw(HashStream& random) const {
    const double at = static_cast<double>(random.bits() >> 11) * 0x1p-53;
    const auto found = std::upper_bound(ends_.begin(), ends_.end(), at);
    return std::min(static_cast<size_t>(found - ends_.begin()), ends_.size() - 1);
  }
  double entropy() const {  // nats
    double nats = 0;
    for (const double share : shares_) nats -= share * std::log(share);
    return nats;
  }

 private:
  std::vector<double> shares_, ends_;
};

/// Returns 1, 1/2, 1/3, ..., 1/count.
std::vector<double> harmonic(int64_t count) {
  std::vector<double> weights;
  for (int64_t rank = 1; rank <= count; ++rank) weights.push_back(1.0 / static_cast<double>(rank));
  return weights;
}

struct WordClass {
  std::vector<std::string> words;  // each with the space or line feed after it
  Distribution of_word, of_next;   // draws a word of this class, and the class of the next word
};

std::string draw_word(HashStream& random) {
  constexpr std::string_view kConsonants = "bcdfghjklmnprstvwz", kVowels = "aeiou";
  const auto letter = [&](std::string_view of) {
    return of[static_cast<size_t>(random.below(static_cast<int>(of.size())))];
  };
  std::string word;
  for (int syllable = random.below(3); syllable >= 0; --syllable) {
    word += letter(kConsonants);
    word += letter(kVowels);
  }
  if (random.below(2) == 0) word += letter(kConsonants);
  return word;
}

/// Returns new words, each with a space. No word is another one's beginning, as the space ends it.
std::vector<std::string> draw_words(int64_t count, std::set<std::string>& taken, HashStream& random) {
  std::vector<std::string> words;
  while (std::ssize(words) < count)
    if (std::string word = draw_word(random); taken.insert(word).second) words.push_back(word + " ");
  return words;
}

/// Returns the numbers from 0 on in a drawn order.
std::vector<size_t> draw_order(size_t count, HashStream& random) {
  std::vector<size_t> order;
  for (size_t i = 0; i < count; ++i) order.insert(order.begin() + random.below(static_cast<int>(i) + 1), i);
  return order;
}

std::vector<WordClass> draw_classes(const WordsSpec& spec) {
  if (spec.classes < 2 || spec.words_per_class < 1)
    throw DataError({"words", "a language of too few words", "2 classes or more, of a word or more each",
                     fmt::format("{} classes of {} words", spec.classes, spec.words_per_class), ""});
  HashStream random(hash_words(spec.seed, 0));
  const auto count = static_cast<size_t>(spec.classes);
  std::set<std::string> taken;
  std::vector<WordClass> classes;
  for (size_t c = 0; c < count; ++c) {
    std::vector<double> next(count);
    const std::vector<size_t> order = draw_order(count, random);
    for (size_t rank = 0; rank < count; ++rank) next[order[rank]] = 1.0 / static_cast<double>(rank + 1);
    if (c == 0) next[0] = 0x1p-20;  // a sentence is hardly ever empty
    std::vector<std::string> words =
        c == 0 ? std::vector<std::string>{".\n"} : draw_words(spec.words_per_class, taken, random);
    const int64_t of_class = std::ssize(words);
    classes.push_back({std::move(words), Distribution(harmonic(of_class)), Distribution(next)});
  }
  return classes;
}

/// Returns the share of each class among all words: the chain's stationary distribution.
std::vector<double> shares_of_classes(const std::vector<WordClass>& classes) {
  std::vector<double> shares(classes.size(), 1.0 / static_cast<double>(classes.size()));
  for (int turn = 0; turn < 1000; ++turn) {
    std::vector<double> next(classes.size());
    for (size_t from = 0; from < classes.size(); ++from)
      for (size_t to = 0; to < classes.size(); ++to) next[to] += shares[from] * classes[from].of_next.shares()[to];
    shares = next;
  }
  return shares;
}

double nats_per_byte(const std::vector<WordClass>& classes) {
  const std::vector<double> shares = shares_of_classes(classes);
  double nats = 0, bytes = 0;
  for (size_t c = 0; c < classes.size(); ++c) {
    nats += shares[c] * (classes[c].of_next.entropy() + classes[c].of_word.entropy());
    for (size_t word = 0; word < classes[c].words.size(); ++word)
      bytes += shares[c] * classes[c].of_word.shares()[word] * static_cast<double>(classes[c].words[word].size());
  }
  return nats / bytes;
}

/// Returns the entropy in nats of the frequencies of bytes.
double nats_of_bytes(const std::vector<WordClass>& classes) {
  const std::vector<double> shares = shares_of_classes(classes);
  std::vector<double> often(kByteVocabulary);
  for (size_t c = 0; c < classes.size(); ++c)
    for (size_t word = 0; word < classes[c].words.size(); ++word)
      for (const char byte : classes[c].words[word])
        often[static_cast<unsigned char>(byte)] += shares[c] * classes[c].of_word.shares()[word];
  std::erase(often, 0);
  return Distribution(often).entropy();
}

}  // namespace

double words_unigram_loss(const WordsSpec& spec) { return nats_of_bytes(draw_classes(spec)); }

double words_entropy(const WordsSpec& spec) { return nats_per_byte(draw_classes(spec)); }

TokenText words_text(const WordsSpec& spec) {
  const std::vector<WordClass> classes = draw_classes(spec);
  HashStream random(hash_words(spec.seed, 1));
  Bytes bytes;
  const auto length = static_cast<size_t>(spec.train_bytes + spec.test_bytes);
  for (size_t at = 0; bytes.size() < length; at = classes[at].of_next.draw(random)) {
    const std::string& word = classes[at].words[classes[at].of_word.draw(random)];
    bytes.insert(bytes.end(), word.begin(), word.end());
  }
  bytes.resize(length);
  return byte_text("words", std::move(bytes), spec.test_bytes);
}

}  // namespace kb
