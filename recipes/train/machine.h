// The machine of a training: a device, and the processes that share the work.
#pragma once
#include <memory>

#include "recipes/config/machine_options.h"
#include "recipes/train/world.h"
#include "runtime/backend.h"

namespace kb {

// Backend and world must outlive the training. The backend must communicate through the world's communicator.
struct Machine {
  Backend& backend;
  World& world;
  MachineOptions options = {};  // must agree with the backend's device and the world's processes
};

// A machine that consists of this process alone, on its CPUs.
class LocalMachine {
 public:
  // 0 threads stand for one per processor that the process may use. Throws Error if `threads` is below 0 or above
  // kMostThreads.
  explicit LocalMachine(int threads = 0);
  operator Machine() { return {*backend_, world_, options_}; }

 private:
  MachineOptions options_;
  World world_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace kb
