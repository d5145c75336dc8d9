// The CPU backend: the host compiler for printed kernels, oneDNN or Eigen for convolution and matmul, and one pool of
// threads for both.
#include "runtime/backend.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"
#include "runtime/cpu/arena_guard.h"
#include "runtime/cpu/executable.h"
#include "runtime/cpu/library.h"
#include "runtime/cpu/memory.h"
#include "runtime/cpu/runner.h"
#include "runtime/processor.h"
#include "runtime/standard_streams.h"
#include "runtime/usable_memory.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

// Answers the compiler's questions about library calls by planning them, which is done again later; equal ones share
// their primitives.
class CpuLibraryQuery : public LibraryQuery {
 public:
  CpuLibraryQuery(LibraryContext& context, int shards) : context_(context), shards_(shards) {}

  int64_t scratch_bytes(const Graph& graph, const Node& node, const Epilogue& epilogue) const override {
    return static_cast<int64_t>(plan_library(context_, graph, node, epilogue, shards_)->scratch_bytes());
  }

  int64_t packed_bytes(const Graph& graph, const Node& pack) const override {
    return static_cast<int64_t>(packs_matrix(pack) ? packed_weight_bytes(context_, matmul_spec(graph, pack), shards_)
                                                   : packed_weight_bytes(context_, conv_spec(graph, pack)));
  }

 private:
  LibraryContext& context_;
  int shards_;
};

int checked_threads(int threads) {
  if (threads < 0 || threads > kMostThreads)
    throw Error(
        fmt::format("threads of a CPU backend: expected a whole number in [0, {}], got {}\n  hint: 0 stands for "
                    "one a processor that this process may use",
                    kMostThreads, threads));
  return threads;
}

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options)
      : pool_(checked_threads(options.threads)),
        runtime_(RuntimeOptions::from_environment()),
        communicator_(options.communicator),
        heartbeat_(options.heartbeat),
        target_(generic_cpu_target()) {
    if (pool_.threads() < pool_.asked())
      print_error(fmt::format(
          "kilobatch: {} of {} threads: the system makes no more of them (ulimit -u, or a container's limit)",
          pool_.threads(), pool_.asked()));
    if (!options.cache_directory.empty()) runtime_.cache_dir = options.cache_directory;
    target_.isa = library_.kernel_isa();
    target_.library_isa = library_.instruction_set();
    // The default is the machine's number of processors and not that which a launcher leaves to this process, because
    // the bits depend on it.
    target_.shards = options.shards > 0 ? options.shards : machine_processors();
    target_.redzone_bytes = kRedzone;
    target_.narrow_weight_gradients = options.narrow_weight_gradients;
    target_.library = std::make_shared<CpuLibraryQuery>(library_, target_.shards);
  }

  std::string description() const override {
    auto counted = [](int64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
    return fmt::format("cpu: {}, {}, {}, {}", target_.isa, counted(pool_.threads(), "thread"),
                       counted(target_.shards, "shard"), library());
  }
  const Target& target() const override { return target_; }
  std::string library() const override { return fmt::format("{} with {}", library_.name(), target_.library_isa); }
  DType library_dtype(DType dtype) const override { return compute_dtype(library_, dtype); }
  std::unique_ptr<DeviceMemory> allocate(int64_t bytes) override { return allocate_cpu_memory(bytes, pool_); }
  std::unique_ptr<DeviceMemory> allocate_host(int64_t bytes) override { return allocate_cpu_memory(bytes, pool_); }
  int64_t memory_bytes() const override { return usable_memory(); }
  bool host_visible() const override { return true; }
  void upload(std::byte* target, const std::byte* source, int64_t bytes) override {
    std::copy_n(source, bytes, target);
  }
  void download(std::byte* target, const std::byte* source, int64_t bytes) override {
    std::copy_n(source, bytes, target);
  }
  std::vector<std::unique_ptr<Executable>> load(std::span<const Schedule* const> schedules, const RankGroup& among,
                                                LoadReport& report) override {
    return make_cpu_executables(schedules,
                                {pool_, alone_, library_, runtime_, target_.isa, target_.shards, usable_processors(),
                                 communicator_, among, heartbeat_},
                                report);
  }
  std::unique_ptr<Runner> make_runner(RunnerParts parts) override { return make_cpu_runner(*this, std::move(parts)); }

 private:
  Pool pool_;
  Pool alone_{1};
  RuntimeOptions runtime_;
  Communicator* communicator_;
  Heartbeat* heartbeat_;
  LibraryContext library_;
  Target target_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) { return std::make_unique<CpuBackend>(options); }

}  // namespace kb
