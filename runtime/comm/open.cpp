#include "runtime/comm/open.h"

#include <fmt/format.h>
#include <unistd.h>

#include "graph/error.h"
#include "runtime/comm/link_communicator.h"
#include "runtime/comm/start_room.h"
#include "runtime/comm/throttled.h"
#include "runtime/launch.h"
#include "runtime/plugin.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr Plugin kMpiPlugin{
    "libkilobatch_mpi.so", "Kilobatch's MPI library", "kilobatch_mpi_version", "several processes cannot be used",
    "apt install libopenmpi-dev openmpi-bin, then configure again (cmake -DKB_MPI=ON says what it does not find)"};

}  // namespace

std::vector<fs::path> mpi_places() { return kMpiPlugin.places(); }

std::unique_ptr<Communicator> open_communicator(const CommunicatorOptions& options, const Launcher& launcher,
                                                const std::vector<fs::path>& places) {
  if (launcher.processes == 1) return make_local_communicator();
  if (!launcher.connects)
    kMpiPlugin.missing("what connects the processes",
                       fmt::format("{} processes started by {}", launcher.processes, launcher.name),
                       "srun --mpi=pmix (srun --mpi=list says what this Slurm has), or mpirun inside the job");
  const fs::path plugin = kMpiPlugin.find(places);
  const auto make_link = reinterpret_cast<MpiPluginLink>(kMpiPlugin.symbol(plugin, "kilobatch_mpi_link"));
  auto communicator = std::make_unique<LinkCommunicator>(
      [&] { return throttled(std::unique_ptr<Link>(make_link(options.timeout, options.node)), options.throttle); },
      options.algorithm);
  // An mpirun that had started no process yet has passed nothing on when it heard of the end.
  if (communicator->rank() == 0 && !say_met(launcher.launched_by))
    throw Error(
        fmt::format("the process {} has ended, which started this run: the run ends too", launcher.launched_by));
  return communicator;
}

// OpenMPI by default binds a process and all its threads to one core or socket, refuses more processes than cores, and
// refuses root.
std::vector<std::string> mpirun_command(const std::string& mpirun, int64_t processes,
                                        std::vector<std::string> command) {
  if (mpirun.find('/') == std::string::npos) kMpiPlugin.missing("mpirun", "none in PATH", "apt install openmpi-bin");
  const StartRoom room = start_room();
  check_start_room(processes, room);
  std::vector<std::string> all{mpirun, "--bind-to", "none"};
  // Messages go through memory, and not through a network.
  all.insert(all.end(), {"--mca", "pml", "ob1", "--mca", "btl", "^tcp,ofi,openib,uct,usnic"});
  if (processes > room.processors) all.push_back("--oversubscribe");
  if (::geteuid() == 0) all.push_back("--allow-run-as-root");
  all.insert(all.end(), {"-n", std::to_string(processes)});
  all.insert(all.end(), std::make_move_iterator(command.begin()), std::make_move_iterator(command.end()));
  return all;
}

}  // namespace kb
