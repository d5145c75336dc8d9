#include "recipes/models/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kb {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

struct Hypothesis {
  std::vector<int32_t> tokens;
  double log_probability = kImpossible;
};

// A token behind a beginning.
struct Candidate {
  int64_t beam;
  int32_t token;
  double log_probability;
};

// The beginnings of one sequence.
class Beams {
 public:
  Beams(const BeamOptions& options, int64_t vocabulary)
      : options_(options), vocabulary_(vocabulary), live_(static_cast<size_t>(options.beams)) {
    live_.front().log_probability = 0;
  }

  bool is_done() const { return is_done_; }
  int32_t last_token(int64_t beam) const {
    const std::vector<int32_t>& tokens = live_[static_cast<size_t>(beam)].tokens;
    return tokens.empty() ? options_.begin : tokens.back();
  }
  int64_t parent(int64_t beam) const { return parents_.empty() ? beam : parents_[static_cast<size_t>(beam)]; }

  // Takes the scores of all beams, a row of all tokens each.
  void advance(std::span<const double> scores) {
    const std::vector<Candidate> best = best_candidates(scores);
    std::vector<Hypothesis> next;
    parents_.clear();
    for (size_t rank = 0; rank < best.size(); ++rank) {
      const Candidate& candidate = best[rank];
      Hypothesis longer = live_[static_cast<size_t>(candidate.beam)];
      longer.log_probability = candidate.log_probability;
      if (candidate.token == options_.end) {
        if (rank < live_.size()) finish(longer);
      } else if (next.size() < live_.size()) {
        longer.tokens.push_back(candidate.token);
        next.push_back(std::move(longer));
        parents_.push_back(candidate.beam);
      }
    }
    next.resize(live_.size());
    parents_.resize(live_.size(), 0);
    live_ = std::move(next);
    ++length_;
    is_done_ = length_ == options_.steps || live_.front().log_probability == kImpossible || cannot_get_better();
  }

  std::vector<int32_t> result() const { return best_score_ == kImpossible ? live_.front().tokens : best_.tokens; }

 private:
  double penalty(int64_t tokens) const {
    return std::pow((5 + static_cast<double>(tokens)) / 6, options_.length_penalty);
  }

  void finish(const Hypothesis& whole) {
    const double score = whole.log_probability / penalty(std::ssize(whole.tokens) + 1);
    if (score <= best_score_) return;
    best_score_ = score;
    best_ = whole;
  }

  // A probability only falls with more tokens, and is divided by no more than the penalty of the greatest length.
  bool cannot_get_better() const {
    return best_score_ >= live_.front().log_probability / std::max(penalty(options_.steps), penalty(length_ + 1));
  }

  bool is_written(int32_t token) const {
    return std::find(options_.never.begin(), options_.never.end(), token) == options_.never.end();
  }

  // Returns the candidates from the most probable one on: all that can be among the next beams, and the ends beside
  // them.
  std::vector<Candidate> best_candidates(std::span<const double> scores) const {
    std::vector<Candidate> all;
    for (int64_t beam = 0; beam < std::ssize(live_); ++beam) {
      const double so_far = live_[static_cast<size_t>(beam)].log_probability;
      if (so_far == kImpossible) continue;
      for (int32_t token = 0; token < vocabulary_; ++token)
        if (is_written(token))
          all.push_back({beam, token, so_far + scores[static_cast<size_t>(beam * vocabulary_ + token)]});
    }
    const auto wanted = std::min<std::ptrdiff_t>(2 * std::ssize(live_), std::ssize(all));
    const auto is_better = [](const Candidate& a, const Candidate& b) {
      if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
      return a.beam != b.beam ? a.beam < b.beam : a.token < b.token;
    };
    std::partial_sort(all.begin(), all.begin() + wanted, all.end(), is_better);
    all.resize(static_cast<size_t>(wanted));
    return all;
  }

  const BeamOptions& options_;
  const int64_t vocabulary_;
  std::vector<Hypothesis> live_;  // from the most probable one on; impossible ones last
  std::vector<int64_t> parents_;  // of each beam; empty before the first step
  int64_t length_ = 0;            // tokens written
  Hypothesis best_;               // best whole sequence
  double best_score_ = kImpossible;
  bool is_done_ = false;
};

}  // namespace

std::vector<std::vector<int32_t>> beam_search(int64_t sequences, int64_t vocabulary, const BeamOptions& options,
                                              const NextScores& next) {
  std::vector<Beams> all(static_cast<size_t>(sequences), Beams(options, vocabulary));
  const int64_t rows = sequences * options.beams;
  std::vector<int32_t> tokens(static_cast<size_t>(rows)), parents(static_cast<size_t>(rows));
  while (!std::ranges::all_of(all, &Beams::is_done)) {
    for (int64_t row = 0; row < rows; ++row) {
      const Beams& own = all[static_cast<size_t>(row / options.beams)];
      const int64_t beam = row % options.beams;
      tokens[static_cast<size_t>(row)] = own.last_token(beam);
      parents[static_cast<size_t>(row)] = static_cast<int32_t>(row - beam + own.parent(beam));
    }
    const std::span<const double> scores = next(tokens, parents);
    const auto width = static_cast<size_t>(options.beams * vocabulary);
    for (size_t s = 0; s < all.size(); ++s)
      if (!all[s].is_done()) all[s].advance(scores.subspan(s * width, width));
  }
  std::vector<std::vector<int32_t>> results;
  for (const Beams& beams : all) results.push_back(beams.result());
  return results;
}

}  // namespace kb
