#include "recipes/task/token_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#include "data/text/words.h"
#include "graph/error.h"

namespace kb {
namespace {

class TokenWindows : public SampleSource {
 public:
  TokenWindows(std::string fingerprint, std::shared_ptr<const TokenSequence> tokens, int64_t length,
               std::vector<size_t> bytes, WindowFields write)
      : SampleSource(std::move(bytes)),
        fingerprint_(std::move(fingerprint)),
        tokens_(std::move(tokens)),
        length_(length),
        write_(std::move(write)) {}

  int64_t count() const override { return tokens_->count() / length_; }
  std::string fingerprint() const override { return fingerprint_; }
  void read(const SampleRequest& sample, std::span<const std::span<std::byte>> fields) const override {
    if (std::ranges::all_of(fields, &std::span<std::byte>::empty)) return;
    std::vector<int32_t> tokens(static_cast<size_t>(length_));
    tokens_->copy(sample.number * length_, tokens);
    write_(sample, tokens, fields);
  }

 private:
  const std::string fingerprint_;
  const std::shared_ptr<const TokenSequence> tokens_;
  const int64_t length_;
  const WindowFields write_;
};

void copy_tokens(const SampleRequest&, std::span<int32_t> tokens, std::span<const std::span<std::byte>> fields) {
  std::memcpy(fields[0].data(), tokens.data(), fields[0].size());
}

double to_bits(double nats) { return nats / std::numbers::ln2; }

}  // namespace

std::shared_ptr<const Source> token_windows(const TokenText& text, std::shared_ptr<const TokenSequence> tokens,
                                            int64_t length, std::vector<size_t> bytes, WindowFields write) {
  if (tokens->count() < length)
    throw Error(fmt::format("text {}: expected a part of {} tokens or more, the length of a sample, got {}", text.name,
                            length, tokens->count()));
  return std::make_shared<TokenWindows>(text.fingerprint, std::move(tokens), length, std::move(bytes),
                                        std::move(write));
}

void set_token_sources(Task& task, const TokenText& text) {
  const int64_t length = task.fields.at(0).shape.at(0);
  const std::vector<size_t> bytes = {static_cast<size_t>(length) * sizeof(int32_t)};
  task.data = text.name;
  task.train = token_windows(text, text.train, length, bytes, copy_tokens);
  task.test = token_windows(text, text.test, length, bytes, copy_tokens);
}

void set_words(Task& task, int64_t length, std::function<void(Task&, const TokenText&)> set_sources) {
  const WordsSpec words;
  task.train_count = words.train_bytes / length;
  task.test_count = words.test_bytes / length;
  task.read = [declared = task, words, set_sources = std::move(set_sources)] {
    Task read = declared;
    set_sources(read, words_text(words));
    return read;
  };
}

std::vector<Metric> token_metrics(const TokenFacts& text, Tensor loss) {
  std::vector<Metric> metrics = {{"perplexity", loss, {.finish = std::exp}}};
  if (text.are_bytes) metrics.emplace_back("bits_per_byte", loss, MetricKind{.finish = to_bits});
  if (text.nats_per_token > 0) metrics.emplace_back("entropy", full_like(loss, text.nats_per_token));
  return metrics;
}

}  // namespace kb
