#include "data/text/unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/error.h"

namespace kb {
namespace {

constexpr int64_t kBlock = 4096;  // tokens
constexpr int64_t kMostBlocks = (1 << 24) / kBlock;

/// Returns how often each token of the vocabulary occurs in the blocks of a part.
std::vector<int64_t> counts_of(const TokenText& text, const TokenSequence& part) {
  std::vector<int64_t> counts(static_cast<size_t>(text.vocabulary));
  const int64_t blocks = (part.count() + kBlock - 1) / kBlock, read = std::min(blocks, kMostBlocks);
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < read; ++i) {
    const int64_t begin = i * blocks / read * kBlock;
    tokens.resize(static_cast<size_t>(std::min(kBlock, part.count() - begin)));
    part.copy(begin, tokens);
    for (const int32_t token : tokens) {
      if (token < 0 || token >= text.vocabulary)
        throw DataError({text.name, "a token is outside of the vocabulary",
                         fmt::format("tokens in [0, {})", text.vocabulary), fmt::to_string(token), ""});
      ++counts[static_cast<size_t>(token)];
    }
  }
  return counts;
}

}  // namespace

double unigram_loss(const TokenText& text) {
  const std::vector<int64_t> train = counts_of(text, *text.train), test = counts_of(text, *text.test);
  double all = 0, tested = 0, nats = 0;
  for (const int64_t count : train) all += static_cast<double>(count + 1);
  for (size_t token = 0; token < test.size(); ++token) {
    tested += static_cast<double>(test[token]);
    nats -= static_cast<double>(test[token]) * std::log(static_cast<double>(train[token] + 1) / all);
  }
  return nats / tested;
}

}  // namespace kb
