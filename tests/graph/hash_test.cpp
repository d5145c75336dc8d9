#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <set>

#include "graph/functions.h"
#include "graph/scope.h"
#include "graph/text.h"
#include "tests/support/random_graph.h"

namespace kb::hash_test {
namespace {

Graph base(const std::string& letters = "NC", const std::string& scope = "block") {
  Graph g("base");
  const Scope inside(scope);
  const Tensor x = input(g, "x", DType::f32, {4, 3}, letters);
  const Tensor y = input(g, "y", DType::f32, {4, 3}, letters);
  Tensor s;
  Variable variable{"s", {DType::f32, {3}, ""}, VariableKind::state, Role::none, {InitKind::constant, 1, 0}, {}};
  s = Tensor(g, g.add_variable(variable));
  const Tensor c = constant(g, DType::f32, Dims{3}, std::vector<double>{1, 2, 3});
  const Tensor z = sum((x - y) * c, {0});
  g.outputs.push_back({"z", z.value(), Merge::sum});
  g.writes.push_back({"s", (z + s).value()});
  return g;
}

size_t index_of(const Graph& graph, Op op) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].op == op) return i;
  }
  throw InternalError("no such op");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hash)

// Run folders and caches keep the hash, so it must be equal on every machine and in every build.
BOOST_AUTO_TEST_CASE(known_answer) { BOOST_TEST(content_hash(base()) == "f4ebd124730ac60c748efa1e6e6cd025"); }

BOOST_AUTO_TEST_CASE(what_does_not_count) {
  const std::string hash = content_hash(base());
  BOOST_TEST(hash.size() == 32u);
  BOOST_TEST(content_hash(base()) == hash);
  Graph elsewhere = base("ab", "other");
  elsewhere.name = "another name";
  for (Variable& v : elsewhere.variables) v.name = "s";
  BOOST_TEST(content_hash(elsewhere) == hash);
}

BOOST_AUTO_TEST_CASE(each_kind_of_change_counts) {
  const auto node = [](Graph& g, Op op) -> Node& { return g.nodes[index_of(g, op)]; };
  const std::vector<std::pair<const char*, std::function<void(Graph&)>>> changes = {
      {"op", [&](Graph& g) { node(g, Op::sub).op = Op::add; }},
      {"wiring", [&](Graph& g) { std::swap(node(g, Op::sub).inputs[0], node(g, Op::sub).inputs[1]); }},
      {"output number", [&](Graph& g) { node(g, Op::sub).inputs[0].out = 1; }},
      {"fewer inputs", [&](Graph& g) { node(g, Op::sub).inputs.pop_back(); }},
      {"attribute", [&](Graph& g) { node(g, Op::reduce_sum).attrs.set("axes", Ints{1}); }},
      {"attribute's kind", [&](Graph& g) { node(g, Op::reduce_sum).attrs.set("axes", std::vector<double>{0}); }},
      {"attribute gone", [&](Graph& g) { node(g, Op::reduce_sum).attrs.erase("axes"); }},
      {"dtype", [&](Graph& g) { node(g, Op::sub).outputs[0].dtype = DType::bf16; }},
      {"shape",
       [&](Graph& g) {
         node(g, Op::sub).outputs[0].shape = {3, 4};
       }},
      {"rank",
       [&](Graph& g) {
         node(g, Op::sub).outputs[0].shape = {4, 3, 1};
       }},
      {"constant's last bit",
       [&](Graph& g) {
         node(g, Op::constant).attrs.set("values", std::vector<double>{1, 2, std::nextafter(3.0, 4.0)});
       }},
      {"constant's sign of zero",
       [&](Graph& g) {
         node(g, Op::constant).attrs.set("values", std::vector<double>{1, 2, 0.0});
       }},
      {"negative zero",
       [&](Graph& g) {
         node(g, Op::constant).attrs.set("values", std::vector<double>{1, 2, -0.0});
       }},
      {"input's name", [&](Graph& g) { node(g, Op::input).attrs.set("name", std::string("w")); }},
      {"one node more", [&](Graph& g) { g.nodes.push_back(g.nodes.back()); }},
      {"graph's output", [&](Graph& g) { g.outputs[0].value.node -= 1; }},
      {"output's name", [&](Graph& g) { g.outputs[0].name = "y"; }},
      {"output's merge", [&](Graph& g) { g.outputs[0].merge = Merge::first; }},
      {"no output", [&](Graph& g) { g.outputs.clear(); }},
      {"write's value", [&](Graph& g) { g.writes[0].value = g.outputs[0].value; }},
      {"no write", [&](Graph& g) { g.writes.clear(); }},
      {"variable's name", [&](Graph& g) { g.variables[0].name = "t"; }},
      {"variable's type", [&](Graph& g) { g.variables[0].type.dtype = DType::f64; }},
      {"variable's kind", [&](Graph& g) { g.variables[0].kind = VariableKind::parameter; }},
      {"variable's role", [&](Graph& g) { g.variables[0].role = Role::bias; }},
      {"initial value", [&](Graph& g) { g.variables[0].init.a = 2; }},
      {"kind of initial value", [&](Graph& g) { g.variables[0].init.kind = InitKind::normal; }},
      {"prepared variable's size", [&](Graph& g) { g.variables[0].bytes = 64; }},
      {"parameter's rate", [&](Graph& g) { g.variables[0].rate = 0.5; }},
      {"table's values",
       [&](Graph& g) {
         g.variables[0].values = {1, 2, 3};
       }},
  };
  std::set<std::string> seen = {content_hash(base())};
  for (const auto& [what, change] : changes) {
    Graph changed = base();
    change(changed);
    BOOST_TEST(seen.insert(content_hash(changed)).second, what);
  }
}

BOOST_AUTO_TEST_CASE(random_graphs_differ) {
  std::set<std::string> seen;
  for (uint32_t seed = 0; seed < 300; ++seed) seen.insert(content_hash(test::random_graph(seed)));
  BOOST_TEST(seen.size() == 300u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::hash_test
