#include "recipes/task/masked_tokens.h"

#include <cstring>
#include <utility>

#include "data/hash_random.h"
#include "recipes/task/token_task.h"

namespace kb {
namespace {

// Keys of the masks are unlike those of other draws from the same seed, epoch and sample.
constexpr uint64_t kMaskStream = 0x6d61736b;

std::vector<size_t> field_sizes(const MaskRule& rule) {
  const auto bytes = [](int64_t values) { return static_cast<size_t>(values) * sizeof(int32_t); };
  return {bytes(rule.length), bytes(rule.predictions), bytes(rule.predictions)};
}

int32_t random_token(const MaskRule& rule, HashStream& random) {
  const bool has_mask = rule.mask < rule.tokens;
  const int32_t token = random.below(static_cast<int>(rule.tokens) - (has_mask ? 1 : 0));
  return has_mask && token >= rule.mask ? token + 1 : token;
}

// Returns what the model sees in place of a token that it predicts.
int32_t seen_token(const MaskRule& rule, int32_t token, HashStream& random) {
  const double kind = random.uniform();
  if (kind < kHiddenShare) return rule.mask;
  return kind < kHiddenShare + kRandomShare ? random_token(rule, random) : token;
}

}  // namespace

// Places are chosen by selection sampling (Knuth, The Art of Computer Programming, volume 2, section 3.4.2, algorithm
// S): one is taken with the probability of those still to choose over those still to see.
void hide_tokens(const MaskRule& rule, uint64_t key, std::span<int32_t> tokens, std::span<int32_t> places,
                 std::span<int32_t> labels) {
  HashStream random(key);
  size_t chosen = 0;
  for (size_t place = 0; place < tokens.size() && chosen < places.size(); ++place) {
    if (static_cast<size_t>(random.below(static_cast<int>(tokens.size() - place))) >= places.size() - chosen) continue;
    places[chosen] = static_cast<int32_t>(place);
    labels[chosen] = tokens[place];
    tokens[place] = seen_token(rule, tokens[place], random);
    ++chosen;
  }
}

std::shared_ptr<const Source> masked_windows(const TokenText& text, std::shared_ptr<const TokenSequence> tokens,
                                             const MaskRule& rule) {
  const auto write = [rule](const SampleRequest& sample, std::span<int32_t> tokens,
                            std::span<const std::span<std::byte>> fields) {
    std::vector<int32_t> places(static_cast<size_t>(rule.predictions)), labels(places.size());
    hide_tokens(rule, hash_words(kMaskStream, sample.seed, sample.epoch, sample.number), tokens, places, labels);
    const std::span<const int32_t> values[] = {tokens, places, labels};
    for (size_t f = 0; f < fields.size(); ++f)
      if (!fields[f].empty()) std::memcpy(fields[f].data(), values[f].data(), fields[f].size());
  };
  return token_windows(text, std::move(tokens), rule.length, field_sizes(rule), write);
}

std::vector<Field> masked_fields(const MaskRule& rule, int64_t vocabulary) {
  return {{.name = "tokens", .dtype = DType::i32, .shape = {rule.length}, .below = vocabulary},
          {.name = "places", .dtype = DType::i32, .shape = {rule.predictions}, .below = rule.length},
          {.name = "labels", .dtype = DType::i32, .shape = {rule.predictions}, .below = vocabulary}};
}

void set_masked_sources(Task& task, const TokenText& text, const MaskRule& rule) {
  task.data = text.name;
  task.train = masked_windows(text, text.train, rule);
  task.test = masked_windows(text, text.test, rule);
}

}  // namespace kb
