// How the programs of a step run for the virtual workers of one process: which, in what order, and on which partial
// sums. Workers are added up as a binary counter counts, so every sum is over 2^level workers with consecutive numbers
// but the last: the fixed tree over workers that halving and doubling over processes goes on with.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "compiler/schedule.h"
#include "runtime/backend.h"

namespace kb {

// A program bound to its partial sums: a variable whose name begins with `first` is the one with `second` in its place.
struct WorkerProgram {
  const Schedule* schedule = nullptr;
  std::vector<std::pair<std::string, std::string>> renames;

  std::string variable(const std::string& name) const;
};

struct WorkerPrograms {
  std::vector<WorkerProgram> programs;
  std::vector<RunnerParts::Routine> routines;
  size_t final = 0;  // the number of the program that gives the outputs
};

WorkerPrograms worker_programs(const Program& program, int64_t virtual_workers);
// Which of its routines virtual worker `worker` runs.
size_t routine_of(int64_t worker, int64_t virtual_workers);

}  // namespace kb
