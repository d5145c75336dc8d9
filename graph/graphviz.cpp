// Prints a graph in Graphviz's language: each node is a box, each scope a cluster, and each edge names the type it
// carries.
#include <map>

#include <fmt/format.h>

#include "graph/enum_table.h"
#include "graph/text.h"
#include "graph/text_buffer.h"

namespace kb {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

constexpr EnumNames<OpClass> kColours({"lightyellow", "white", "gray90", "lightblue", "paleturquoise", "thistle",
                                       "lightsalmon", "palegreen"});

// A scope with the scopes and nodes in it.
struct Cluster {
  std::map<std::string, Cluster> parts;
  std::vector<size_t> nodes;
};

void put_node(TextBuffer& out, const Graph& graph, size_t index, int depth) {
  const Node& node = graph.nodes[index];
  std::string label = fmt::format("%{} {}", index, name(node.op));
  if (node.op == Op::input || node.op == Op::variable) label += fmt::format("\\n{}", escaped(node.attrs.text("name")));
  for (const Type& type : node.outputs) label += fmt::format("\\n{}", escaped(to_string(type)));
  put(out, "{:{}}n{} [label=\"{}\", fillcolor={}];\n", "", 2 * depth, index, label, kColours[info(node.op).cls]);
}

void put_cluster(TextBuffer& out, const Graph& graph, const Cluster& cluster, int& clusters, int depth) {
  for (const size_t node : cluster.nodes) put_node(out, graph, node, depth);
  for (const auto& [part, inside] : cluster.parts) {
    put(out, "{:{}}subgraph cluster_{} {{\n", "", 2 * depth, clusters++);
    put(out, "{:{}}label=\"{}\";\n", "", 2 * depth + 2, escaped(part));
    put_cluster(out, graph, inside, clusters, depth + 1);
    put(out, "{:{}}}}\n", "", 2 * depth);
  }
}

Cluster& cluster_at(Cluster& root, const std::string& scope) {
  Cluster* cluster = &root;
  for (size_t begin = 0; begin < scope.size();) {
    const size_t end = std::min(scope.find('.', begin), scope.size());
    cluster = &cluster->parts[scope.substr(begin, end - begin)];
    begin = end + 1;
  }
  return *cluster;
}

void put_edges(TextBuffer& out, const Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const Value& v : graph.nodes[i].inputs) {
      const bool several = graph.node(v).outputs.size() > 1;
      put(out, "  n{} -> n{}{};\n", v.node, i, several ? fmt::format(" [label=\"{}\"]", v.out) : "");
    }
  }
}

}  // namespace

std::string to_graphviz(const Graph& graph) {
  Cluster root;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    cluster_at(root, graph.scopes[static_cast<size_t>(graph.nodes[i].scope)]).nodes.push_back(i);
  TextBuffer out;
  int clusters = 0;
  put(out, "digraph \"{}\" {{\n  node [shape=box, style=filled, fontname=\"monospace\"];\n", escaped(graph.name));
  put_cluster(out, graph, root, clusters, 1);
  put_edges(out, graph);
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Output& output = graph.outputs[i];
    put(out, "  o{} [label=\"{}\", shape=oval];\n  n{} -> o{};\n", i, escaped(output.name), output.value.node, i);
  }
  for (size_t i = 0; i < graph.writes.size(); ++i) {
    const StateWrite& write = graph.writes[i];
    put(out, "  w{} [label=\"write {}\", shape=oval];\n  n{} -> w{};\n", i, escaped(write.variable), write.value.node,
        i);
  }
  put(out, "}}\n");
  return fmt::to_string(out);
}

}  // namespace kb
