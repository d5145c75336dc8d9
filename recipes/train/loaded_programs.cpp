#include "recipes/train/loaded_programs.h"

#include <fmt/format.h>

#include <algorithm>

namespace kb {

std::string replica_name(int64_t replica) { return fmt::format("replica.{}", replica); }

std::string worker_part(int64_t worker) { return fmt::format("worker.{}", worker); }

namespace {

// Returns the ranks with which a program sums: those that share a replica, or at a join one of each replica.
RankGroup group_of(Use use, const ParameterCopies& copies, int64_t rank) {
  const auto shared = static_cast<int>(copies.processes);
  const int first = static_cast<int>(rank) / shared * shared;
  if (shared > 1 && use == Use::replica) return {first, shared, 1};
  if (shared > 1 && use == Use::join)
    return {static_cast<int>(rank) - first, static_cast<int>(copies.all / copies.own), shared};
  return {};
}

}  // namespace

LoadedPrograms::LoadedPrograms(Backend& backend, Programs compiled, uint32_t seed, const ParameterCopies& copies,
                               int64_t rank, std::string (*name)(int64_t))
    : ProgramFacts(std::move(static_cast<ProgramFacts&>(compiled))),
      bytes(total_memory(compiled, copies, backend.target().processor)),
      store(backend) {
  std::vector<const Program*> all;
  for (const CompiledProgram& program : compiled.list) all.push_back(&program.compiled.program);
  const Arena arena = allocate_arena(backend, all);
  const auto load = [&](StateStore& on, const CompiledProgram& program, Compiled own) {
    list.push_back(
        {program.use, program.phase, program.bucket,
         std::make_unique<Session>(backend, on, std::move(own), arena, group_of(program.use, copies, rank))});
  };
  for (CompiledProgram& program : compiled.list)
    if (program.use != Use::replica)
      load(store, program, std::move(program.compiled));
    else
      for (int64_t copy = 0; copy < copies.all; ++copy)
        if (copies.has(copy))
          load(store.part(name(copy)), program, program.compiled);
        else if (rank == 0)
          store.host_part(name(copy)).adopt(program.compiled.variables, program.compiled.space);
        else
          store.part_lies_elsewhere(name(copy));
  store.initialise(seed);
}

Session* LoadedPrograms::find(Use use, size_t phase, size_t bucket) const {
  const auto at = std::ranges::find_if(
      list, [&](const LoadedProgram& p) { return p.use == use && p.phase == phase && p.bucket == bucket; });
  return at == list.end() ? nullptr : at->session.get();
}

std::vector<Session*> LoadedPrograms::all(Use use) const {
  std::vector<Session*> sessions;
  for (const LoadedProgram& program : list)
    if (program.use == use) sessions.push_back(program.session.get());
  return sessions;
}

}  // namespace kb
