#include "recipes/config/growth.h"

#include <fmt/format.h>

#include <charconv>

#include "recipes/config/values.h"

namespace kb {
namespace {

constexpr const char* kGrowthExpectation =
    "epochs and factors such as 30ep:x5,60ep:x5: whole epochs > 0 that rise, factors > 1";
constexpr int64_t kGrowthBelow =
    1 << 20;  // bound of epochs and factors: a minibatch < 2^31 times a factor fits 64 bits

// Returns the number, or 0 if the text is not a number in (0, kGrowthBelow).
int64_t count_of(std::string_view digits) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  return is_number && value > 0 && value < kGrowthBelow ? value : 0;
}

Growth growth_of(const std::string& word) {
  constexpr std::string_view kEpochsTimes = "ep:x";
  const size_t at = word.find(kEpochsTimes);
  if (at == std::string::npos) return {};
  return {count_of(std::string_view(word).substr(0, at)),
          count_of(std::string_view(word).substr(at + kEpochsTimes.size()))};
}

}  // namespace

std::vector<Growth> parse_growths(const std::string& flag, const std::string& text) {
  std::vector<Growth> growths;
  if (text.empty()) return growths;
  for (const std::string& word : comma_separated(text)) {
    const Growth growth = growth_of(word);
    if (growth.epoch == 0 || growth.factor < 2 || (!growths.empty() && growth.epoch <= growths.back().epoch))
      refuse_value(flag, kGrowthExpectation, text);
    growths.push_back(growth);
  }
  return growths;
}

std::string growths_text(const std::vector<Growth>& growths) {
  std::string text;
  for (const Growth& growth : growths)
    text += fmt::format("{}{}ep:x{}", text.empty() ? "" : ",", growth.epoch, growth.factor);
  return text;
}

}  // namespace kb
