// Which op made the first value that is not finite: a graph that tells of every value of another whether it is finite,
// and the way back from a result to the op that made it of finite inputs.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace kb {

// The worst that a probe found among the elements of a value.
enum class Finiteness : uint8_t { finite, infinite, not_a_number };

struct Probes {
  Graph graph;                // that is looked at, and what its outputs are traced back in
  std::vector<Value> values;  // of it; probe i is of values[i]
};

// "probe.7": the scalar output that tells of values[7], a Finiteness as a number.
std::string probe_name(size_t number);

// Makes a probe for every value of a float type that is computed, or read from a variable or an input. Ops that only
// move values about (a slice, a transposition) get none.
Probes find_probes(Graph graph);
// The graph with probes for outputs, and no writes.
Graph with_probes(const Probes& probes);

// Follows the outputs back through what is not finite, those that stand first in the graph first. Gives the op that
// made it, its scope and the user's line; empty where every output is finite. `found` are the probes' outputs.
std::string origin_of_not_finite(const Probes& probes, std::span<const double> found);

}  // namespace kb
