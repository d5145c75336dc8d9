// The trainings of `hour`, "ImageNet in 1 hour" in small: those that show the effects of Goyal et al. 2017 on LeNet
// with batch norm, and large minibatches as in You et al. 2017. All have n = 32 samples per worker (section 2.3 of the
// former).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "recipes/trials/search_space.h"

namespace kb {

// A configuration, trained under several seeds.
struct HourArm {
  std::string name;                      // "kn512-gradual", with which the names of its trials begin
  int64_t minibatch = 32;                // kn, samples per step
  std::string rate;                      // learning rate after the warmup, in words: "0.4 = 0.025 x 16"
  std::string start;                     // how the training begins: "gradual warmup"
  std::vector<std::string> words;        // flags of lenet_mnist
  std::string paper;                     // the paper's configuration that it stands for: "kn 8k, no warmup"
  std::string paper_error;               // error in the paper, %: "24.84 +- 0.37"
  std::string source;                    // place of that error in the paper: "table 1"
  std::vector<SearchRange> search = {};  // flags whose values are searched before its seeds are trained (hour_search.h)
};

enum class HourPlan : uint8_t { brief, full };

// Returns the arms of a plan over `epochs` epochs; the first is the baseline.
std::vector<HourArm> hour_arms(HourPlan plan, int64_t epochs);

}  // namespace kb
