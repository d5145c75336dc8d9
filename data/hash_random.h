// Counter-based randomness of the data room. Every number is a function of a key and a counter, so a sample can be
// drawn, and an order shuffled or resumed, at any position without drawing what comes before. The mixing function is
// the finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#pragma once

#include <cstdint>

namespace kb {

/// Returns a bijection of 64-bit words in which every input bit flips every output bit with a probability of about one
/// half.
constexpr uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Returns the hash of a sequence of words, folded from the left. It makes keys, as in hash_words(seed, epoch).
template <class... Words>
constexpr uint64_t hash_words(Words... words) {
  uint64_t h = 0;
  ((h = mix64(h + 0x9e3779b97f4a7c15u + static_cast<uint64_t>(words))), ...);
  return h;
}

/// The sequence of random numbers that a key has. Draw n is mix64(key + n * golden). Sequences of different keys are
/// unrelated.
class HashStream {
 public:
  explicit constexpr HashStream(uint64_t key) : state_(key) {}

  constexpr uint64_t bits() { return mix64(state_ += 0x9e3779b97f4a7c15u); }

  /// Returns a uniform number in [0, 1) in steps of 2^-24, which float holds exactly on every machine.
  constexpr float uniform() { return static_cast<float>(bits() >> 40) * 0x1p-24f; }
  constexpr float uniform(float low, float high) { return low + (high - low) * uniform(); }

  /// Returns a uniform integer in [0, bound); the bias is below bound / 2^32.
  constexpr int below(int bound) { return static_cast<int>(((bits() >> 32) * static_cast<uint64_t>(bound)) >> 32); }

  /// Returns a number of mean 0 and variance 1 within +-3.47: the sum of four 16-bit uniform numbers (Irwin-Hall),
  /// exact without the C library.
  constexpr float bell() {
    const uint64_t word = bits();
    const int sum = static_cast<int>((word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48));
    constexpr float kScale = 1.7320508f / 65536;  // a sum of four uniforms has variance 1/3
    return static_cast<float>(sum - 2 * 65535) * kScale;
  }

 private:
  uint64_t state_;
};

}  // namespace kb
