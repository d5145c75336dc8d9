// A training by several ranks, threads of this process that share a step as processes do.
#pragma once
#include <functional>

#include "recipes/train/train.h"

namespace kb::test {

// Calls `rank_trains` on every rank of a world of `count`, each in a thread with a CPU of one thread and two shards.
void on_ranks(int count, const std::function<void(int rank, Machine machine)>& rank_trains);

}  // namespace kb::test
