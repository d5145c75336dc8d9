// The plug-in library libkilobatch_mpi: messages by MPI.
#include "runtime/comm/mpi/mpi_link.h"

extern "C" __attribute__((visibility("default"))) const char* kilobatch_mpi_version() { return KB_VERSION; }

extern "C" __attribute__((visibility("default"))) kb::Link* kilobatch_mpi_link(double timeout, int node) {
  return kb::make_mpi_link(timeout, node).release();
}
