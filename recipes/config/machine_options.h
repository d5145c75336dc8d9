// Options of the machine that a training runs on: its device, processes and the communication between them.
#pragma once
#include <cstdint>
#include <optional>

#include "recipes/config/network.h"
#include "recipes/config/values.h"
#include "runtime/comm/algorithm.h"

namespace kb {

enum class DeviceChoice : uint8_t { automatic, cpu, cuda };
inline constexpr auto kDevices = choices<DeviceChoice>({"auto", "cpu", "cuda"});

inline constexpr Choice<Algorithm> kAllReduces[] = {{"halving-doubling", Algorithm::halving_doubling},
                                                    {"ring", Algorithm::ring},
                                                    {"mpi", Algorithm::mpi},
                                                    {"nccl", Algorithm::nccl}};

struct MachineOptions {
  DeviceChoice device = DeviceChoice::automatic;
  int64_t processes = 1;
  int64_t threads = 0;  // 0: one for each core that the process may use
  Algorithm all_reduce = Algorithm::halving_doubling;
  std::optional<Network> net = {};  // slower network that the processes simulate
  bool fast = false;                // whether results may differ in the last bits from run to run
  bool sync_steps = false;          // whether to wait after every step of a schedule
};

}  // namespace kb
