#include "runtime/worker_programs.h"

#include <fmt/format.h>

#include <bit>

#include "compiler/cut.h"

namespace kb {
namespace {

constexpr const char* kLeaf = "leaf.";

std::string level_prefix(int64_t level) { return partial_name(level, ""); }

WorkerProgram carry_program(const Schedule& schedule, int64_t level, const std::string& to) {
  return {&schedule, {{"carry.below.", level_prefix(level)}, {"carry.own.", kLeaf}, {"carry.sum.", to}}};
}

// The programs of one worker behind another: carries from level 0 to `levels`, where there is room.
void add_carries(WorkerPrograms& all, RunnerParts::Routine& routine, const Schedule& carry, int64_t levels) {
  for (int64_t level = 0; level < levels; ++level) {
    routine.push_back(all.programs.size());
    all.programs.push_back(carry_program(carry, level, level + 1 < levels ? kLeaf : level_prefix(levels)));
  }
}

}  // namespace

std::string WorkerProgram::variable(const std::string& name) const {
  for (const auto& [from, to] : renames)
    if (name.starts_with(from)) return to + name.substr(from.size());
  return name;
}

WorkerPrograms worker_programs(const Program& program, int64_t virtual_workers) {
  constexpr size_t kPrepare = 0, kFinal = 1, kEven = 2, kOdd = 3;
  WorkerPrograms all{{{&program.prepare, {}}, {&program.final, {}}}, {}, kFinal};
  if (virtual_workers == 1) {
    all.routines = {{kPrepare, kFinal}};
    return all;
  }
  all.programs.push_back({&program.micro, {{kLeaf, level_prefix(0)}}});
  if (virtual_workers > 2) all.programs.push_back({&program.micro, {}});
  all.routines = {{kFinal}, {kPrepare, kEven}};
  if (virtual_workers > 2) all.routines.push_back({kEven});
  for (int64_t levels = 1; levels < carry_levels(virtual_workers); ++levels) {
    RunnerParts::Routine routine{kOdd};
    add_carries(all, routine, program.carry, levels);
    all.routines.push_back(std::move(routine));
  }
  return all;
}

// The last, the first, and by how many partial sums a worker completes.
size_t routine_of(int64_t worker, int64_t virtual_workers) {
  if (worker == virtual_workers - 1) return 0;
  return worker == 0 ? 1 : 2 + static_cast<size_t>(std::countr_one(static_cast<uint64_t>(worker)));
}

}  // namespace kb
