#include "recipes/models/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "data/hash_random.h"
#include "graph/functions.h"
#include "recipes/config/run_task.h"
#include "recipes/task/sequence_model.h"

namespace kb {
namespace {

constexpr const char *kTokens = "tokens", *kLast = "last";

[[noreturn]] void refuse(const Recipe& recipe, const std::filesystem::path& run) {
  throw Error(
      fmt::format("{} is a run of {}\n  expected: a run of a language model, such as gpt", run.string(), recipe.name));
}

void check_own_task(const Recipe& recipe, const std::filesystem::path& run) {
  if (!recipe.task) refuse(recipe, run);
}

// Returns the task of the run's recipe, declared without its data.
Task task_to_sample(const RunModel& model) {
  RunConfig config = model.config;
  config.data.path = kNoise;
  Task task = declared_task(model.recipe, config);
  const std::vector<Field>& fields = task.fields;
  if (fields.size() != 1 || fields[0].name != kTokens || fields[0].dtype != DType::i32 || fields[0].shape.size() != 1)
    refuse(model.recipe, model.request.run);
  return task;
}

// Returns the tokens from the most probable one on.
std::vector<int32_t> by_logit(std::span<const double> logits) {
  std::vector<int32_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  std::stable_sort(tokens.begin(), tokens.end(), [&](int32_t a, int32_t b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  return tokens;
}

int64_t vocabulary_of(const Graph& graph, int64_t context, const std::string& recipe) {
  const Type logits = graph.type(graph.outputs.at(0).value);
  if (logits.shape.size() != 3 || logits.shape[1] != context)
    throw Error(fmt::format("{}: expected logits [N, {}, vocabulary] of a language model, got {}", recipe, context,
                            to_string(logits)));
  return logits.shape[2];
}

// Takes the graph of the logits [1, context, vocabulary] behind each token, and leaves those behind token number kLast.
Graph at_last_token(Graph graph) {
  Output& output = graph.outputs.at(0);
  const Tensor logits(graph, output.value);
  const Tensor last = index_input(graph, kLast, {1}, logits.size(1));
  output.value = gather(reshape(logits, {logits.size(1), logits.size(2)}), last).value();
  return graph;
}

}  // namespace

int32_t draw_token(std::span<const double> logits, const SampleOptions& options, double uniform) {
  if (options.temperature == 0) return static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
  std::vector<int32_t> tokens = by_logit(logits);
  if (options.top_k > 0) tokens.resize(std::min(tokens.size(), static_cast<size_t>(options.top_k)));
  const double most = logits[static_cast<size_t>(tokens.front())];
  std::vector<double> ends;
  double sum = 0;
  for (const int32_t token : tokens)
    ends.push_back(sum += std::exp((logits[static_cast<size_t>(token)] - most) / options.temperature));
  const auto found = std::upper_bound(ends.begin(), ends.end(), uniform * sum);
  return tokens[std::min(static_cast<size_t>(found - ends.begin()), tokens.size() - 1)];
}

Sampler::Sampler(const RunModelRequest& request, const std::optional<Recipe>& own,
                 const std::function<void(const std::string&)>& say)
    : model_(request, own, {"sample", "--prompt TEXT", check_own_task}),
      task_(task_to_sample(model_)),
      context_(task_.fields[0].shape[0] - 1) {
  Graph window = build_logits_graph(task_, 1, model_.dtype());
  const std::vector<Variable> variables = window.variables;
  vocabulary_ = vocabulary_of(window, context_, model_.recipe.name);
  Compiled compiled = model_.compiled(
      task_.next_token ? build_step_graph(task_, task_.next_token, nullptr, {1, context_, vocabulary_}, model_.dtype())
                       : at_last_token(std::move(window)));
  space_ = compiled.space;
  model_.store.adopt(compiled.variables, space_);
  model_.load(variables, say);
  next_ = std::make_unique<Session>(*model_.backend, model_.store, std::move(compiled));
  next_->set_scalar(kLabelSmoothing, 0);
  if (next_->has_input(kStepParents)) std::memset(next_->input(kStepParents), 0, sizeof(int32_t));
}

// Makes the program that reads up to so many tokens at once, if it is not there.
void Sampler::make_prefill(int64_t tokens) {
  tokens = std::min(context_, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(tokens))));
  if (prefill_ && prefill_->input_type(kStepTokens).elements() >= tokens) return;
  const Graph graph = build_prefill_graph(task_, task_.next_token, {1, context_, vocabulary_, tokens}, model_.dtype());
  caches_.clear();
  for (const Output& output : graph.outputs) caches_.push_back(output.name);
  prefill_ = std::make_unique<Session>(*model_.backend, model_.store, model_.compiled(graph, &space_));
}

// Reads the first tokens of a text, and gives their keys and values to the steps. Those of tokens 0 that fill the input
// up are overwritten before a step sees them.
void Sampler::prefill(std::span<const int32_t> tokens) {
  const std::span input(reinterpret_cast<int32_t*>(prefill_->input(kStepTokens)),
                        static_cast<size_t>(prefill_->input_type(kStepTokens).elements()));
  std::ranges::fill(std::ranges::copy(tokens, input.begin()).out, input.end(), 0);
  prefill_->step();
  for (const std::string& cache : caches_)
    next_->fill_table(cache, prefill_->output(cache), prefill_->output_type(cache).bytes());
  kept_ = tokens.size();
}

// Returns the logits of the token after a text, which begins with what the steps keep. `at_once`: whether a prefill
// reads all that is new but the last token.
std::span<const double> Sampler::after_steps(std::span<const int32_t> text, bool at_once) {
  if (at_once && kept_ + 1 < text.size()) prefill(text.first(text.size() - 1));
  for (; kept_ < text.size(); ++kept_) {
    const auto place = static_cast<int32_t>(kept_);
    std::memcpy(next_->input(kStepTokens), &text[kept_], sizeof(int32_t));
    std::memcpy(next_->input(kStepPlace), &place, sizeof(place));
    next_->step();
  }
  next_->read(kStepScores, logits_);
  return logits_;
}

// Returns the logits of the token after a text of at most `context` tokens. Those that the program reads behind them
// are 0: no position of the text sees them.
std::span<const double> Sampler::after_window(std::span<const int32_t> text) {
  std::vector<int32_t> window(static_cast<size_t>(context_) + 1, 0);
  std::ranges::copy(text, window.begin());
  const auto last = static_cast<int32_t>(text.size() - 1);
  std::memcpy(next_->input(kTokens), window.data(), window.size() * sizeof(int32_t));
  std::memcpy(next_->input(kLast), &last, sizeof(last));
  next_->step();
  next_->read("logits", logits_);
  return logits_;
}

void Sampler::write(const std::vector<int32_t>& prompt, int64_t count, const SampleOptions& options,
                    const std::function<void(int32_t)>& take) {
  if (prompt.empty()) throw Error("prompt: expected a token or more, got none");
  for (const int32_t token : prompt)
    if (token < 0 || token >= vocabulary())
      throw Error(fmt::format("prompt: expected tokens in [0, {}), got {}", vocabulary(), token));
  const auto context = static_cast<size_t>(context_);
  const bool outgrows = prompt.size() + static_cast<size_t>(count) - 1 > context;
  const int64_t before = std::ssize(prompt) - 1, parameter_bytes = space_.length * size_of(space_.dtype);
  const bool at_once = task_.next_token && (outgrows || before * parameter_bytes >= options.prefill_bytes);
  if (at_once) make_prefill(outgrows ? context_ : before);
  kept_ = 0;
  std::vector<int32_t> tokens = prompt;
  HashStream random(options.seed);
  for (int64_t i = 0; i < count; ++i) {
    if (tokens.size() > context) kept_ = 0;  // all tokens that the model sees have changed their places
    const std::span text = std::span(tokens).last(std::min(tokens.size(), context));
    const std::span<const double> logits = task_.next_token ? after_steps(text, at_once) : after_window(text);
    const double uniform = static_cast<double>(random.bits() >> 11) * 0x1p-53;
    tokens.push_back(draw_token(logits, options, uniform));
    take(tokens.back());
  }
}

}  // namespace kb
