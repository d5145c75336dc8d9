// A sweep of a small net on drawn images, which the program `sweep` trains in seconds: two minibatches, three rates for
// each, and the best rate under a second seed.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "recipes/sweep/sweep_plan.h"
#include "runtime/process.h"

namespace kb::test {

using Words = std::vector<std::string>;

// Returns the command of the sweep, with `more` words after it.
Words sweep(const std::filesystem::path& store, const Words& more = {});
// Returns the command of a worker that trains one trial at a time.
Words worker(const std::filesystem::path& store, const Words& more = {});
// with_value sets the value after a flag that is among the words; without takes the flag and its value away.
Words with_value(Words words, const std::string& flag, const std::string& value);
Words without(Words words, const std::string& flag);

ProcessResult output_of(const Words& words);

std::vector<std::filesystem::path> runs_in(const std::filesystem::path& store);
SweepPlan plan_of(const std::filesystem::path& store);

// The store of a sweep that nothing disturbed.
const std::filesystem::path& undisturbed_sweep();
// Checks that all trials are done, that each took its steps once, and that the best ones are those of the undisturbed
// sweep, to the bit.
void check_whole(const std::filesystem::path& store);

template <class Condition>
void wait_for(const Condition& holds) {
  while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

}  // namespace kb::test
