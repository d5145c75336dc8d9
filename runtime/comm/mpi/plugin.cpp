// The plug-in library libkilobatch_mpi: messages by MPI.
#include "runtime/comm/mpi/mpi_link.h"
#include "runtime/commit.h"

extern "C" __attribute__((visibility("default"))) const char* kilobatch_mpi_version() { return kb::build_version(); }

extern "C" __attribute__((visibility("default"))) kb::Link* kilobatch_mpi_link(double timeout, int node) {
  return kb::make_mpi_link(timeout, node).release();
}
