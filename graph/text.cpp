#include "graph/text.h"

#include <cctype>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "graph/text_buffer.h"

namespace kb {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

// Writes a number in hexadecimal, which is exact, with the decimal beside it for people.
void put_real(TextBuffer& out, double value) {
  if (std::isnan(value)) return put(out, "nan");
  if (std::isinf(value)) return put(out, "{}", value > 0 ? "inf" : "-inf");
  put(out, "{}/*{}*/", hexadecimal(value), value);
}

template <class T, class F>
void put_list(TextBuffer& out, const T& items, F&& put_item) {
  const char* separator = "";
  for (const auto& item : items) {
    put(out, "{}", separator);
    put_item(item);
    separator = ", ";
  }
}

void put_attribute(TextBuffer& out, const AttrValue& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return put(out, "{}", *i);
  if (const auto* d = std::get_if<double>(&value)) return put_real(out, *d);
  if (const auto* s = std::get_if<std::string>(&value)) return put(out, "{}", quoted(*s));
  if (const auto* v = std::get_if<Ints>(&value)) return put(out, "[{}]", fmt::join(*v, ","));
  if (const auto* r = std::get_if<std::vector<double>>(&value)) {
    put(out, "(");
    put_list(out, *r, [&](double d) { put_real(out, d); });
    return put(out, ")");
  }
  put(out, "{}", name(std::get<DType>(value)));
}

void put_value(TextBuffer& out, const Value& v) {
  if (v.out == 0) return put(out, "%{}", v.node);
  put(out, "%{}.{}", v.node, v.out);
}

// Writes a scope path; it goes without quotes if it reads as one word.
void put_scope(TextBuffer& out, const std::string& scope) {
  bool word = std::isalpha(static_cast<unsigned char>(scope[0])) != 0 || scope[0] == '_';
  for (const char c : scope) word = word && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.');
  put(out, "  @{}", word ? scope : quoted(scope));
}

void put_node(TextBuffer& out, const Graph& graph, size_t index, const TextOptions& options) {
  const Node& node = graph.nodes[index];
  put(out, "  %{}", index);
  if (node.outputs.size() > 1) put(out, ":{}", node.outputs.size());
  put(out, " = {}", name(node.op));
  const char* separator = " ";
  for (const Value& v : node.inputs) {
    put(out, "{}", separator);
    put_value(out, v);
    separator = ", ";
  }
  if (!node.attrs.items().empty()) {
    put(out, " {{");
    put_list(out, node.attrs.items(), [&](const auto& item) {
      put(out, "{}=", item.first);
      put_attribute(out, item.second);
    });
    put(out, "}}");
  }
  put(out, " : ");
  put_list(out, node.outputs, [&](const Type& type) { put(out, "{}", to_string(type)); });
  const std::string& scope = graph.scopes[static_cast<size_t>(node.scope)];
  if (!scope.empty()) put_scope(out, scope);
  if (options.places) put(out, "  # {}", graph.place(node));
  put(out, "\n");
}

void put_variable(TextBuffer& out, const Variable& variable) {
  const Init& init = variable.init;
  put(out, "  {} : {} {} {} {}(", quoted(variable.name), to_string(variable.type), name(variable.kind),
      name(variable.role), kInitKindNames[init.kind]);
  const std::vector<double> numbers =
      init.kind == InitKind::runs ? variable.values : std::vector<double>{init.a, init.b};
  put_list(out, numbers, [&](double d) { put_real(out, d); });
  put(out, ")");
  if (variable.bytes != 0) put(out, " bytes {}", variable.bytes);
  if (variable.rate != 1) {
    put(out, " rate ");
    put_real(out, variable.rate);
  }
  put(out, "\n");
}

}  // namespace

std::string hexadecimal(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

std::string to_text(const Graph& graph, const TextOptions& options) {
  TextBuffer out;
  put(out, "graph {} {}\n", quoted(graph.name), name(graph.mode));
  if (!graph.variables.empty()) put(out, "variables\n");
  for (const Variable& variable : graph.variables) put_variable(out, variable);
  put(out, "nodes\n");
  for (size_t i = 0; i < graph.nodes.size(); ++i) put_node(out, graph, i, options);
  if (!graph.outputs.empty()) put(out, "outputs\n");
  for (const Output& output : graph.outputs) {
    put(out, "  {} = ", quoted(output.name));
    put_value(out, output.value);
    put(out, " {}\n", name(output.merge));
  }
  if (!graph.writes.empty()) put(out, "writes\n");
  for (const StateWrite& write : graph.writes) {
    put(out, "  {} = ", quoted(write.variable));
    put_value(out, write.value);
    put(out, "\n");
  }
  return fmt::to_string(out);
}

}  // namespace kb
