// The ranks of a run as threads, each with a fake GPU of its own, connected by a fake NCCL.
#pragma once
#include <functional>

#include "runtime/comm/communicator.h"
#include "tests/runtime/cuda/fake_backend.h"

namespace kb::test {

struct FakeRank {
  FakeTestGpu& gpu;
  Communicator& communicator;
  FakeNccl& nccl;

  int number() const { return communicator.rank(); }
  // Makes the rank's backend. `driver` is a driver of its GPU with planted faults; null stands for the GPU's own.
  std::unique_ptr<Backend> backend(CudaOptions options = {},
                                   std::unique_ptr<const cuda::Driver> driver = nullptr) const;
};

// Runs `body` on every rank, each a thread. To the other ranks, one that throws looks like a process that has died. The
// exception of the first one is thrown again, and DriverFault if the fake NCCL was used wrongly.
void on_fake_ranks(int ranks, const std::function<void(const FakeRank&)>& body, const FakeOptions& options = {});

}  // namespace kb::test
