// Messages by MPI, all calls from one thread. Waiting asks and sleeps in turn: OpenMPI's own waiting would keep a core
// busy that computes.
#pragma once
#include <memory>

#include "runtime/comm/link.h"

namespace kb {

// Starts MPI; its close() ends it, and MPI starts once a process. `node`: on which machine this process is, for tests;
// -1: as MPI finds it.
std::unique_ptr<Link> make_mpi_link(double timeout, int node);

}  // namespace kb
