// Finds the op that made the first value that is not finite. Probes are scalar outputs added to a graph; each tells
// whether one value is finite. Their values lead from a result back to the op that made a bad value of finite inputs.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace kb {

// The worst that a probe found among the elements of a value.
enum class Finiteness : uint8_t { finite, infinite, not_a_number };

struct Probes {
  Graph graph;                // the graph that is probed, through which its outputs are traced back
  std::vector<Value> values;  // values of `graph`; probe i belongs to values[i]
};

// Returns "probe.7" for 7: the scalar output that gives the Finiteness of values[7] as a number.
std::string probe_name(size_t number);

// Makes a probe for every value of a float type that is computed, or read from a variable or an input. Ops that only
// move values about (a slice, a transposition) get none.
Probes find_probes(Graph graph);
// Returns the graph with the probes as its outputs, and without writes.
Graph with_probes(const Probes& probes);

// Follows the outputs, in their order in the graph, back through values that are not finite. Returns the op that made
// such a value, its scope and the user's line; empty if every output is finite. `found` holds the probes' values in
// order.
std::string origin_of_not_finite(const Probes& probes, std::span<const double> found);

}  // namespace kb
