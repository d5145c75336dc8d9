// Messages by MPI; one thread makes all calls. It waits by looking and sleeping in turn, because OpenMPI's own waiting
// would keep a core busy that is needed for computing.
#pragma once
#include <memory>

#include "runtime/comm/link.h"

namespace kb {

// Starts MPI, which a process can do once; close() ends it. `node` is the machine that this process pretends to be on,
// for tests; -1: MPI finds the machine. A message that takes longer than `timeout` seconds is an Error.
std::unique_ptr<Link> make_mpi_link(double timeout, int node);

}  // namespace kb
