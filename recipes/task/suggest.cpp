#include "recipes/task/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace kb {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      int exchanged = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({exchanged, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

namespace {

constexpr size_t kPart = 3;  // least size of a word that is looked for inside of longer words

int typing_distance(std::string_view word, std::string_view candidate) {
  const bool part = word.size() >= kPart && candidate.find(word) != std::string_view::npos;
  return part && word != candidate ? 1 : edit_distance(word, candidate);
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& words) {
  std::string best;
  int least = 2 + static_cast<int>(word.size()) / 3;
  for (const std::string& candidate : words)
    if (int distance = typing_distance(word, candidate); distance < least) {
      least = distance;
      best = candidate;
    }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& words) {
  const std::string guess = nearest(word, words);
  return guess.empty() ? "" : fmt::format("; did you mean '{}'?", guess);
}

std::string suggestion(std::string_view word, const std::vector<std::string>& words) {
  const std::string guess = did_you_mean(word, words);
  return guess.empty() ? fmt::format("; there are {}", fmt::join(words, ", ")) : guess;
}

}  // namespace kb
