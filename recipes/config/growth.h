// Growths of the minibatch in the course of a training (--minibatch-schedule): "30ep:x5,60ep:x5" has five times the
// samples a step from epoch 30 on, and 25 times from epoch 60 on. The noise of the gradient falls as much as where a
// schedule divides the learning rate by 5 (Smith et al. 2017, "Don't Decay the Learning Rate, Increase the Batch
// Size").
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kb {

struct Growth {
  int64_t epoch = 0;   // > 0: from its begin on
  int64_t factor = 1;  // > 1: of the minibatch before
  bool operator==(const Growth&) const = default;
};

// Throws UsageError for other words, and for epochs that do not rise. "" is no growth.
std::vector<Growth> parse_growths(const std::string& flag, const std::string& text);
std::string growths_text(const std::vector<Growth>& growths);

}  // namespace kb
