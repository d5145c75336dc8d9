#include "recipes/train/machine.h"

namespace kb {

LocalMachine::LocalMachine(int threads)
    : options_{.threads = threads},
      world_(make_local_communicator()),
      backend_(make_cpu_backend(
          {.threads = threads, .shards = 0, .cache_directory = "", .communicator = &world_.communicator()})) {}

}  // namespace kb
