// A sweep of seconds, of a small net on drawn images, by the program `sweep`: two minibatches, three rates each, and
// the best under a second seed.
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

// The command, with `more` words behind it.
Words sweep(const std::filesystem::path& store, const Words& more = {});
// Command of a worker of one trial at once.
Words worker(const std::filesystem::path& store, const Words& more = {});
// Sets the value behind a flag that is among the words; takes the flag away.
Words with_value(Words words, const std::string& flag, const std::string& value);
Words without(Words words, const std::string& flag);

ProcessResult output_of(const Words& words);

std::vector<std::filesystem::path> runs_in(const std::filesystem::path& store);
SweepPlan plan_of(const std::filesystem::path& store);

// The store of a sweep that nothing disturbed.
const std::filesystem::path& undisturbed_sweep();
// All trials are done, each took its steps once, and the best ones are those of the undisturbed sweep, to the bit.
void check_whole(const std::filesystem::path& store);

template <class Condition>
void wait_for(const Condition& holds) {
  while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

}  // namespace kb::test
