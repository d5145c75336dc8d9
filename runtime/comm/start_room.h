// Checks whether a machine has room for the processes that mpirun is to start. mpirun waits forever if it may open no
// more files.
#pragma once
#include <cstdint>

namespace kb {

struct StartRoom {
  int processors = 1;      // that this process may use
  int64_t memory = 0;      // bytes of the machine, or of this process's container
  int64_t open_files = 0;  // the most that a process may have
};

// The most processes that are started for each processor: more of them do little but wait for each other.
inline constexpr int kMostForProcessor = 64;

// Returns the room of this machine.
StartRoom start_room();

// Throws Error, with what helps, if `room` is too small for so many processes.
void check_start_room(int64_t processes, const StartRoom& room);

}  // namespace kb
