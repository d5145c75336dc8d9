// A program's way to the other processes of its run: the launcher that started it says whether there are any. A program
// that was started alone opens nothing.
#pragma once
#include <filesystem>

#include "runtime/comm/communicator.h"
#include "runtime/options.h"

namespace kb {

// Returns the paths at which libkilobatch_mpi.so may lie; the first that is there is opened.
std::vector<std::filesystem::path> mpi_places();

// Over MPI where `launcher` has started several processes, else of one process. Open it once, early, and keep it: MPI
// starts once a process, and its library's end waits for every rank's. Throws Error where something is missing.
std::unique_ptr<Communicator> open_communicator(const CommunicatorOptions& options, const Launcher& launcher,
                                                const std::vector<std::filesystem::path>& places = mpi_places());

// The command that runs `command` as `processes` processes on this machine, `mpirun` a path; see runtime/launch.h. They
// open no port to other machines. Throws Error where mpirun is not there.
std::vector<std::string> mpirun_command(const std::string& mpirun, int processes, std::vector<std::string> command);

// The plug-in's exports: kilobatch_mpi_version gives build_version(); kilobatch_mpi_link may throw Error.
class Link;
using MpiPluginVersion = const char* (*)();
using MpiPluginLink = Link* (*)(double timeout, int node);

}  // namespace kb
