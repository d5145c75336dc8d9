// Random numbers of tests that draw what they check.
#pragma once
#include <cstdint>
#include <vector>

namespace kb::test {

// SplitMix64 (Steele et al. 2014), which gives equal numbers with every standard library.
class RandomNumbers {
 public:
  explicit RandomNumbers(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 0x1234567ull) {}
  uint64_t bits() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  // Returns an integer in [low, high], both included.
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(double probability) { return static_cast<double>(bits() >> 11) * 0x1p-53 < probability; }
  // Returns a multiple of 1/16 in [low, high]; such a number, if it is small, is exact in every float dtype.
  double number(double low, double high) {
    return static_cast<double>(integer(static_cast<int64_t>(low * 16), static_cast<int64_t>(high * 16))) / 16;
  }
  template <class T>
  const T& pick(const std::vector<T>& items) {
    return items[static_cast<size_t>(integer(0, static_cast<int64_t>(items.size()) - 1))];
  }

 private:
  uint64_t state_;
};

}  // namespace kb::test
