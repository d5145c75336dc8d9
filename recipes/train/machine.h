// A machine for a training: a device and the processes that share the work.
#pragma once
#include <memory>

#include "recipes/config/machine_options.h"
#include "recipes/train/world.h"
#include "runtime/backend.h"

namespace kb {

// The backend and the world outlive the training; the backend knows the world's communicator.
struct Machine {
  Backend& backend;
  World& world;
  MachineOptions options = {};  // device and processes are those of the backend and the world
};

// This process alone, on its processors.
class LocalMachine {
 public:
  // `threads`: 0: one a processor that the process may use. Throws Error for a number below 0 or above kMostThreads.
  explicit LocalMachine(int threads = 0);
  operator Machine() { return {*backend_, world_, options_}; }

 private:
  MachineOptions options_;
  World world_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace kb
