// Beam search beside greedy decoding and beside the best of all sequences.
#include "recipes/models/beam_search.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

namespace kb::beam_search_test {
namespace {

constexpr int64_t kVocabulary = 4;
constexpr int32_t kBegin = 0, kEnd = 1;

// A language in which the next token depends on all tokens before it. Each row is that of a sequence and a beam, whose
// tokens the search tells by parents.
class Language {
 public:
  Language(int64_t sequences, int64_t beams) : histories_(static_cast<size_t>(sequences * beams)), beams_(beams) {
    for (size_t row = 0; row < histories_.size(); ++row)
      histories_[row] = {static_cast<int32_t>(row) / static_cast<int32_t>(beams_)};
  }

  static std::vector<double> row(const std::vector<int32_t>& history) {
    uint64_t word = 88172645463325252u;
    for (const int32_t token : history)
      word = (word ^ static_cast<uint64_t>(token + 1)) * 6364136223846793005u + 1442695040888963407u;
    std::vector<double> scores;
    double sum = 0;
    for (int64_t token = 0; token < kVocabulary; ++token) {
      word = word * 6364136223846793005u + 1442695040888963407u;
      scores.push_back(static_cast<double>(word >> 40) * 0x1p-23);
      sum += std::exp(scores.back());
    }
    for (double& score : scores) score -= std::log(sum);
    return scores;
  }

  std::span<const double> operator()(std::span<const int32_t> tokens, std::span<const int32_t> parents) {
    std::vector<std::vector<int32_t>> next;
    scores_.clear();
    for (size_t row = 0; row < tokens.size(); ++row) {
      next.push_back(histories_[static_cast<size_t>(parents[row])]);
      if (!is_first_) next.back().push_back(tokens[row]);
      for (const double score : Language::row(next.back())) scores_.push_back(score);
    }
    BOOST_TEST((!is_first_ || tokens[0] == kBegin));
    is_first_ = false;
    histories_ = std::move(next);
    return scores_;
  }

 private:
  std::vector<std::vector<int32_t>> histories_;  // number of the sequence, then its tokens
  int64_t beams_;
  bool is_first_ = true;
  std::vector<double> scores_;
};

std::vector<std::vector<int32_t>> searched(int64_t sequences, const BeamOptions& options) {
  Language language(sequences, options.beams);
  return beam_search(sequences, kVocabulary, options,
                     [&](auto tokens, auto parents) { return language(tokens, parents); });
}

double score_of(int32_t sequence, const std::vector<int32_t>& tokens, double alpha) {
  std::vector<int32_t> history = {sequence};
  double sum = 0;
  for (size_t i = 0; i <= tokens.size(); ++i) {
    const int32_t token = i < tokens.size() ? tokens[i] : kEnd;
    sum += Language::row(history)[static_cast<size_t>(token)];
    history.push_back(token);
  }
  return sum / std::pow((5 + static_cast<double>(tokens.size() + 1)) / 6, alpha);
}

// Calls `see` with all sequences of at most `left` further tokens, the end included.
void each_sequence(std::vector<int32_t>& tokens, int64_t left, const std::function<void()>& see) {
  see();
  if (left <= 1) return;
  for (const int32_t token : {2, 3}) {
    tokens.push_back(token);
    each_sequence(tokens, left - 1, see);
    tokens.pop_back();
  }
}

BeamOptions options_of(int64_t beams, double alpha) {
  return {.beams = beams, .length_penalty = alpha, .steps = 6, .begin = kBegin, .end = kEnd, .never = {kBegin}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(beam_searches)

BOOST_AUTO_TEST_CASE(as_many_beams_as_sequences_find_the_best_of_all) {
  for (const double alpha : {0.0, 0.6, 1.5}) {
    const auto found = searched(20, options_of(128, alpha));
    for (int32_t sequence = 0; sequence < 20; ++sequence) {
      std::vector<int32_t> tokens, best;
      double most = -1e300;
      each_sequence(tokens, 6, [&] {
        const double score = score_of(sequence, tokens, alpha);
        if (score > most) {
          most = score;
          best = tokens;
        }
      });
      BOOST_TEST(found[static_cast<size_t>(sequence)] == best);
    }
  }
}

BOOST_AUTO_TEST_CASE(one_beam_is_greedy) {
  const auto found = searched(20, options_of(1, 0));
  for (int32_t sequence = 0; sequence < 20; ++sequence) {
    std::vector<int32_t> history = {sequence}, tokens;
    while (tokens.size() < 6) {
      const std::vector<double> row = Language::row(history);
      int32_t best = 1;
      for (const int32_t token : {2, 3})
        if (row[static_cast<size_t>(token)] > row[static_cast<size_t>(best)]) best = token;
      if (best == kEnd) break;
      tokens.push_back(best);
      history.push_back(best);
    }
    BOOST_TEST(found[static_cast<size_t>(sequence)] == tokens);
  }
}

// Sequences of one search do not see each other.
BOOST_AUTO_TEST_CASE(sequences_are_searched_apart) {
  const auto many = searched(20, options_of(4, 0.6)), few = searched(3, options_of(4, 0.6));
  for (size_t i = 0; i < few.size(); ++i) BOOST_TEST(few[i] == many[i]);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::beam_search_test
