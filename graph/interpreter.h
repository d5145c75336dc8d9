// The oracle: every op as plain loops in double, rounded to the node's dtype after each node (`exact`: not rounded, for
// comparing passes that change precision). Constant folding and all tests use it.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/array.h"

namespace kb {

// Values of inputs and variables by name.
using Bindings = std::map<std::string, Array>;

struct InterpretOptions {
  bool round = true;  // false: no rounding to the node's float dtype (integers still wrap)
};

struct Interpretation {
  std::map<std::string, Array> outputs;  // by output name
  std::map<std::string, Array> writes;   // by variable name
};

// Throws Error naming a missing binding or one of another type.
Interpretation interpret(const Graph& graph, const Bindings& bindings, const InterpretOptions& options = {});
// One value's array each (for tests).
std::vector<Array> interpret_values(const Graph& graph, const Bindings& bindings, std::span<const Value> values,
                                    const InterpretOptions& options = {});
// One node on given arrays: constant folding.
std::vector<Array> evaluate_node(const Node& node, std::span<const Array> inputs, const InterpretOptions& options = {});

// Initial values of a variable: a pure function of (seed, name, init), normal and uniform by Philox counters; the same
// on every machine.
Array initial_value(const Variable& variable, uint32_t seed);
// Random values for every input and variable of a graph, for checks of passes: floats N(0, 1), but scalar inputs in
// (0, 1) (they are rates and momenta) and state, slots at least 0.5 (they may be variances); tables keep their values;
// integers in [0, limit), limit as their use in gather, scatter_add and one-hot suits, else 4.
Bindings random_bindings(const Graph& graph, uint32_t seed);

// Philox4x32-10 (Salmon et al. 2011): the four words of counter c under key k.
struct Philox {
  uint32_t word[4];
};
Philox philox(const uint32_t (&counter)[4], const uint32_t (&key)[2]);
uint32_t fnv1a32(std::string_view text);

}  // namespace kb
