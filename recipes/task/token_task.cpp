#include "recipes/task/token_task.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "graph/error.h"

namespace kb {
namespace {

class TokenWindows : public SampleSource {
 public:
  TokenWindows(std::string fingerprint, std::shared_ptr<const TokenSequence> tokens, int64_t length)
      : SampleSource({static_cast<size_t>(length) * sizeof(int32_t)}),
        fingerprint_(std::move(fingerprint)),
        tokens_(std::move(tokens)),
        length_(length) {}

  int64_t count() const override { return tokens_->count() / length_; }
  std::string fingerprint() const override { return fingerprint_; }
  void read(const SampleRequest& sample, std::span<const std::span<std::byte>> fields) const override {
    if (fields[0].empty()) return;
    std::vector<int32_t> tokens(static_cast<size_t>(length_));
    tokens_->copy(sample.number * length_, tokens);
    std::memcpy(fields[0].data(), tokens.data(), fields[0].size());
  }

 private:
  const std::string fingerprint_;
  const std::shared_ptr<const TokenSequence> tokens_;
  const int64_t length_;
};

double to_bits(double nats) { return nats / std::numbers::ln2; }

// Returns a source of windows of `length` tokens, one after another: windows do not overlap, and tokens after the last
// whole window are left out. Its only field has the tokens as i32 [length]. Throws Error where the tokens are fewer.
std::shared_ptr<const Source> token_windows(const TokenText& text, std::shared_ptr<const TokenSequence> tokens,
                                            int64_t length) {
  check_windows(text, *tokens, length);
  return std::make_shared<TokenWindows>(text.fingerprint, std::move(tokens), length);
}

}  // namespace

void check_windows(const TokenText& text, const TokenSequence& tokens, int64_t length) {
  if (tokens.count() >= length) return;
  throw Error(fmt::format("text {}: expected a part of {} tokens or more, the length of a sample, got {}", text.name,
                          length, tokens.count()));
}

void set_token_sources(Task& task, const TokenText& text) {
  const int64_t length = task.fields.at(0).shape.at(0);
  task.data = text.name;
  task.train = token_windows(text, text.train, length);
  task.test = token_windows(text, text.test, length);
}

std::vector<Metric> token_metrics(const TokenFacts& text, Tensor loss) {
  std::vector<Metric> metrics = {{"perplexity", loss, {.finish = std::exp}}};
  if (text.are_bytes) metrics.emplace_back("bits_per_byte", loss, MetricKind{.finish = to_bits});
  if (text.nats_per_token > 0) metrics.emplace_back("entropy", full_like(loss, text.nats_per_token));
  return metrics;
}

}  // namespace kb
