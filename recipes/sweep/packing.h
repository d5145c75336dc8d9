// How many trials train best side by side: a small net does not keep a machine busy by itself.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recipes/trials/study_process.h"
#include "recipes/trials/trial.h"

namespace kb {

struct PackingTrial {
  std::vector<std::string> program;  // starts a trial
  Trial trial;
  TrialResources resources;  // how many at once, the threads of each, its shards
};

// Returns the steps a second of the trial, trained for some seconds so many times side by side, summed over all;
// nothing where it was asked to stop. Works in `folder`, which is empty. Throws Error where the trial does not train.
std::optional<double> packed_speed(const PackingTrial& measured, const std::filesystem::path& folder,
                                   const std::function<bool()>& wants_to_stop);

// Returns numbers of trials at once, ascending, that may train faster than one. A CPU is full with a thread on each
// processor, thus with `most` trials. What fills a GPU nobody knows before: 2, 4, 8, ... up to `most`.
std::vector<int> packings_to_try(int most, bool on_gpu);

// Returns how many trials at once train fastest, of one and of `packings`; nothing where `speed` returns nothing.
// A larger number must gain 5 % over the best smaller one, since the first trial of a sweep, by which it is measured,
// has the smallest step, and others keep more of the machine busy; the first that does not is the last that is tried.
// So is one whose trials fail, as by memory. `say` gets a line for each: "2 side by side train 1.8 x what one after
// another would". Throws Error where one alone fails.
std::optional<int> best_packing(const std::vector<int>& packings,
                                const std::function<std::optional<double>(int)>& speed,
                                const std::function<void(const std::string&)>& say);

}  // namespace kb
