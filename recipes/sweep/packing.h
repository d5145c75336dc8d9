// Finds how many trials train fastest side by side: a small net does not keep a machine busy by itself.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recipes/trials/study_process.h"
#include "recipes/trials/trial.h"

namespace kb {

// A trial whose speed is measured, side by side with copies of itself.
struct PackingTrial {
  std::vector<std::string> program;  // command that starts a trial (trial_program)
  Trial trial;
  TrialResources resources;  // number of copies at once, threads of each, and shards
};

// Returns the steps per second of resources.jobs copies of the trial, which train side by side for some seconds, summed
// over all; nothing if it was asked to stop. Works in `folder`, which holds no runs of so many copies. Throws Error if
// the trial does not train.
std::optional<double> packed_speed(const PackingTrial& measured, const std::filesystem::path& folder,
                                   const std::function<bool()>& wants_to_stop);

// Returns numbers of trials at once, in ascending order, that may train faster than one trial. A CPU is full with one
// thread on each processor, thus with `most` trials. The load that fills a GPU is not known in advance: 2, 4, 8, ... up
// to `most`.
std::vector<int> packings_to_try(int most, bool on_gpu);

// Returns which number of trials at once trains fastest, among one and `packings`; nothing if `speed` returns nothing.
// A larger number must gain 5 % over the best smaller one, since the measured trial, the first one of a sweep, has the
// smallest minibatch, and others keep more of the machine busy. The search ends at the first number that gains less, or
// whose trials fail, for instance for lack of memory. `say` gets a line for each: "2 side by side train 1.8 x what one
// after another would". Throws Error if a single trial fails.
std::optional<int> best_packing(const std::vector<int>& packings,
                                const std::function<std::optional<double>(int)>& speed,
                                const std::function<void(const std::string&)>& say);

}  // namespace kb
