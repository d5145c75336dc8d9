// Divides the processors of a machine among the processes of a run.
#pragma once
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/usable_processors.h"

namespace kb {

// The processors that a process may use: the machine's name, the processors' numbers there, and the quotas of the
// process's control groups.
struct Processors {
  std::string machine;
  std::vector<int> numbers;
  std::vector<CpuQuota> quotas = {};

  std::string text() const;  // "MACHINE 0 1 5 | 4711:1.5", with GROUP:PROCESSORS for each quota
  static Processors parse(const std::string& text);
};

// Returns the processors to which a launcher has bound this process, or else all of the machine, with this process's
// quotas.
Processors own_processors();

// Returns how many threads `rank` may keep busy, at least 1, if the processes that share a processor have equal parts
// of it, and the processes that share a quota have equal parts of the quota.
int share_of_processors(const std::vector<Processors>& ranks, size_t rank);

// Collective call. Returns this process's share, as the function above counts it.
int share_of_processors(Communicator& communicator);

}  // namespace kb
