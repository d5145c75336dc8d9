#include "tests/recipes/ranks.h"

#include <thread>
#include <vector>

#include "tests/support/in_process.h"

namespace kb::test {

void on_ranks(int count, const std::function<void(int rank, Machine machine)>& rank_trains) {
  const auto network = make_in_process_network(count);
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < count; ++rank)
    ranks.emplace_back([&, rank] {
      World world(make_in_process_communicator(network, rank));
      const auto backend = make_cpu_backend({.threads = 1,
                                             .shards = 2,
                                             .cache_directory = "",
                                             .communicator = &world.communicator(),
                                             .heartbeat = world.heartbeat()});
      rank_trains(rank, {*backend, world});
    });
}

std::string hash(const TrainingState& state) { return state_sha256(views_of(state.tensors)); }

std::vector<std::string> hashes_of_ranks(int count, const Task& task, const TrainConfig& config) {
  std::vector<std::string> hashes(static_cast<size_t>(count));
  on_ranks(count, [&](int rank, Machine machine) {
    Observer silent;
    hashes[static_cast<size_t>(rank)] = hash(train(task, config, machine, silent).state);
  });
  return hashes;
}

}  // namespace kb::test
