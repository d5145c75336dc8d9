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
  // Its own of the run's. `driver`: of its GPU, with faults planted, or the GPU's as it is.
  std::unique_ptr<Backend> backend(CudaOptions options = {},
                                   std::unique_ptr<const cuda::Driver> driver = nullptr) const;
};

// A rank that throws ends for the others as a process that dies does. What the first of them threw is thrown again,
// and an error where the fake NCCL was used wrongly.
void on_fake_ranks(int ranks, const std::function<void(const FakeRank&)>& body, const FakeOptions& options = {});

}  // namespace kb::test
