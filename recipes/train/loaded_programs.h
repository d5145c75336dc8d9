// The programs of a training on a device, and the state that they work on.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "recipes/train/programs.h"
#include "runtime/session.h"

namespace kb {

// Return the names of the part of the store that a replica of local training has, and a worker of its own parameters.
std::string replica_name(int64_t replica);
std::string worker_part(int64_t worker);

struct LoadedProgram {
  Use use = Use::update;
  size_t phase = 0, bucket = 0;
  std::unique_ptr<Session> session = {};
};

// The programs on a device, which share one arena, and the state that they work on. The state begins with the initial
// values of `seed`.
struct LoadedPrograms : ProgramFacts {
  // Loads Use::replica once for each copy of the process of this rank; the store has a part of the name that `name`
  // gives for each, and on rank 0 a part in the host's memory for every copy of another process.
  LoadedPrograms(Backend& backend, Programs compiled, uint32_t seed, const ParameterCopies& copies = {},
                 int64_t rank = 0, std::string (*name)(int64_t) = replica_name);

  // Returns null if there is no such program.
  Session* find(Use use, size_t phase = 0, size_t bucket = 0) const;
  Session& update() const { return *list.front().session; }
  Session& evaluate() const { return *find(Use::evaluate); }
  // Returns all programs of a use: those of the first phase, one a bucket, then those of the next.
  std::vector<Session*> all(Use use) const;

  const int64_t bytes;  // total_memory()
  StateStore store;
  std::vector<LoadedProgram> list;  // in the order of Programs::list
};

}  // namespace kb
