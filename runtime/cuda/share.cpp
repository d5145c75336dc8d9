#include "runtime/cuda/share.h"

#include <fmt/format.h>

#include <map>

#include "graph/error.h"
#include "runtime/host_name.h"

namespace kb::cuda {
namespace {

// A rank's message to the others: its failure, or its node, its device's bus id and the number of GPUs that it sees.
struct Seen {
  std::string failure;  // empty: the other members hold
  std::string node, bus_id;
  int gpus = 0;
};

std::string to_text(const Seen& seen) {
  return seen.failure.empty() ? fmt::format("+{}\n{}\n{}", seen.gpus, seen.node, seen.bus_id) : "-" + seen.failure;
}

Seen from_text(const std::string& text) {
  Seen seen;
  if (text.at(0) == '-') {
    seen.failure = text.substr(1);
    return seen;
  }
  const size_t node = text.find('\n') + 1, bus_id = text.find('\n', node) + 1;
  seen.gpus = std::stoi(text.substr(1));
  seen.node = text.substr(node, bus_id - 1 - node);
  seen.bus_id = text.substr(bus_id);
  return seen;
}

void check_each_has_its_own(const std::vector<Seen>& reports) {
  std::map<std::pair<std::string, std::string>, size_t> owners;
  std::map<std::string, int> ranks;  // number of ranks on each node
  for (const Seen& seen : reports) ++ranks[seen.node];
  for (size_t rank = 0; rank < reports.size(); ++rank) {
    const Seen& seen = reports[rank];
    const auto [owner, is_new] = owners.try_emplace({seen.node, seen.bus_id}, rank);
    if (is_new) continue;
    throw Error(fmt::format(
        "every process needs a GPU of its own\n  expected: {} GPUs on {}, which has {} ranks\n  got:      {} that rank "
        "{} sees; ranks {} and {} would share {}\n  hint:     fewer processes a node (--processes, mpirun --map-by "
        "ppr:{}:node), or what hides GPUs: CUDA_VISIBLE_DEVICES, a container's --gpus",
        ranks[seen.node], seen.node, ranks[seen.node], seen.gpus, rank, owner->second, rank, seen.bus_id, seen.gpus));
  }
}

}  // namespace

// A launcher may show all GPUs of a node to each of its ranks, or to each rank the one that is meant for it.
int share_devices(Communicator& ranks, const std::function<std::vector<std::string>()>& bus_ids) {
  Seen own;
  int ordinal = 0;
  try {
    const std::vector<std::string> gpus = bus_ids();
    ensure(!gpus.empty(), "share_devices: no GPU, and no error that says so");
    ordinal = ranks.placement().local_rank % static_cast<int>(gpus.size());
    own = {"", host_name(), gpus[static_cast<size_t>(ordinal)], static_cast<int>(gpus.size())};
  } catch (const Error& error) {
    own.failure = error.what();
  }
  std::vector<Seen> all;
  for (const std::string& text : ranks.all_gather(to_text(own))) all.push_back(from_text(text));
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (!all[rank].failure.empty()) throw Error(fmt::format("rank {}: {}", rank, all[rank].failure));
  check_each_has_its_own(all);
  return ordinal;
}

}  // namespace kb::cuda
