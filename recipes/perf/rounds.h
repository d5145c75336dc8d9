// Benchmarks that measure their candidates in turns, round by round, share this clock and this median.
#pragma once
#include <chrono>
#include <utility>
#include <vector>

#include "runtime/median.h"

namespace kb {

// Returns the milliseconds that work() takes.
double milliseconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Returns the median of figure(round) over the rounds.
template <class Round>
double median(const std::vector<Round>& rounds, const auto& figure) {
  std::vector<double> values;
  for (const Round& round : rounds) values.push_back(figure(round));
  return median_of(std::move(values));
}

}  // namespace kb
