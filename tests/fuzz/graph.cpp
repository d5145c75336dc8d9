// Fuzzes the reader of a graph's text. A graph that is accepted must print as a text that is read as a graph of the
// same text and hash.
#include "graph/error.h"
#include "graph/text.h"
#include "tests/fuzz/target.h"

namespace kb::fuzz::graph_target {

KB_FUZZ_TARGET(graph) {
  Graph graph;
  try {
    graph = parse_graph(text_of(data, size));
  } catch (const Error&) {
    return;
  }
  verify(graph);
  const std::string text = to_text(graph);
  const Graph again = parse_graph(text);
  require(to_text(again) == text, "a graph's text parses to the same text");
  require(content_hash(again) == content_hash(graph), "a graph's text parses to the same hash");
  to_graphviz(graph);
}

}  // namespace kb::fuzz::graph_target
