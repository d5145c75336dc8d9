// Waiting for a message by looking and sleeping in turn.
#pragma once
#include <algorithm>
#include <chrono>
#include <thread>

namespace kb {

// The pause between two looks at a message: none at first, then an eighth of the time waited so far. So waiting takes
// little of a core and little more time.
class Patience {
 public:
  explicit Patience(std::chrono::microseconds longest) : longest_(longest) {}
  double waited() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void rest() {
    const auto waited = Clock::now() - start_;
    if (waited < kAwake) return;
    std::this_thread::sleep_for(std::clamp<Clock::duration>(waited / 8, kShortest, longest_));
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kAwake{50}, kShortest{5};
  std::chrono::microseconds longest_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace kb
