// A graph as text, from which it could be made again; a graph in Graphviz's language; and its content hash.
#pragma once
#include <string>

#include "graph/graph.h"

namespace kb {

struct TextOptions {
  bool places = false;  // true: each node is followed by its place, "# model.cpp:12"
};
// Returns a finite number exactly, in the form of printf's "%a": 0x1.8p+1.
std::string hexadecimal(double value);
// Prints a graph, with its scopes and without source lines. Floats are hexadecimal, with the decimal in a comment
// beside them.
std::string to_text(const Graph& graph, const TextOptions& options = {});
std::string to_graphviz(const Graph& graph);
// Returns 32 hex digits over ops, attributes, dtypes, shapes, wiring, the names of inputs, variables, outputs and
// states, and the bits of constants. Scopes, places and dimension letters do not count.
std::string content_hash(const Graph& graph);
// Checks what `add` alone does not: topological order, types as inferred, valid outputs and writes, one write a state.
// Throws InternalError; throws Error when two outputs have one name, which is the user's mistake.
void verify(const Graph& graph);

}  // namespace kb
