// Benchmarks that measure their candidates in turns, round by round, share this clock and this median.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace kb {

// Returns the milliseconds that work() takes.
double milliseconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Returns the upper median of figure(round) over the rounds, of which there is at least one.
template <class Round>
double median(const std::vector<Round>& rounds, const auto& figure) {
  std::vector<double> values;
  for (const Round& round : rounds) values.push_back(figure(round));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace kb
