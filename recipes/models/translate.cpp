#include "recipes/models/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "data/text/length_buckets.h"
#include "recipes/config/run_task.h"
#include "recipes/models/beam_search.h"
#include "recipes/task/ragged_source.h"
#include "recipes/task/sequence_model.h"
#include "runtime/session.h"

namespace kb {
namespace {

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
    const DecoderSizes sizes{sentences_ * options.beams, search_.steps, vocabulary_};
    const Graph step = build_step_graph(task, task.sequences->step, &encoder, sizes, model.dtype());
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
