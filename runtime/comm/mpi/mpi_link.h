// Messages by MPI, all calls from one thread. Waiting asks and sleeps in turn: OpenMPI's own waiting would keep a core
// busy that computes.
#pragma once
#include <memory>

#include "runtime/comm/link.h"

namespace kb {

// Starts MPI; its close() ends it, and MPI starts once a process.
std::unique_ptr<Link> make_mpi_link(double timeout);

}  // namespace kb
