// Compiled by the configure step: parts of C++20 that not every compiler with -std=c++20 has (compiler.cmake).
#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>
#include <source_location>
#include <span>
#include <thread>
#include <utility>

// The caller's line in a default argument is how an error finds the line in the user's model.
int line(std::source_location where = std::source_location::current()) { return static_cast<int>(where.line()); }

struct Version {
  int major, minor;
  auto operator<=>(const Version&) const = default;
};

int main() {
  static_assert(Version{.major = 1, .minor = 2} < Version{.major = 2, .minor = 0});
  static_assert(std::bit_cast<uint32_t>(1.0f) == 0x3f800000u);
  const auto [first, second] = std::pair(line(), 2);
  int sum = 0;
  std::jthread([&] { sum = first + second; }).join();
  const int expected[] = {sum}, got[] = {first + second};
  return std::ranges::equal(std::span(expected), std::span(got)) ? 0 : 1;
}
