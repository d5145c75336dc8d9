#include "recipes/train/line_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace kb {
namespace {

// If the differing middle parts of two texts have more lines than this, their longest common subsequence is not
// computed, since its time and memory grow with the product of the numbers of lines.
constexpr size_t kMostAligned = 3000;

struct Line {
  std::string_view text;
  std::string key;
};

std::string without_numbers(std::string_view line) {
  std::string key;
  for (size_t i = 0; i < line.size(); ++i) {
    key += line[i];
    if (line[i] == '%')
      while (i + 1 < line.size() && std::isdigit(static_cast<unsigned char>(line[i + 1]))) ++i;
  }
  return key;
}

std::vector<Line> lines_of(std::string_view text, bool numbers) {
  std::vector<Line> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    lines.push_back({line, numbers ? std::string(line) : without_numbers(line)});
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return lines;
}

void trim_common(std::vector<Line>& a, std::vector<Line>& b) {
  auto same = [](const Line& x, const Line& y) { return x.key == y.key; };
  const auto back = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend(), same);
  a.erase(back.first.base(), a.end());
  b.erase(back.second.base(), b.end());
  const auto front = std::mismatch(a.begin(), a.end(), b.begin(), b.end(), same);
  a.erase(a.begin(), front.first);
  b.erase(b.begin(), front.second);
}

// Returns the lengths of longest common subsequences: common[i][j] is that of a[i..] and b[j..].
std::vector<std::vector<uint16_t>> common_lengths(const std::vector<Line>& a, const std::vector<Line>& b) {
  std::vector<std::vector<uint16_t>> common(a.size() + 1, std::vector<uint16_t>(b.size() + 1));
  for (size_t i = a.size(); i-- > 0;)
    for (size_t j = b.size(); j-- > 0;)
      common[i][j] = a[i].key == b[j].key ? static_cast<uint16_t>(common[i + 1][j + 1] + 1)
                                          : std::max(common[i + 1][j], common[i][j + 1]);
  return common;
}

std::vector<std::string> differences(const std::vector<Line>& a, const std::vector<Line>& b) {
  std::vector<std::string> lines;
  auto minus = [&](const Line& line) { lines.push_back(fmt::format("- {}", line.text)); };
  auto plus = [&](const Line& line) { lines.push_back(fmt::format("+ {}", line.text)); };
  size_t i = 0, j = 0;
  if (a.size() <= kMostAligned && b.size() <= kMostAligned) {
    const auto common = common_lengths(a, b);
    while (i < a.size() && j < b.size()) {
      if (a[i].key == b[j].key)
        ++i, ++j;
      else if (common[i + 1][j] >= common[i][j + 1])
        minus(a[i++]);
      else
        plus(b[j++]);
    }
  }
  while (i < a.size()) minus(a[i++]);
  while (j < b.size()) plus(b[j++]);
  return lines;
}

std::vector<std::string> differences(std::string_view first, std::string_view second, bool numbers) {
  std::vector<Line> a = lines_of(first, numbers), b = lines_of(second, numbers);
  trim_common(a, b);
  return differences(a, b);
}

}  // namespace

std::string line_diff(std::string_view first, std::string_view second, size_t most) {
  std::vector<std::string> lines = differences(first, second, false);
  if (lines.empty()) lines = differences(first, second, true);
  std::string text;
  for (size_t i = 0; i < std::min(most, lines.size()); ++i) text += (i > 0 ? "\n" : "") + lines[i];
  if (lines.size() > most) text += fmt::format("\n... and {} lines more", lines.size() - most);
  return text;
}

}  // namespace kb
