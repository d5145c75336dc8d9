// A training step is compiled as up to four parts. This file names them and the order of calls in which a process runs
// them for its virtual workers.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/error.h"

namespace kb {

// prepare depends on parameters alone and runs first, once a step. micro is every virtual worker of the process but the
// last, and leaves its sums in the variables "leaf.GROUP". carry adds two partial sums: "carry.below.GROUP" +
// "carry.own.GROUP" -> "carry.sum.GROUP". final is the last virtual worker, all that is left to add
// ("partial.LEVEL.GROUP"), the all-reduce and the update. With one virtual worker micro and carry are empty.
enum class PartRole : uint8_t { prepare, micro, carry, final };

// Maps a variable of a part to the session's variable that it stands for during one call.
struct Binding {
  std::string variable, stands_for;
  friend bool operator==(const Binding&, const Binding&) = default;
};

inline constexpr int32_t kMostLanes = 2;  // see PartCall::lane

// One run of a part. A variable of the part that has no binding stands for the session's variable of the same name.
struct PartCall {
  size_t part = 0;  // index into StepPrograms::parts
  std::vector<Binding> bindings;
  // 1: the call may run beside the `micro` before it, in an arena of its own, and is waited for by the next call.
  int32_t lane = 0;

  // Returns the name of the session's variable for which the part's variable `name` stands.
  const std::string& variable(const std::string& name) const {
    const auto at =
        std::find_if(bindings.begin(), bindings.end(), [&](const Binding& b) { return b.variable == name; });
    return at == bindings.end() ? name : at->stands_for;
  }
  friend bool operator==(const PartCall&, const PartCall&) = default;
};

// Calls that run one after the other.
using Routine = std::vector<PartCall>;

// The routines of a process. The first one ends a step: its last call gives the step's outputs.
struct Routines {
  std::vector<Routine> routines;
  std::vector<size_t> of_worker;  // index: virtual worker of the process; value: index of its routine
};

// `Part` is a class with a member `role` of type PartRole: a graph after the pass `cut`, a Schedule after the last
// pass.
template <class Part>
struct StepPrograms : Routines {
  std::vector<Part> parts;

  // Throws InternalError if no part has this role.
  const Part& at(PartRole role) const {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.role == role; });
    ensure(found != parts.end(), "a step without a part of this role");
    return *found;
  }
  std::vector<const Part*> all() const {
    std::vector<const Part*> result;
    for (const Part& part : parts) result.push_back(&part);
    return result;
  }
  // Returns the parts that a routine runs, in the order of its calls.
  std::vector<const Part*> parts_of(const Routine& routine) const {
    std::vector<const Part*> result;
    for (const PartCall& call : routine) result.push_back(&parts.at(call.part));
    return result;
  }
};

}  // namespace kb
