// Connects a program to the other processes of its run. The launcher that started it says whether there are any; a
// program that was started alone opens nothing.
#pragma once
#include <filesystem>

#include "runtime/comm/communicator.h"
#include "runtime/options.h"

namespace kb {

// Returns the paths at which libkilobatch_mpi.so may be; the first that exists is opened.
std::vector<std::filesystem::path> mpi_places();

// Returns a communicator over MPI if `launcher` has started several processes, else one of a single process. It is
// called once, early, and its result is kept: MPI can be started once in a process, and its library waits at the end
// for every rank. Throws Error when something is missing.
std::unique_ptr<Communicator> open_communicator(const CommunicatorOptions& options, const Launcher& launcher,
                                                const std::vector<std::filesystem::path>& places = mpi_places());

// Returns the command that runs `command` as `processes` processes on this machine; `mpirun` is a path. See
// runtime/launch.h. The processes open no port to other machines. Throws Error when mpirun does not exist, or the
// machine has no room for so many (runtime/comm/start_room.h).
std::vector<std::string> mpirun_command(const std::string& mpirun, int64_t processes, std::vector<std::string> command);

// The functions that the plug-in exports: kilobatch_mpi_version returns build_version(); kilobatch_mpi_link makes the
// link and may throw Error. It starts MPI, which a process can do once, and the link's close() ends it. A message that
// takes longer than `timeout` seconds is an Error. `node` is the machine that this process pretends to be on, for
// tests; -1: MPI finds the machine.
class Link;
using MpiPluginVersion = const char* (*)();
using MpiPluginLink = Link* (*)(double timeout, int node);

}  // namespace kb
