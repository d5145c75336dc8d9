// Growths of the minibatch in the course of a training (--minibatch-schedule): with "30ep:x5,60ep:x5" a step has five
// times the samples from epoch 30 on, and 25 times from epoch 60 on. The noise of the updates falls as much as when a
// schedule divides the learning rate by 5 (Smith et al. 2017, "Don't Decay the Learning Rate, Increase the Batch
// Size"). With "2000st:x2:sqrt" the learning rate rises with the minibatch, by a scaling rule.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "recipes/config/period.h"

namespace kb {

struct Growth {
  Period at = {};             // number of epochs, steps or kilosamples, > 0, after which the minibatch is larger
  int64_t factor = 1;         // factor, > 1, by which the minibatch is multiplied
  std::string rule = "none";  // scaling rule, without gains, by which the learning rate moves at the growth

  std::string text() const;  // "30ep:x5", "2000st:x2:sqrt"
  bool operator==(const Growth&) const = default;
};

// Reads a text such as "30ep:x5,60ep:x5"; "" gives no growths. Throws UsageError for other texts, and for numbers of
// one unit that do not rise.
std::vector<Growth> parse_growths(const std::string& flag, const std::string& text);
// Returns the text that parse_growths() reads.
std::string growths_text(const std::vector<Growth>& growths);

}  // namespace kb
