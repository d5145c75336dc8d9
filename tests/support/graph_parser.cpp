#include "tests/support/graph_parser.h"

#include <charconv>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "graph/infer.h"
#include "graph/parsed_number.h"
#include "graph/text.h"
#include "tests/support/graph_lexer.h"

namespace kb::test {
namespace {

// Reads one section of the text after another.
class GraphParser {
 public:
  explicit GraphParser(std::string_view text) : lexer_(text), token_(lexer_.next()) {}

  Graph run() {
    word("graph");
    graph_.name = string();
    graph_.mode = choose(kModeNames);
    if (accept("variables")) {
      while (token_.kind == GraphToken::Kind::string) variable();
    }
    word("nodes");
    while (token_.kind == GraphToken::Kind::value) node();
    if (accept("outputs")) {
      while (token_.kind == GraphToken::Kind::string) output();
    }
    if (accept("writes")) {
      while (token_.kind == GraphToken::Kind::string) write();
    }
    if (token_.kind != GraphToken::Kind::end) fail("the end of the text");
    return std::move(graph_);
  }

 private:
  // ---- reading tokens
  std::string shown() const {
    if (token_.kind == GraphToken::Kind::end) return "the end of the text";
    if (token_.kind == GraphToken::Kind::string) return fmt::format("\"{}\"", token_.text);
    return fmt::format("{}{}", token_.kind == GraphToken::Kind::value ? "%" : "", token_.text);
  }
  [[noreturn]] void fail(std::string_view expected) const { fail(token_.line, expected, shown()); }
  [[noreturn]] static void fail(int line, std::string_view expected, std::string_view got) {
    throw Error(fmt::format("graph text, line {}: expected {}, got {}", line, expected, got));
  }
  GraphToken take() {
    GraphToken taken = std::move(token_);
    token_ = lexer_.next();
    return taken;
  }
  GraphToken take(GraphToken::Kind kind, std::string_view what) {
    if (token_.kind != kind) fail(what);
    return take();
  }
  bool is_mark(char c) const { return token_.kind == GraphToken::Kind::mark && token_.text[0] == c; }
  bool accept_mark(char c) {
    if (!is_mark(c)) return false;
    take();
    return true;
  }
  void mark(char c) {
    if (!accept_mark(c)) fail(fmt::format("'{}'", c));
  }
  bool accept(std::string_view keyword) {
    if (token_.kind != GraphToken::Kind::word || token_.text != keyword) return false;
    take();
    return true;
  }
  void word(std::string_view keyword) {
    if (!accept(keyword)) fail(fmt::format("\"{}\"", keyword));
  }
  std::string string() { return take(GraphToken::Kind::string, "a quoted name").text; }

  // Reads one of the names of an enumeration and returns its value.
  template <class Enum>
  Enum choose(const EnumNames<Enum>& names) {
    for (size_t i = 0; i < names.size(); ++i)
      if (const auto value = static_cast<Enum>(i); accept(names[value])) return value;
    fail(fmt::format("{}", fmt::join(names, " | ")));
  }

  // Calls item() for each item of a list that ends with `close`.
  template <class F>
  void list(char close, F&& item) {
    if (accept_mark(close)) return;
    do item();
    while (accept_mark(','));
    mark(close);
  }

  // ---- reading numbers
  static bool is_real(std::string_view text) {
    return text.find('p') != text.npos || text == "inf" || text == "-inf" || text == "nan";
  }
  int64_t integer() {
    const GraphToken token = take(GraphToken::Kind::number, "an integer");
    const std::optional<int64_t> value = parsed_number<int64_t>(token.text);
    if (!value) fail(token.line, "an integer", token.text);
    return *value;
  }
  double real() {
    const bool number = token_.kind == GraphToken::Kind::number || token_.kind == GraphToken::Kind::word;
    if (!number || !is_real(token_.text)) fail("a number in hexadecimal");
    const GraphToken token = take();
    char* end = nullptr;
    const double value = std::strtod(token.text.c_str(), &end);
    if (*end != '\0') fail(token.line, "a number in hexadecimal", token.text);
    return value;
  }
  std::vector<double> reals() {
    std::vector<double> values;
    list(')', [&] { values.push_back(real()); });
    return values;
  }

  // ---- reading parts of a node
  DType dtype() {
    const GraphToken token = take(GraphToken::Kind::word, "a dtype");
    try {
      return parse_dtype(token.text);
    } catch (const Error&) {
      fail(token.line, "a dtype", token.text);
    }
  }
  Type type() {
    const int line = token_.line;
    Type type;
    type.dtype = dtype();
    std::string names;
    mark('[');
    list(']', [&] {
      names += token_.kind == GraphToken::Kind::word ? letter() : '_';
      type.shape.push_back(integer());
    });
    try {
      check_tensor({type.dtype, type.shape, ""});
    } catch (const Mistake& mistake) {
      fail(line, mistake.expected, mistake.got);
    }
    if (names.find_first_not_of('_') != names.npos) type.names = names;
    return type;
  }
  char letter() {
    const GraphToken token = take();
    if (token.text.size() != 1) fail(token.line, "a dimension's letter", token.text);
    mark('=');
    return token.text[0];
  }
  // Reads a value of an earlier node: "12", or "12.1" for its output 1.
  Value value() {
    const GraphToken token = take(GraphToken::Kind::value, "a value %N");
    Value v;
    const char *begin = token.text.data(), *end = begin + token.text.size();
    auto parsed = std::from_chars(begin, end, v.node);
    if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '.')
      parsed = std::from_chars(parsed.ptr + 1, end, v.out);
    if (parsed.ec != std::errc() || parsed.ptr != end) fail(token.line, "a value %N or %N.OUT", "%" + token.text);
    const bool known = v.node >= 0 && static_cast<size_t>(v.node) < graph_.nodes.size() && v.out >= 0 &&
                       static_cast<size_t>(v.out) < graph_.node(v).outputs.size();
    if (!known) fail(token.line, "a value defined above", "%" + token.text);
    return v;
  }
  AttrValue attribute() {
    if (token_.kind == GraphToken::Kind::string) return take().text;
    if (accept_mark('(')) return reals();
    if (accept_mark('[')) {
      Ints values;
      list(']', [&] { values.push_back(integer()); });
      return values;
    }
    const bool number = token_.kind == GraphToken::Kind::number || token_.kind == GraphToken::Kind::word;
    if (!number) fail("an attribute's value");
    if (is_real(token_.text)) return real();
    if (token_.kind == GraphToken::Kind::number) return integer();
    return dtype();
  }
  Attrs attributes() {
    Attrs attrs;
    if (!accept_mark('{')) return attrs;
    list('}', [&] {
      const GraphToken key = take(GraphToken::Kind::word, "an attribute's name");
      if (attrs.has(key.text)) fail(key.line, "each attribute once", key.text);
      mark('=');
      attrs.set(key.text, attribute());
    });
    return attrs;
  }
  int32_t scope() {
    if (!accept_mark('@')) return 0;
    if (token_.kind != GraphToken::Kind::word && token_.kind != GraphToken::Kind::string) fail("a scope path");
    return graph_.intern_scope(take().text);
  }

  // ---- reading lines
  void node() {
    const GraphToken number = take();
    if (number.text != std::to_string(graph_.nodes.size()))
      fail(number.line, fmt::format("%{}", graph_.nodes.size()), "%" + number.text);
    const int64_t outputs = accept_mark(':') ? integer() : 1;
    mark('=');
    Node node;
    const GraphToken op = take(GraphToken::Kind::word, "an op");
    try {
      node.op = parse_op(op.text);
    } catch (const Error&) {
      fail(op.line, "an op", op.text);
    }
    if (token_.kind == GraphToken::Kind::value) {
      do node.inputs.push_back(value());
      while (accept_mark(','));
    }
    node.attrs = attributes();
    mark(':');
    do node.outputs.push_back(type());
    while (accept_mark(','));
    if (static_cast<int64_t>(node.outputs.size()) != outputs)
      fail(number.line, fmt::format("{} types", outputs), fmt::format("{}", node.outputs.size()));
    node.scope = scope();
    check_types(node, number.line);
    if (node.op == Op::input && graph_.find_input(node.attrs.text("name")).valid())
      fail(number.line, "each input once", node.attrs.text("name"));
    graph_.append(graph_, std::move(node));
  }

  void check_types(const Node& node, int line) const {
    std::vector<Type> inputs, types;
    for (const Value& v : node.inputs) inputs.push_back(graph_.type(v));
    try {
      types = infer(node.op, inputs, node.attrs);
    } catch (const Mistake& mistake) {
      fail(line, mistake.expected, mistake.got);
      // This means that an attribute is missing or has another type.
    } catch (const InternalError& error) {
      fail(line, fmt::format("the attributes of {}", name(node.op)), error.what());
    }
    if (types.size() != node.outputs.size())
      fail(line, fmt::format("{} outputs of {}", types.size(), name(node.op)), std::to_string(node.outputs.size()));
    for (size_t i = 0; i < types.size(); ++i) {
      if (types[i] != node.outputs[i]) fail(line, to_string(types[i]), to_string(node.outputs[i]));
    }
  }

  void variable() {
    const int line = token_.line;
    Variable variable;
    variable.name = string();
    if (graph_.find_variable(variable.name) != nullptr) fail(line, "each variable once", variable.name);
    mark(':');
    variable.type = type();
    variable.kind = choose(kVariableKindNames);
    variable.role = choose(kRoleNames);
    variable.init.kind = choose(kInitKindNames);
    mark('(');
    std::vector<double> numbers = reals();
    const bool runs = variable.init.kind == InitKind::runs;
    if (runs ? numbers.size() % 2 != 0 : numbers.size() != 2)
      fail(line, runs ? "pairs of numbers" : "2 numbers", std::to_string(numbers.size()));
    if (runs) {
      variable.values = std::move(numbers);
    } else {
      variable.init.a = numbers[0];
      variable.init.b = numbers[1];
    }
    if (accept("bytes")) variable.bytes = integer();
    if (accept("rate")) variable.rate = real();
    graph_.variables.push_back(std::move(variable));
  }

  void output() {
    const int line = token_.line;
    Output output;
    output.name = string();
    for (const Output& other : graph_.outputs)
      if (other.name == output.name) fail(line, "each output once", output.name);
    mark('=');
    output.value = value();
    output.merge = choose(kMergeNames);
    graph_.outputs.push_back(std::move(output));
  }

  void write() {
    const int line = token_.line;
    const std::string name = string();
    const Variable* variable = graph_.find_variable(name);
    if (variable == nullptr) fail(line, "the name of a variable above", name);
    mark('=');
    const Value written = value();
    if (graph_.type(written) != variable->type) fail(line, to_string(variable->type), to_string(graph_.type(written)));
    if (!graph_.add_write(name, written)) fail(line, "one write of each variable", name);
  }

  GraphLexer lexer_;
  GraphToken token_;
  Graph graph_;
};

}  // namespace

Graph parse_graph(std::string_view text) {
  try {
    Graph graph = GraphParser(text).run();
    verify(graph);
    return graph;
    // Each line alone was right, but the graph is not: the text is at fault all the same.
  } catch (const InternalError& error) {
    throw Error(fmt::format("graph text: {}", error.what()));
  }
}

}  // namespace kb::test
