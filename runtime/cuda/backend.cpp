#include "runtime/cuda/backend.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cuda/executable.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/product_trials.h"
#include "runtime/cuda/runner.h"

namespace kb::cuda {
namespace {

// A block that multiplies matrices in two stages takes up to 92 KiB of storage, sums of its results included (kMostSums
// in compiler/fuse/products.cpp); one in three stages takes up to 112 KiB.
constexpr int64_t kStorageOfThreeStages = 112 << 10;

// Answers the compiler's questions; the thread that compiles calls it.
class Query : public LibraryQuery {
 public:
  Query(const OpenDevice& device, const DeviceLibrary& library, ProductTrials& products)
      : device_(device), library_(library), products_(products) {}
  int64_t scratch_bytes(const Graph& graph, const Node& node, const Epilogue& epilogue) const override {
    device_.make_current();
    return library_.scratch_bytes(graph, node, epilogue);
  }
  int64_t packed_bytes(const Graph& graph, const Node& pack) const override {
    return library_.packed_bytes(graph, pack);
  }
  std::optional<Multiplier> multiplier(const Graph& graph, const Node& node) const override {
    device_.make_current();
    return products_.multiplier(graph, node);
  }

 private:
  const OpenDevice& device_;
  const DeviceLibrary& library_;
  ProductTrials& products_;
};

class CudaBackend : public Backend {
 public:
  CudaBackend(std::unique_ptr<const Driver> driver, const CudaOptions& options, const Factories& factories)
      : options_(options),
        driver_(std::move(driver)),
        device_(*driver_, options.device),
        transfers_(device_),
        compiler_(factories.compiler(device_)),
        library_(factories.library({*driver_, device_.handle, device_.compute, device_.capability})),
        target_(device_target(device_)),
        products_({device_, *compiler_, *library_, target_}) {
    target_.library = std::make_shared<Query>(device_, *library_, products_);
    if (!options.communicator || options.communicator->size() == 1) return;
    collective_ = std::make_unique<Collective>(factories.nccl, device_, *options.communicator, options.all_reduce,
                                               options.heartbeat);
    device_.set_watch(collective_.get());
  }
  ~CudaBackend() override {
    device_.set_watch(nullptr);
    device_.try_make_current();  // the library's handles go with the context of the thread
  }

  std::string description() const override {
    return fmt::format("cuda: {}, sm_{}, {} multiprocessors, {} GiB, driver {}.{}, {}, {}{}", device_.name,
                       device_.capability, device_.processors, (device_.memory + (1 << 29)) >> 30,
                       device_.driver_version / 1000, device_.driver_version % 1000 / 10, compiler_->name(),
                       library_->name(), options_.deterministic ? "" : ", not deterministic");
  }
  const Target& target() const override { return target_; }
  std::string library() const override { return library_->name(); }
  DType library_dtype(DType dtype) const override { return library_->compute_dtype(dtype); }
  // The library owns the choices between it and kernels of our own, too: see ProductTrials.
  AlgorithmChoices algorithm_choices() const override { return library_->algorithm_choices(); }
  void use_algorithm_choices(const AlgorithmChoices& picks) override { library_->use_algorithm_choices(picks); }

  std::unique_ptr<DeviceMemory> allocate(int64_t bytes) override { return allocate_device(device_, bytes); }
  std::unique_ptr<DeviceMemory> allocate_host(int64_t bytes) override { return allocate_pinned(device_, bytes); }
  int64_t memory_bytes() const override { return device_.memory; }
  int64_t free_bytes() const override {
    device_.make_current();
    return driver_->free_bytes();
  }
  bool host_visible() const override { return false; }
  void upload(std::byte* target, const std::byte* source, int64_t bytes) override {
    transfers_.upload(target, source, bytes);
  }
  void download(std::byte* target, const std::byte* source, int64_t bytes) override {
    transfers_.download(target, source, bytes);
  }

  std::vector<std::unique_ptr<Executable>> load(std::span<const Schedule* const> schedules, const RankGroup& among,
                                                LoadReport& report) override {
    const int ranks = options_.communicator ? options_.communicator->size() : 0;
    return make_executables(schedules,
                            {device_, *compiler_, *library_, target_, ranks, collective_.get(), among,
                             options_.heartbeat, options_.sync_steps},
                            report);
  }
  std::unique_ptr<Runner> make_runner(RunnerParts parts) override {
    return cuda::make_runner(device_, transfers_, std::move(parts), collective_ != nullptr, options_.sync_steps);
  }

 private:
  const CudaOptions options_;
  std::unique_ptr<const Driver> driver_;
  OpenDevice device_;
  Transfers transfers_;
  std::unique_ptr<Compiler> compiler_;
  std::unique_ptr<DeviceLibrary> library_;
  Target target_;
  ProductTrials products_;
  std::unique_ptr<Collective> collective_;  // null if there is one rank
};

[[noreturn]] void no_device(const std::string& got, const std::string& hint) {
  throw Error(fmt::format("no CUDA device\n  missing: a device\n  got:     {}\n  hint:    {}", got, hint));
}

}  // namespace

Target device_target(const OpenDevice& device) {
  Target target = gpu_target(device.capability >= 100 ? "sm_100" : device.capability >= 90 ? "sm_90" : "sm_80");
  target.isa = target.library_isa = fmt::format("sm_{}", device.capability);
  target.warpgroups = has_warpgroups(device.capability);
  if (device.block_storage < kStorageOfThreeStages) target.product_stages = std::min<int64_t>(target.product_stages, 2);
  set_processors(target, device.processors);
  target.memory_bytes = device.memory;
  return target;
}

std::unique_ptr<Backend> make_backend(std::unique_ptr<const Driver> driver, const CudaOptions& options,
                                      const Factories& factories) {
  int count = 0;
  try {
    (*driver)(driver->init, 0u);
    (*driver)(driver->device_count, &count);
  } catch (const CallError& error) {
    no_device(error.what(), "nvidia-smi shows whether the driver sees a GPU; a container needs --gpus all");
  }
  if (options.device >= count)
    no_device(
        fmt::format("{} device{}, of which number {} was asked for", count, count == 1 ? "" : "s", options.device),
        "CUDA_VISIBLE_DEVICES hides devices");
  return std::make_unique<CudaBackend>(std::move(driver), options, factories);
}

}  // namespace kb::cuda
