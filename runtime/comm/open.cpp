#include "runtime/comm/open.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "graph/error.h"
#include "runtime/comm/link_communicator.h"
#include "runtime/comm/throttled.h"
#include "runtime/cpu/pool.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlugin = "libkilobatch_mpi.so";
constexpr const char* kNoPlugin =
    "apt install libopenmpi-dev openmpi-bin, then configure again (cmake -DKB_MPI=ON says what it does not find)";

[[noreturn]] void missing(const std::string& what, const std::string& got, const char* how) {
  throw Error(
      fmt::format("several processes cannot be used\n  missing: {}\n  got:     {}\n  hint:    {}", what, got, how));
}

fs::path find_plugin(const std::vector<fs::path>& places) {
  std::string tried;
  for (const fs::path& path : places) {
    if (fs::exists(path)) return path;
    tried += (tried.empty() ? "no " : ", no ") + path.string();
  }
  missing(fmt::format("Kilobatch's MPI library, {}, which this build did not make", kPlugin), tried, kNoPlugin);
}

template <class Function>
Function symbol(void* library, const char* name, const fs::path& path) {
  auto* result = reinterpret_cast<Function>(dlsym(library, name));
  if (!result) missing("Kilobatch's MPI library", fmt::format("{} has no {}", path.string(), name), kNoPlugin);
  return result;
}

// Stays open until the process ends.
void* open_plugin(const fs::path& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) missing("a library that Kilobatch's MPI library needs", dlerror(), kNoPlugin);
  const std::string version = symbol<MpiPluginVersion>(library, "kilobatch_mpi_version", path)();
  if (version != KB_VERSION)
    missing("Kilobatch's MPI library of this version",
            fmt::format("{} of version {}, where the program has {}", path.string(), version, KB_VERSION),
            "build both together");
  return library;
}

}  // namespace

std::vector<fs::path> mpi_places() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  return {folder / kPlugin, folder.parent_path() / "lib" / kPlugin};
}

std::unique_ptr<Communicator> open_communicator(const CommunicatorOptions& options, const Launcher& launcher,
                                                const std::vector<fs::path>& places) {
  if (launcher.processes == 1) return make_local_communicator();
  if (!launcher.connects)
    missing("what connects the processes", fmt::format("{} processes started by {}", launcher.processes, launcher.name),
            "srun --mpi=pmix (srun --mpi=list says what this Slurm has), or mpirun inside the job");
  const fs::path plugin = find_plugin(places);
  const auto make_link = symbol<MpiPluginLink>(open_plugin(plugin), "kilobatch_mpi_link", plugin);
  return std::make_unique<LinkCommunicator>(
      [&] { return throttled(std::unique_ptr<Link>(make_link(options.timeout)), options.throttle); },
      options.algorithm);
}

// OpenMPI binds a process, all its threads, to one core or socket, refuses more processes than cores, and root.
std::vector<std::string> mpirun_command(const std::string& mpirun, int processes, std::vector<std::string> command) {
  if (mpirun.find('/') == std::string::npos) missing("mpirun", "none in PATH", "apt install openmpi-bin");
  std::vector<std::string> all{mpirun, "--bind-to", "none"};
  if (processes > usable_processors()) all.push_back("--oversubscribe");
  if (::geteuid() == 0) all.push_back("--allow-run-as-root");
  all.insert(all.end(), {"-n", std::to_string(processes)});
  all.insert(all.end(), std::make_move_iterator(command.begin()), std::make_move_iterator(command.end()));
  return all;
}

void become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execv(words[0], words.data());
  throw Error(fmt::format("cannot start {}: {}", command[0], std::strerror(errno)));
}

}  // namespace kb
