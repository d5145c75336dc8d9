#include "tests/runtime/cuda/fake_ranks.h"

#include <exception>
#include <mutex>
#include <thread>

#include "runtime/comm/halving_doubling.h"
#include "tests/support/in_process.h"

namespace kb::test {
namespace {

// A backend that tells the fake GPU which memory every launch touches. Kernels may run beside sums that are under way
// only if they touch other memory.
class KnownLaunches : public Backend {
 public:
  KnownLaunches(std::unique_ptr<Backend> under, FakeGpu& gpu, int rank, int ranks)
      : under_(std::move(under)), gpu_(gpu), rank_(rank), ranks_(ranks) {}

  std::string description() const override { return under_->description(); }
  std::string library() const override { return under_->library(); }
  const Target& target() const override { return under_->target(); }
  DType library_dtype(DType dtype) const override { return under_->library_dtype(dtype); }
  AlgorithmChoices algorithm_choices() const override { return under_->algorithm_choices(); }
  void use_algorithm_choices(const AlgorithmChoices& picks) override { under_->use_algorithm_choices(picks); }
  std::unique_ptr<DeviceMemory> allocate(int64_t bytes) override { return under_->allocate(bytes); }
  std::unique_ptr<DeviceMemory> allocate_host(int64_t bytes) override { return under_->allocate_host(bytes); }
  int64_t memory_bytes() const override { return under_->memory_bytes(); }
  int64_t free_bytes() const override { return under_->free_bytes(); }
  bool host_visible() const override { return under_->host_visible(); }
  void upload(std::byte* to, const std::byte* from, int64_t bytes) override { under_->upload(to, from, bytes); }
  void download(std::byte* to, const std::byte* from, int64_t bytes) override { under_->download(to, from, bytes); }
  std::vector<std::unique_ptr<Executable>> load(std::span<const Schedule* const> schedules, const RankGroup& among,
                                                LoadReport& report) override {
    return under_->load(schedules, among, report);
  }

  std::unique_ptr<Runner> make_runner(RunnerParts parts) override {
    for (size_t p = 0; p < parts.schedules.size(); ++p)
      for (const Step& step : parts.schedules[p]->steps) tell(*parts.schedules[p], step, parts, p);
    return under_->make_runner(std::move(parts));
  }

 private:
  void tell(const Schedule& schedule, const Step& step, const RunnerParts& parts, size_t program) {
    const auto address = [&](size_t i) -> std::byte* {
      const Buffer& buffer = schedule.buffers[static_cast<size_t>(step.operands[i].buffer)];
      return buffer.kind == BufferKind::input ? nullptr : parts.address(program, buffer) + step.operands[i].offset;
    };
    if (step.cls == FusionClass::exchange) return tell_pieces(schedule, step, address(0));
    const ir::Kernel* kernel = schedule.kernel_of(step);
    if (!kernel) return;
    for (size_t i = 0; i < step.operands.size(); ++i)
      if (std::byte* data = address(i)) gpu_.know(kernel->name, data, step.extents[i]);
  }

  // Tells the GPU the pieces of the array to which received elements are added, with their bytes.
  void tell_pieces(const Schedule& schedule, const Step& step, const std::byte* data) {
    const Type& type = schedule.node_of(step).type();
    const int64_t bytes = size_of(type.dtype);
    std::vector<Move> moves;
    plan_halving_doubling(rank_, ranks_, type.elements(), 64 / bytes, moves);
    for (const Move& move : moves)
      if (move.adds) gpu_.know("", data + move.receive.begin * bytes, move.receive.elements() * bytes);
  }

  std::unique_ptr<Backend> under_;
  FakeGpu& gpu_;
  const int rank_, ranks_;
};

}  // namespace

std::unique_ptr<Backend> FakeRank::backend(CudaOptions options, std::unique_ptr<const cuda::Driver> driver) const {
  options.communicator = &communicator;
  if (!driver) driver = gpu.gpu.driver();
  return std::make_unique<KnownLaunches>(cuda::make_backend(std::move(driver), options, gpu.factories(options)),
                                         gpu.gpu, number(), communicator.size());
}

void on_fake_ranks(int ranks, const std::function<void(const FakeRank&)>& body, const FakeOptions& options) {
  FakeNccl nccl;
  const auto network = make_in_process_network(ranks);
  std::mutex mutex;
  std::exception_ptr first;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        FakeTestGpu gpu(options, false, &nccl);
        try {
          const auto communicator = make_in_process_communicator(network, rank);
          body({gpu, *communicator, nccl});
        } catch (...) {
          const std::scoped_lock lock(mutex);
          if (!first) first = std::current_exception();
          nccl.kill(rank);
          kill_rank(*network, rank);
        }
      });
  }
  if (first) std::rethrow_exception(first);
  for (const std::string& fault : nccl.faults()) throw DriverFault(fault);
}

}  // namespace kb::test
