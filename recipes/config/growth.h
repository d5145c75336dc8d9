// Changes of a step's shape in the course of a training (--minibatch-schedule). With "30ep:x5,60ep:x5" a step has five
// times the samples from epoch 30 on, and 25 times from epoch 60 on. The noise of the updates falls as much as when a
// schedule divides the learning rate by 5 (Smith et al. 2017, "Don't Decay the Learning Rate, Increase the Batch
// Size"). With "2000st:x2:sqrt" the learning rate rises with the minibatch, by a scaling rule.
//
// With "18ep:long4" sequences are four times as long from epoch 18 on: before, a sample is computed as four pieces of a
// quarter of its length, each by itself (You et al. 2019, arXiv 1904.00962, train BERT on sequences of 128 tokens, then
// of 512; Press et al. 2021, arXiv 2012.15832, and Li et al. 2022, arXiv 2108.06084, language models).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recipes/config/period.h"

namespace kb {

struct Growth {
  Period at = {};             // number of epochs, steps or kilosamples, > 0, after which the shape changes
  int64_t factor = 1;         // factor by which the minibatch is multiplied
  std::string rule = "none";  // scaling rule, without gains, by which the learning rate moves with the minibatch
  int64_t longer = 1;         // factor of the length of the sequences that are computed by themselves
  double rate = 1;            // factor, > 0, of the learning rate beside that of `rule`
  // Whether the schedule of the learning rate begins anew, over the steps that are left or up to the next restart; and
  // its warmup, if it has one (warm restarts: Loshchilov and Hutter 2017, arXiv 1608.03983).
  bool restarts = false;
  std::optional<Period> warmup = {};

  std::string text() const;  // "30ep:x5", "2000st:x2:sqrt", "18ep:x2:long4:rate0.7:warm0.2ep"
  bool operator==(const Growth&) const = default;
};

// Reads a text such as "30ep:x5,60ep:x5"; "" gives no growths. Throws UsageError for other texts, and for numbers of
// one unit that do not rise.
std::vector<Growth> parse_growths(const std::string& flag, const std::string& text);
// Returns the text that parse_growths() reads.
std::string growths_text(const std::vector<Growth>& growths);

}  // namespace kb
