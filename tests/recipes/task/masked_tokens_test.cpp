// Masked tokens: how many places are predicted, what stands there, and that nothing but seed, epoch and sample decides.
#include "recipes/task/masked_tokens.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>
#include <set>

#include "data/text/byte_text.h"
#include "graph/error.h"
#include "tests/support/says.h"

namespace kb::masked_tokens_test {
namespace {

constexpr MaskRule kRule{.length = 128, .predictions = 19, .mask = 256, .tokens = 256};

struct Sample {
  std::vector<int32_t> tokens, places, labels;
  bool operator==(const Sample&) const = default;
};

// The bytes 0, 1, 2, ... of a sample, some of them hidden.
Sample hidden(uint64_t key, const MaskRule& rule = kRule) {
  Sample sample{std::vector<int32_t>(static_cast<size_t>(rule.length)),
                std::vector<int32_t>(static_cast<size_t>(rule.predictions)),
                {}};
  std::iota(sample.tokens.begin(), sample.tokens.end(), 0);
  sample.labels = sample.places;
  hide_tokens(rule, key, sample.tokens, sample.places, sample.labels);
  return sample;
}

TokenText text_of(int64_t bytes) {
  Bytes all(static_cast<size_t>(bytes));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint8_t>(i * 7 % 251);
  return byte_text("numbers", all, bytes / 10);
}

std::shared_ptr<const Source> source() {
  const TokenText text = text_of(12'800);
  return masked_windows(text, text.train, kRule);
}

std::vector<Sample> batch_of(const Source& source, const Order& order, int64_t step, int64_t first_row, size_t rows) {
  std::vector<int32_t> tokens(rows * 128), places(rows * 19), labels(rows * 19);
  std::vector<float> weights(rows);
  const auto bytes = [](std::vector<int32_t>& values) { return std::as_writable_bytes(std::span(values)); };
  source.gather(order, first_row)(step, {{bytes(tokens), bytes(places), bytes(labels)}, weights});
  std::vector<Sample> samples;
  const auto row = [](const std::vector<int32_t>& all, size_t at, size_t length) {
    return std::vector(all.begin() + static_cast<int64_t>(at * length),
                       all.begin() + static_cast<int64_t>((at + 1) * length));
  };
  for (size_t i = 0; i < rows; ++i) samples.push_back({row(tokens, i, 128), row(places, i, 19), row(labels, i, 19)});
  return samples;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(masked_tokens)

// Devlin et al. 2019, section 3.1. Deviations of a share p of n draws are sqrt(p (1 - p) / n).
BOOST_AUTO_TEST_CASE(shares_are_those_of_the_paper) {
  double masked = 0, kept = 0, at_first = 0;
  std::set<int32_t> random;
  constexpr int kSamples = 2000;
  for (uint64_t key = 0; key < kSamples; ++key) {
    const Sample sample = hidden(key);
    at_first += sample.places.front() == 0;
    for (size_t i = 0; i < sample.places.size(); ++i) {
      const int32_t seen = sample.tokens[static_cast<size_t>(sample.places[i])];
      masked += seen == 256;
      kept += seen == sample.labels[i];
      if (seen != 256) random.insert(seen);
    }
  }
  const double all = kSamples * 19;
  BOOST_TEST(std::abs(masked / all - 0.8) < 4 * std::sqrt(0.16 / all));
  BOOST_TEST(std::abs(kept / all - (0.1 + 0.1 / 256)) < 4 * std::sqrt(0.09 / all));
  BOOST_TEST(std::abs(at_first / kSamples - 19.0 / 128) < 4 * std::sqrt(0.13 / kSamples));
  BOOST_TEST((random.size() == 256 && *random.rbegin() == 255));
}

BOOST_AUTO_TEST_CASE(places_rise_labels_are_what_was_there_and_all_else_stays) {
  for (uint64_t key = 0; key < 50; ++key) {
    const Sample sample = hidden(key);
    BOOST_TEST((std::ranges::adjacent_find(sample.places, std::greater_equal<>()) == sample.places.end()));
    BOOST_TEST(sample.places == sample.labels);  // token t is t
    for (int32_t t = 0; t < 128; ++t)
      if (!std::ranges::binary_search(sample.places, t)) BOOST_TEST(sample.tokens[static_cast<size_t>(t)] == t);
  }
  const Sample all = hidden(3, {.length = 8, .predictions = 8, .mask = 256, .tokens = 256});
  BOOST_TEST(all.places == (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

BOOST_AUTO_TEST_CASE(one_of_two_places_is_either) {
  std::set<int32_t> places;
  for (uint64_t key = 0; key < 40; ++key)
    places.insert(hidden(key, {.length = 2, .predictions = 1, .mask = 256, .tokens = 256}).places[0]);
  BOOST_TEST((places == std::set<int32_t>{0, 1}));
}

BOOST_AUTO_TEST_CASE(random_tokens_are_all_but_the_mask) {
  std::set<int32_t> seen;
  for (uint64_t key = 0; key < 400; ++key) {
    Sample sample{std::vector<int32_t>(8, 4), std::vector<int32_t>(8), std::vector<int32_t>(8)};
    hide_tokens({.length = 8, .predictions = 8, .mask = 1, .tokens = 4}, key, sample.tokens, sample.places,
                sample.labels);
    seen.insert(sample.tokens.begin(), sample.tokens.end());
  }
  BOOST_TEST((seen == std::set<int32_t>{0, 1, 2, 3, 4}));  // random ones 0, 2, 3; the mask 1; what stays is 4
}

BOOST_AUTO_TEST_CASE(seed_epoch_and_sample_decide_alone) {
  const auto windows = source();
  BOOST_TEST(windows->count() == 90);
  const Order order = Order::training(7, 90, 6), other = Order::training(8, 90, 6);
  const std::vector<Sample> whole = batch_of(*windows, order, 20, 0, 6);
  BOOST_TEST((batch_of(*windows, order, 20, 3, 3) == std::vector(whole.begin() + 3, whole.end())));
  BOOST_TEST(whole[0].places != whole[1].places);
  std::set<std::vector<int32_t>> places;  // of sample 0, in epochs and under seeds of its own
  for (const Order* of_seed : {&order, &other})
    for (int64_t step = 0; step < 45; ++step)
      for (int64_t row = 0; row < 6; ++row)
        if (of_seed->row(step, row).sample == 0) places.insert(batch_of(*windows, *of_seed, step, row, 1)[0].places);
  BOOST_TEST(places.size() == 6);
  const Sample judged = batch_of(*windows, Order::evaluation(90, 6), 0, 0, 1)[0];
  BOOST_TEST((judged == batch_of(*windows, Order::evaluation(90, 4), 0, 0, 1)[0]));
}

BOOST_AUTO_TEST_CASE(a_text_without_a_window_is_refused) {
  const TokenText text = text_of(300);
  BOOST_CHECK_EXCEPTION(
      masked_windows(text, text.test, kRule), Error,
      test::says("text numbers: expected a part of 128 tokens or more, the length of a sample, got 30"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::masked_tokens_test
