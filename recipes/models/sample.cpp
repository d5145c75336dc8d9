#include "recipes/models/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "data/hash_random.h"
#include "recipes/config/run_task.h"

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
      graph_(build_logits_graph(task_, 1, model_.dtype())),
      session_(*model_.backend, model_.store, model_.compiled(graph_)) {
  model_.load(graph_.variables, say);
  session_.set_scalar(kLabelSmoothing, 0);
  const Dims& shape = session_.output_type("logits").shape;
  if (shape.size() != 3 || shape[1] != context_)
    throw Error(fmt::format("{}: expected logits [N, {}, vocabulary] of a language model, got {}", model_.recipe.name,
                            context_, to_string(session_.output_type("logits"))));
  vocabulary_ = shape[2];
}

// Returns the logits of the token after `tokens`, at most `context` of them. Tokens that come later are 0: no position
// before them sees them.
std::span<const double> Sampler::logits_after(std::span<const int32_t> tokens) {
  std::vector<int32_t> window(static_cast<size_t>(context_) + 1, 0);
  std::copy(tokens.begin(), tokens.end(), window.begin());
  std::memcpy(session_.input(kTokens), window.data(), window.size() * sizeof(int32_t));
  session_.step();
  session_.read("logits", logits_);
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
  HashStream random(options.seed);
  for (int64_t i = 0; i < count; ++i) {
    const size_t seen = std::min(tokens.size(), static_cast<size_t>(context_));
    const double uniform = static_cast<double>(random.bits() >> 11) * 0x1p-53;
    tokens.push_back(draw_token(logits_after(std::span(tokens).last(seen)), options, uniform));
    take(tokens.back());
  }
}

}  // namespace kb
