#include "recipes/run/processes.h"

#include <fmt/format.h>

#include "recipes/config/run_plan.h"
#include "recipes/run/interrupt.h"
#include "runtime/comm/open.h"
#include "runtime/launch.h"

namespace kb {
namespace {

// Throws UsageError if flags ask one kind of device for what only the other kind has.
void check_device(const RunConfig& config) {
  const Algorithm algorithm = config.machine.all_reduce;
  const bool on_cpus = algorithm != Algorithm::halving_doubling && algorithm != Algorithm::nccl;
  if (config.machine.device == DeviceChoice::cuda && on_cpus)
    throw UsageError(
        fmt::format("--all-reduce {}: expected halving-doubling or nccl, which GPUs have\n  or:       --device cpu",
                    word_of(kAllReduces, config.machine.all_reduce)));
  if (config.machine.device == DeviceChoice::cpu && algorithm == Algorithm::nccl)
    throw UsageError("--all-reduce nccl: expected GPUs, which it sums on\n  or:       --all-reduce mpi");
  if (config.machine.device == DeviceChoice::cuda && config.machine.net)
    throw UsageError(
        "--net: it slows down messages that go through the host's memory, and GPUs send theirs themselves\n  or:       "
        "--device cpu; or ./run inspect RECIPE --explain-overlap --processes P --net L,B, which predicts");
}

void check_flags(const RunConfig& config, const Launcher& launcher) {
  if (config.machine.net && launcher.processes == 1 && config.machine.processes == 1)
    throw UsageError(
        "--net: expected several processes, got one, which sends nothing\n  hint:     --processes P; or ./run "
        "inspect RECIPE --explain-overlap --processes P --net L,B, which predicts");
  if (config.machine.all_reduce != Algorithm::halving_doubling && !config.machine.fast)
    throw UsageError(fmt::format("--all-reduce {}: its sums depend on sizes and on the library: it needs --fast",
                                 word_of(kAllReduces, config.machine.all_reduce)));
  check_device(config);
}

}  // namespace

std::optional<int> launch_processes(const RunConfig& config, bool resumes, const std::vector<std::string>& command) {
  const RuntimeOptions options = RuntimeOptions::from_environment();
  if (config.machine.processes == 1 || options.launcher.processes != 1) return std::nullopt;
  check_flags(config, options.launcher);
  if (!resumes) batch_plan(config);  // a fault of the flags is told once, not by every process
  return run_launcher(mpirun_command(options.mpirun, config.machine.processes, command));
}

std::unique_ptr<World> join_world(RunConfig& config) {
  const RuntimeOptions options = RuntimeOptions::from_environment();
  check_flags(config, options.launcher);
  CommunicatorOptions wanted{.algorithm = config.machine.all_reduce, .timeout = kMessageSeconds};
  // NCCL sums on the GPUs alone; this communicator also sums numbers in the host's memory, which NCCL cannot.
  if (wanted.algorithm == Algorithm::nccl) wanted.algorithm = Algorithm::halving_doubling;
  if (config.machine.net) wanted.throttle = &*config.machine.net;
  auto world = std::make_unique<World>(open_communicator(wanted, options.launcher), Interrupt::number);
  if (config.machine.processes > 1 && config.machine.processes != world->size())
    throw UsageError(fmt::format("--processes: {} started {} of them, got {}\n  hint:     leave --processes out",
                                 options.launcher.name, world->size(), config.machine.processes));
  config.machine.processes = world->size();
  return world;
}

}  // namespace kb
