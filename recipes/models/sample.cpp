#include "recipes/models/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "data/hash_random.h"
#include "recipes/config/run_task.h"
#include "recipes/task/sequence_model.h"

namespace kb {
namespace {

constexpr const char* kTokens = "tokens";

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

// Gives the variables of the whole model to the store, and returns their order.
ParameterSpace adopted(RunModel& model, const Graph& graph) {
  const Compiled whole = model.compiled(graph);
  model.store.adopt(whole.variables, whole.space);
  return whole.space;
}

}  // namespace

int32_t draw_token(std::span<const double> logits, const SampleOptions& options, double uniform) {
  std::vector<int32_t> tokens = by_logit(logits);
  if (options.temperature == 0) return tokens.front();
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
      context_(task_.fields[0].shape[0] - 1),
      window_graph_(build_logits_graph(task_, 1, model_.dtype())),
      vocabulary_(vocabulary_of(window_graph_, context_, model_.recipe.name)),
      space_(adopted(model_, window_graph_)) {
  model_.load(window_graph_.variables, say);
}

Session& Sampler::stepping() {
  if (!step_) {
    const Graph graph = build_step_graph(task_, task_.next_token, nullptr, {1, context_, vocabulary_}, model_.dtype());
    step_ = std::make_unique<Session>(*model_.backend, model_.store, model_.compiled(graph, &space_));
    *reinterpret_cast<int32_t*>(step_->input(kStepParents)) = 0;
  }
  return *step_;
}

Session& Sampler::over_windows() {
  if (!window_) {
    window_ = std::make_unique<Session>(*model_.backend, model_.store, model_.compiled(window_graph_, &space_));
    window_->set_scalar(kLabelSmoothing, 0);
  }
  return *window_;
}

// Reads the token at a place from 0, behind those that earlier steps read, and returns the logits of the next one.
std::span<const double> Sampler::after_step(int32_t token, int64_t place) {
  Session& step = stepping();
  const auto at = static_cast<int32_t>(place);
  std::memcpy(step.input(kStepTokens), &token, sizeof(token));
  std::memcpy(step.input(kStepPlace), &at, sizeof(at));
  step.step();
  step.read(kStepScores, logits_);
  return logits_;
}

// Returns the logits of the token after `tokens`, at most `context` of them. Tokens that come later are 0: no position
// before them sees them.
std::span<const double> Sampler::after_window(std::span<const int32_t> tokens) {
  Session& session = over_windows();
  std::vector<int32_t> window(static_cast<size_t>(context_) + 1, 0);
  std::copy(tokens.begin(), tokens.end(), window.begin());
  std::memcpy(session.input(kTokens), window.data(), window.size() * sizeof(int32_t));
  session.step();
  session.read("logits", logits_);
  const auto width = static_cast<size_t>(vocabulary_);
  return std::span<const double>(logits_).subspan((tokens.size() - 1) * width, width);
}

void Sampler::write(const std::vector<int32_t>& prompt, int64_t count, const SampleOptions& options,
                    const std::function<void(int32_t)>& take) {
  if (prompt.empty()) throw Error("prompt: expected a token or more, got none");
  for (const int32_t token : prompt)
    if (token < 0 || token >= vocabulary())
      throw Error(fmt::format("prompt: expected tokens in [0, {}), got {}", vocabulary(), token));
  std::vector<int32_t> tokens = prompt;
  const auto context = static_cast<size_t>(context_);
  size_t read = 0;  // tokens that steps have read
  HashStream random(options.seed);
  for (int64_t i = 0; i < count; ++i) {
    std::span<const double> logits;
    if (task_.next_token && tokens.size() <= context)
      for (; read < tokens.size(); ++read) logits = after_step(tokens[read], static_cast<int64_t>(read));
    else
      logits = after_window(std::span(tokens).last(std::min(tokens.size(), context)));
    const double uniform = static_cast<double>(random.bits() >> 11) * 0x1p-53;
    tokens.push_back(draw_token(logits, options, uniform));
    take(tokens.back());
  }
}

}  // namespace kb
