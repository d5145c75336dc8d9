// A training by several ranks, threads of this process that share a step as processes do.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "recipes/train/train.h"

namespace kb::test {

// Calls `rank_trains` on every rank of a world of `count`, each in a thread with a CPU of one thread and two shards. It
// may not use the macros of Boost.Test, which serve one thread.
void on_ranks(int count, const std::function<void(int rank, Machine machine)>& rank_trains);

std::string hash(const TrainingState& state);

// Returns the hash of the final state of each of `count` ranks that train together.
std::vector<std::string> hashes_of_ranks(int count, const Task& task, const TrainConfig& config);

}  // namespace kb::test
