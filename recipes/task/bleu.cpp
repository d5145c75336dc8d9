#include "recipes/task/bleu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "data/text/unicode.h"
#include "graph/error.h"

namespace kb {
namespace {

using Words = std::vector<std::string_view>;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

bool is_ascii_digit(char one) { return one >= '0' && one <= '9'; }
bool is_point(char one) { return one == '.' || one == ','; }

// Punctuation that 13a always makes a word: that of ASCII but for ' , - .
bool stands_alone(char one) {
  return (one >= '{' && one <= '~') || (one >= '[' && one <= '`') || (one >= ' ' && one <= '&') ||
         (one >= '(' && one <= '+') || (one >= ':' && one <= '@') || one == '/';
}

// Puts spaces around each character that stands alone.
std::string part_punctuation(std::string_view text) {
  std::string out;
  for (const char one : text) {
    if (stands_alone(one))
      out.append({' ', one, ' '});
    else
      out += one;
  }
  return out;
}

// Goes over neighbours from the left. If `takes(first, second)`, appends `before`, first, `between`, second and
// `after`, and goes on behind both, as the substitution of a regular expression of two characters does.
template <class Takes>
std::string part_neighbours(std::string_view text, const char* before, const char* between, const char* after,
                            Takes takes) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !takes(text[i], text[i + 1])) {
      out += text[i];
      continue;
    }
    out += before;
    out += text[i];
    out += between;
    out += text[++i];
    out += after;
  }
  return out;
}

// Returns the words between spaces of any kind.
Words words_between_spaces(std::string_view text) {
  Words words;
  size_t begin = 0, at = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const bool ends = is_space(take_character(rest));
    if (ends && at > begin) words.push_back(text.substr(begin, at - begin));
    at = text.size() - rest.size();
    if (ends) begin = at;
  }
  if (at > begin) words.push_back(text.substr(begin));
  return words;
}

std::string_view without_spaces_at_end(std::string_view text) {
  const Words words = words_between_spaces(text);
  return words.empty() ? "" : text.substr(0, static_cast<size_t>(words.back().end() - text.begin()));
}

// Returns how often each n-gram of one order is there.
std::map<Words, int64_t> count_ngrams(const Words& words, size_t order) {
  std::map<Words, int64_t> counts;
  for (size_t begin = 0; begin + order <= words.size(); ++begin) {
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(begin);
    ++counts[Words(first, first + static_cast<std::ptrdiff_t>(order))];
  }
  return counts;
}

int64_t matches_of(const std::map<Words, int64_t>& translation, const std::map<Words, int64_t>& reference) {
  int64_t matches = 0;
  for (const auto& [ngram, count] : translation)
    if (const auto found = reference.find(ngram); found != reference.end()) matches += std::min(count, found->second);
  return matches;
}

}  // namespace

BleuCounts& BleuCounts::operator+=(const BleuCounts& other) {
  for (size_t n = 0; n < kBleuOrder; ++n) {
    matches[n] += other.matches[n];
    totals[n] += other.totals[n];
  }
  words += other.words;
  reference_words += other.reference_words;
  return *this;
}

std::string tokenize_13a(std::string_view sentence) {
  std::string text(without_spaces_at_end(sentence));
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
  text = part_punctuation(" " + text + " ");
  // Full stops and commas stay between digits alone; a hyphen parts from a digit before it.
  text = part_neighbours(text, "", " ", " ", [](char a, char b) { return !is_ascii_digit(a) && is_point(b); });
  text = part_neighbours(text, " ", " ", "", [](char a, char b) { return is_point(a) && !is_ascii_digit(b); });
  text = part_neighbours(text, "", " ", " ", [](char a, char b) { return is_ascii_digit(a) && b == '-'; });
  return fmt::format("{}", fmt::join(words_between_spaces(text), " "));
}

BleuCounts count_bleu(std::string_view translation, std::string_view reference, BleuWords words) {
  const bool is_13a = words == BleuWords::v13a;
  const std::string texts[] = {is_13a ? tokenize_13a(translation) : std::string(translation),
                               is_13a ? tokenize_13a(reference) : std::string(reference)};
  const Words ours = words_between_spaces(texts[0]), theirs = words_between_spaces(texts[1]);
  BleuCounts counts;
  counts.words = std::ssize(ours);
  counts.reference_words = std::ssize(theirs);
  for (size_t n = 0; n < kBleuOrder; ++n) {
    counts.totals[n] = std::max<int64_t>(0, counts.words - static_cast<int64_t>(n));
    counts.matches[n] = matches_of(count_ngrams(ours, n + 1), count_ngrams(theirs, n + 1));
  }
  return counts;
}

Bleu bleu_of(const BleuCounts& counts) {
  Bleu bleu;
  if (counts.words > 0)
    bleu.brevity_penalty =
        std::exp(std::min(0.0, 1 - static_cast<double>(counts.reference_words) / static_cast<double>(counts.words)));
  if (counts.matches[0] == 0) return bleu;  // then no longer n-gram matches either
  double sum_of_logs = 0, unmatched = 1;
  for (size_t n = 0; n < kBleuOrder && counts.totals[n] > 0; ++n) {
    double matches = static_cast<double>(counts.matches[n]);
    if (matches == 0) matches = 1 / (unmatched *= 2);
    bleu.precisions[n] = 100 * matches / static_cast<double>(counts.totals[n]);
    sum_of_logs += std::log(bleu.precisions[n]);
  }
  if (counts.totals.back() > 0) bleu.score = bleu.brevity_penalty * std::exp(sum_of_logs / kBleuOrder);
  return bleu;
}

Bleu corpus_bleu(std::span<const std::string> translations, std::span<const std::string> references, BleuWords words) {
  if (translations.size() != references.size())
    throw Error(fmt::format("BLEU: expected a reference for each of {} translations, got {}", translations.size(),
                            references.size()));
  BleuCounts counts;
  for (size_t i = 0; i < translations.size(); ++i) counts += count_bleu(translations[i], references[i], words);
  return bleu_of(counts);
}

}  // namespace kb
