// Sums over the ranks of a run on their GPUs, by NCCL or by its sends and receives.
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

// The alignment in bytes of arrays that are reduced, whose sums are computed in vectors.
inline constexpr int64_t kReductionAlignment = 16;

// A plan for all-reduces of arrays of one length. This class itself is the plan for one rank, which does nothing.
class Reduction {
 public:
  virtual ~Reduction() = default;
  // Returns the kernels that the reduction launches. use() takes them from the modules once they are compiled.
  virtual std::vector<ir::Kernel> kernels() const { return {}; }
  virtual void use(const Modules&) {}
  virtual int64_t scratch_bytes() const { return 0; }
  // Sums the array at `data` in place. Reductions are enqueued on one stream, in the same order on every rank. They may
  // share their scratch memory. One that has run uncaptured before may be captured.
  virtual void enqueue(Stream, std::byte* /*data*/, std::byte* /*scratch*/) {}
};

// The group of a device. It must outlive all captured graphs with its work, and the device must outlive it.
class Collective : public DeviceWatch {
 public:
  using OpenNccl = std::function<std::unique_ptr<const Nccl>()>;
  // Every rank makes its own at the same time, with its device current. `ranks` is used in the constructor alone.
  // Throws Error, on every rank, when one of them has no NCCL.
  Collective(const OpenNccl& open, const OpenDevice& device, Communicator& ranks, Algorithm algorithm,
             Heartbeat* heartbeat = nullptr);
  // Gives up the active reductions if an exception is being handled.
  ~Collective() override;
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  // Plans all-reduces over all ranks or among those of a group. halving_doubling computes the tree of enum Algorithm,
  // bit for bit; nccl calls the library's all-reduce. Throws Error for a group where that is chosen.
  std::unique_ptr<Reduction> plan(int64_t elements, DType dtype, const RankGroup& among, const Target& target) const;

  // Called while the host waits for the device. If another rank has failed, look() throws Error and ends what waits for
  // that rank.
  void begin() override;
  void look() override;
  void end() override;

  // Ends the active reductions of this rank: streams run empty, and their results are lost.
  void give_up();

 private:
  std::unique_ptr<const Nccl> nccl_;
  const OpenDevice& device_;
  const int rank_, ranks_;
  const Algorithm algorithm_;
  Heartbeat* const heartbeat_;
  NcclComm comm_ = nullptr;
  std::thread giving_up_;  // returns once no captured graph has work of the communicator
};

}  // namespace kb::cuda
