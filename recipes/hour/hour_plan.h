// "ImageNet in one hour" in small: the trainings that show Goyal et al. 2017's effects on LeNet with batch norm, and
// the large minibatches of You et al. 2017 behind them. n = 32 samples a worker in all of them (section 2.3 there).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "recipes/trials/search_space.h"

namespace kb {

// A configuration, trained under several seeds.
struct HourArm {
  std::string name;                      // "kn512-gradual": begins the names of its trials
  int64_t minibatch = 32;                // kn
  std::string rate;                      // learning rate behind the warmup, in words: "0.4 = 0.025 x 16"
  std::string start;                     // how the training begins: "gradual warmup"
  std::vector<std::string> words;        // flags of lenet_mnist
  std::string paper;                     // configuration in the paper that it stands for: "kn 8k, no warmup"
  std::string paper_error;               // there, %: "24.84 +- 0.37"
  std::string source;                    // place of that error: "table 1"
  std::vector<SearchRange> search = {};  // flags whose values are searched before its seeds (hour_search.h)
};

enum class HourPlan : uint8_t { brief, full };

// Returns the arms of a plan over `epochs` epochs; the first is the baseline.
std::vector<HourArm> hour_arms(HourPlan plan, int64_t epochs);

}  // namespace kb
