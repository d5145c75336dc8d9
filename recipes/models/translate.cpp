#include "recipes/models/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "data/text/length_buckets.h"
#include "recipes/config/run_task.h"
#include "recipes/task/ragged_source.h"
#include "recipes/task/sequence_model.h"
#include "runtime/session.h"

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

constexpr int64_t kLengths = 3;  // lengths to which sources are padded, each with programs of its own

void check_writer(const Recipe& recipe, const std::filesystem::path& run) {
  if (!recipe.is_ragged)
    throw Error(
        fmt::format("{} is a run of {}\n  expected: a run of a model that writes sequences, such as transformer",
                    run.string(), recipe.name));
}

// Returns the task of the run with its data, whose tokenizers the model was trained with.
Task task_of_run(const RunModel& model) {
  Task task = declared_task(model.recipe, model.config);
  if (task.read) task = task.read();
  if (!task.sequences)
    throw Error(fmt::format("{}: expected a model that writes sequences, got one of {} that does not",
                            model.request.run.string(), task.name));
  return task;
}

// The programs for sources of one length: `sentences` of them at once, `beams` rows each.
class Writer {
 public:
  Writer(const Task& task, int64_t length, const TranslateOptions& options, RunModel& model,
         const ParameterSpace& space)
      : sentences_(options.minibatch),
        vocabulary_(task.sequences->pairs->target.tokenizer->vocabulary().size()),
        search_{.beams = options.beams,
                .length_penalty = options.length_penalty,
                .steps = 2 * length + 10,
                .begin = kBeginToken,
                .end = kEndToken,
                .never = {kPaddingToken, kBeginToken}} {
    const Graph encoder = build_encoder_graph(task, *task.sequences, {sentences_, length}, model.dtype());
    for (const Output& output : encoder.outputs) memory_.push_back(output.name);
    const int64_t rows = sentences_ * options.beams;
    const Graph step = build_step_graph(task, *task.sequences, encoder, rows, search_.steps, model.dtype());
    encoder_ = std::make_unique<Session>(*model.backend, model.store, model.compiled(encoder, &space));
    step_ = std::make_unique<Session>(*model.backend, model.store, model.compiled(step, &space));
  }

  // Writes for at most as many sources as there are rows; others repeat the last one.
  std::vector<std::vector<int32_t>> write(std::vector<std::vector<int32_t>> sources) {
    const auto count = static_cast<std::ptrdiff_t>(sources.size());
    sources.resize(static_cast<size_t>(sentences_), sources.back());
    read(sources);
    int32_t place = 0;
    const auto next = [&](std::span<const int32_t> tokens, std::span<const int32_t> parents) {
      return scores(tokens, parents, place++);
    };
    std::vector<std::vector<int32_t>> written = beam_search(sentences_, vocabulary_, search_, next);
    written.erase(written.begin() + count, written.end());
    return written;
  }

 private:
  // Encodes the sources, and gives each row of the steps what its sentence's source has.
  void read(const std::vector<std::vector<int32_t>>& sources) {
    RaggedTokens tokens;
    for (const std::vector<int32_t>& source : sources) tokens.append(source);
    const RaggedSource ragged({tokens}, "");
    const auto bytes = [&](const char* name) {
      return std::span(encoder_->input(name), static_cast<size_t>(encoder_->input_type(name).bytes()));
    };
    std::vector<float> weights(sources.size());
    const std::array fields = {bytes("source"), bytes("source.length")};
    ragged.gather(Order::evaluation(sentences_, sentences_), 0)(0, {{fields.begin(), fields.end()}, weights});
    encoder_->step();
    for (const std::string& name : memory_)
      if (step_->has_input(name)) repeat(name);
  }

  void repeat(const std::string& name) {
    const std::byte* from = encoder_->output(name);
    const auto bytes = static_cast<size_t>(encoder_->output_type(name).bytes() / sentences_);
    std::byte* to = step_->input(name);
    for (int64_t sentence = 0; sentence < sentences_; ++sentence, from += bytes)
      for (int64_t beam = 0; beam < search_.beams; ++beam, to += bytes) std::memcpy(to, from, bytes);
  }

  std::span<const double> scores(std::span<const int32_t> tokens, std::span<const int32_t> parents, int32_t place) {
    std::memcpy(step_->input(kStepTokens), tokens.data(), tokens.size_bytes());
    std::memcpy(step_->input(kStepParents), parents.data(), parents.size_bytes());
    std::memcpy(step_->input(kStepPlace), &place, sizeof(place));
    step_->step();
    step_->read(kStepScores, scores_);
    return scores_;
  }

  const int64_t sentences_, vocabulary_;
  const BeamOptions search_;
  std::vector<std::string> memory_;  // names of what the encoder gives
  std::unique_ptr<Session> encoder_, step_;
  std::vector<double> scores_;
};

std::vector<int64_t> lengths_of(const std::vector<std::vector<int32_t>>& sources) {
  std::vector<int64_t> lengths;
  for (const std::vector<int32_t>& source : sources) lengths.push_back(std::ssize(source));
  return lengths;
}

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

Translator::Translator(const RunModelRequest& request, const std::optional<Recipe>& own,
                       const std::function<void(const std::string&)>& say)
    : model_(request, own, {"translate", "", check_writer}), task_(task_of_run(model_)) {
  const Graph graph = build_inference_graph(task_, 1, model_.dtype());
  const Compiled whole = model_.compiled(graph);
  space_ = whole.space;
  model_.store.adopt(whole.variables, space_);
  model_.load(graph.variables, say);
}

const SequencePairs& Translator::pairs() const { return *task_.sequences->pairs; }

std::vector<std::vector<int32_t>> Translator::write(const std::vector<std::vector<int32_t>>& sources,
                                                    const TranslateOptions& options) {
  if (sources.empty()) return {};
  const std::vector<int64_t> lengths = lengths_of(sources);
  std::vector<std::vector<int32_t>> written(sources.size());
  int64_t shorter = 0;
  for (const int64_t length : least_padding(lengths, kLengths)) {
    Writer writer(task_, length, options, model_, space_);
    std::vector<size_t> members;
    for (size_t i = 0; i < sources.size(); ++i)
      if (lengths[i] > shorter && lengths[i] <= length) members.push_back(i);
    for (size_t first = 0; first < members.size(); first += static_cast<size_t>(options.minibatch)) {
      const size_t end = std::min(members.size(), first + static_cast<size_t>(options.minibatch));
      std::vector<std::vector<int32_t>> some;
      for (size_t i = first; i < end; ++i) some.push_back(sources[members[i]]);
      some = writer.write(std::move(some));
      for (size_t i = first; i < end; ++i) written[members[i]] = std::move(some[i - first]);
    }
    shorter = length;
  }
  return written;
}

}  // namespace kb
