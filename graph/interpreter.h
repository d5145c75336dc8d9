// The interpreter: every op in plain loops in double, rounded to the node's dtype after each node. It is what all other
// implementations are tested against, and the compiler folds constants with it.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/array.h"

namespace kb {

// The values of inputs and variables, each under its name.
using Bindings = std::map<std::string, Array>;

struct InterpretOptions {
  // False: floats are not rounded, for comparing graphs before and after a pass that changes precision. Integers still
  // wrap.
  bool round = true;
};

struct Interpretation {
  std::map<std::string, Array> outputs;  // keyed by output name
  std::map<std::string, Array> writes;   // keyed by variable name: the values after the step
};

// Throws Error that names an input or variable without a value, or with a value of another type.
Interpretation interpret(const Graph& graph, const Bindings& bindings, const InterpretOptions& options = {});
// Returns the array of each of `values`; tests use it.
std::vector<Array> interpret_values(const Graph& graph, const Bindings& bindings, std::span<const Value> values,
                                    const InterpretOptions& options = {});
// Evaluates one node on the arrays of its inputs; constant folding uses it.
std::vector<Array> evaluate_node(const Node& node, std::span<const Array> inputs, const InterpretOptions& options = {});

// Returns the initial values of a variable, which depend on seed, name and init alone. Normal and uniform ones come
// from Philox counters and are the same on every machine.
Array initial_value(const Variable& variable, uint32_t seed);
// Returns random values for every input and variable of a graph, to check passes with. Floats are N(0, 1), except:
// scalar inputs lie in (0, 1), as rates and momenta do; state and slots are at least 0.5, as they may be variances;
// tables keep their values. Integers lie in [0, limit), where limit suits their use in gather, scatter_add or one_hot
// and is 4 otherwise.
Bindings random_bindings(const Graph& graph, uint32_t seed);

// Philox4x32-10 (Salmon et al. 2011): the four random words that a counter has under a key.
struct Philox {
  uint32_t word[4];
};
Philox philox(const uint32_t (&counter)[4], const uint32_t (&key)[2]);
uint32_t fnv1a32(std::string_view text);

}  // namespace kb
