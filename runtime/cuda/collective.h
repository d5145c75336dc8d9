// Sums over the ranks of a run, on their GPUs, over NCCL.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "compiler/kernel_ir.h"
#include "compiler/target.h"
#include "runtime/comm/communicator.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/modules.h"
#include "runtime/cuda/nccl.h"

namespace kb {
class Heartbeat;
}

namespace kb::cuda {

// The alignment of arrays that are reduced, in bytes: their sums are computed by vectors.
inline constexpr int64_t kReductionAlignment = 16;

// All-reduces of arrays of one length, planned; as it is here, that of one rank.
class Reduction {
 public:
  virtual ~Reduction() = default;
  // Returns the kernels that the reduction launches itself; use() takes them from the modules once they are compiled.
  virtual std::vector<ir::Kernel> kernels() const { return {}; }
  virtual void use(const Modules&) {}
  virtual int64_t scratch_bytes() const { return 0; }
  // Sums the array at `data`, in place. Reductions stand on one stream, in the same order on every rank; they may share
  // their scratch, and be captured where each has run uncaptured before.
  virtual void enqueue(Stream, std::byte* /*data*/, std::byte* /*scratch*/) {}
};

// One a device. Outlived by the device, and outlives every captured graph that holds its work.
class Collective : public DeviceWatch {
 public:
  using OpenNccl = std::function<std::unique_ptr<const Nccl>()>;
  // Every rank makes its own at the same time, its device current. `ranks` is used here alone. Throws Error, on every
  // rank, where one of them has no NCCL.
  Collective(const OpenNccl& open, const OpenDevice& device, Communicator& ranks, Algorithm algorithm,
             Heartbeat* heartbeat = nullptr);
  // Gives up what is under way where an exception is.
  ~Collective() override;
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  // halving_doubling: the tree of enum Algorithm, bit for bit; nccl: the library's all-reduce.
  std::unique_ptr<Reduction> plan(int64_t elements, DType dtype, const Target& target) const;

  // While the host waits for the device: a rank that has broken off is an Error, and ends what waits for it.
  void begin() override;
  void look() override;
  void end() override;

  // Ends what is under way here: streams drain, and what they compute is lost.
  void give_up();

 private:
  std::unique_ptr<const Nccl> nccl_;
  const OpenDevice& device_;
  const int rank_, ranks_;
  const Algorithm algorithm_;
  Heartbeat* const heartbeat_;
  NcclComm comm_ = nullptr;
  std::thread giving_up_;  // returns once no captured graph holds work of the communicator
};

}  // namespace kb::cuda
