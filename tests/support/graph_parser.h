// Reads a graph's text (graph/text.h): a reproducer that an internal error wrote, or a text to be printed again.
#pragma once
#include <string_view>

#include "graph/graph.h"

namespace kb::test {

// Throws Error with line number, expected and got. The graph has the text's scopes, and no source lines.
Graph parse_graph(std::string_view text);

}  // namespace kb::test
