// A graph as text (prints, parses back to the same graph), as Graphviz, and its content hash.
#pragma once
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace kb {

struct TextOptions {
  bool places = false;  // "# model.cpp:12" behind each node
};
// A finite number to the bit, as "%a" has it: 0x1.8p+1.
std::string hexadecimal(double value);
// Floats print in hexadecimal with the decimal in a comment beside them.
std::string to_text(const Graph& graph, const TextOptions& options = {});
// Throws Error with line number, expected and got. Locations are not kept by the text; scopes are.
Graph parse_graph(std::string_view text);
std::string to_graphviz(const Graph& graph);
// 32 hex digits over ops, attributes, dtypes, shapes, wiring, names of inputs, variables, outputs and states, constants
// to the bit; never scopes, places or dimension letters.
std::string content_hash(const Graph& graph);
// Structural checks beyond what `add` proves: topological order, types as inferred, outputs and writes valid, one write
// a state. Throws InternalError; Error for two outputs of one name, which are the user's mistake.
void verify(const Graph& graph);

}  // namespace kb
