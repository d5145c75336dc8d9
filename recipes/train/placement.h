// Divides the processors of a machine between the processes of a run.
#pragma once
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/usable_processors.h"

namespace kb {

// A place for a process to run: a machine, processors there by the numbers of its kernel, and its containers' quotas.
struct Processors {
  std::string machine;
  std::vector<int> numbers;
  std::vector<CpuQuota> quotas = {};

  std::string text() const;  // "MACHINE 0 1 5 | 4711:1.5"
  static Processors parse(const std::string& text);
};

// Returns the processors that a launcher has bound this process to, or all of the machine.
Processors own_processors();

// How many threads `rank` may keep busy where each of a processor's processes has an equal part of it, and each of a
// quota's processes an equal part of that: at least 1.
int share_of_processors(const std::vector<Processors>& ranks, size_t rank);

// Collective call. Returns how many threads this process may keep busy, counted in that way.
int share_of_processors(Communicator& communicator);

}  // namespace kb
