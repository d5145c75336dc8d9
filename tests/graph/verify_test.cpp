#include <boost/test/unit_test.hpp>
#include <functional>

#include "graph/functions.h"
#include "graph/infer.h"
#include "graph/text.h"
#include "tests/support/support.h"

namespace kb::verify_test {
namespace {

Graph base() {
  Graph g("base");
  const Tensor x = input(g, "x", DType::f32, {4, 3}, "");
  const Tensor y = input(g, "y", DType::f32, {4, 3}, "");
  const Variable variable{"s", {DType::f32, {3}, ""}, VariableKind::state, Role::none, {InitKind::constant, 1, 0}, {}};
  const Tensor s(g, g.add_variable(variable));
  const Tensor z = sum(x - y, {0});
  g.outputs.push_back({"z", z.value(), Merge::sum});
  g.writes.push_back({"s", (z + s).value()});
  return g;
}

struct Fault {
  const char* message;
  std::function<void(Graph&)> plant;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(verify_graph)

BOOST_AUTO_TEST_CASE(whole_graph_passes) { BOOST_CHECK_NO_THROW(verify(base())); }

// The nodes of base() are %0 x, %1 y, %2 s, %3 x - y, %4 the sum and %5 the new state.
BOOST_AUTO_TEST_CASE(planted_faults_are_named) {
  const std::vector<Fault> faults = {
      {"%3 (sub): input %3.0 is not a value of an earlier node", [](Graph& g) { g.nodes[3].inputs[0].node = 3; }},
      {"%3 (sub): input %0.1 is not a value of an earlier node", [](Graph& g) { g.nodes[3].inputs[0].out = 1; }},
      {"%3 (sub): input %-1.0 is not a value of an earlier node", [](Graph& g) { g.nodes[3].inputs[0].node = -1; }},
      {"%3 (sub): output 0 should be f32[4,3], is f32[4,4]", [](Graph& g) { g.nodes[3].outputs[0].shape[1] = 4; }},
      {"%3 (sub): output 0 should be f32[4,3], is f64[4,3]",
       [](Graph& g) { g.nodes[3].outputs[0].dtype = DType::f64; }},
      {"%3 (sub): expected 1 outputs, got 2", [](Graph& g) { g.nodes[3].outputs.push_back(g.nodes[3].outputs[0]); }},
      {"%3: scope 1 of 1", [](Graph& g) { g.nodes[3].scope = 1; }},
      {"%3: scope -1 of 1", [](Graph& g) { g.nodes[3].scope = -1; }},
      {"%3 (sub): frame 999 of ", [](Graph& g) { g.nodes[3].frame = 999; }},
      {"%3 (sub): frame -2 of ", [](Graph& g) { g.nodes[3].frame = -2; }},
      {"%1 (input): a second input \"x\"", [](Graph& g) { g.nodes[1].attrs.set("name", std::string("x")); }},
      {"output \"z\" is %99.0, which is no value", [](Graph& g) { g.outputs[0].value.node = 99; }},
      {"two writes of \"s\"", [](Graph& g) { g.writes.push_back(g.writes[0]); }},
      {"a write of \"t\", which is no variable", [](Graph& g) { g.writes[0].variable = "t"; }},
      {"the write of \"s\" should be f32[3], is f32[4,3]", [](Graph& g) { g.writes[0].value.node = 3; }},
      {"the write of \"s\" is %-1.0, which is no value", [](Graph& g) { g.writes[0].value.node = -1; }},
      {"a write of \"s\", which is a constant table", [](Graph& g) { g.variables[0].kind = VariableKind::table; }},
      {"two variables \"s\"", [](Graph& g) { g.variables.push_back(g.variables[0]); }},
      {"variable \"t\": no elements on axis 1: [3, 0]",
       [](Graph& g) {
         g.variables.push_back(g.variables[0]);
         g.variables.back().name = "t";
         g.variables.back().type.shape = {3, 0};
       }},
      {"variable \"s\" of f32[3] has 1 values", [](Graph& g) { g.variables[0].values = {1}; }},
      {"%2 (variable): variable \"s\" is f32[5], its node f32[3]", [](Graph& g) { g.variables[0].type.shape = {5}; }},
      {"%6 (variable): a second node reads \"s\"", [](Graph& g) { g.nodes.push_back(g.nodes[2]); }},
  };
  for (const Fault& fault : faults) {
    Graph broken = base();
    fault.plant(broken);
    BOOST_CHECK_EXCEPTION(verify(broken), InternalError, [&](const InternalError& error) {
      const std::string expected = std::string("verify: graph \"base\": ") + fault.message;
      BOOST_TEST(std::string(error.what()).substr(0, expected.size()) == expected);
      return true;
    });
  }
}

BOOST_AUTO_TEST_CASE(an_index_that_does_not_fit_its_windows_is_refused) {
  const auto refusal = [](Ints kernel, DType dtype, Dims index) -> std::string {
    const Type x{DType::f32, {2, 300, 8}, ""};
    Attrs attrs{{"kernel", std::move(kernel)},
                {"stride", Ints{1, 2}},
                {"padding", Ints{0, 0}},
                {"dilation", Ints{1, 1}},
                {"axes", Ints{1, 2}}};
    const Type indices{dtype, std::move(index), ""}, dy{DType::f32, indices.shape, ""};
    const auto text_of = [&](Op op, const Type& of) -> std::string {
      try {
        const Type in[] = {of, indices};
        infer(op, in, attrs);
        return "";
      } catch (const Mistake& mistake) {
        return mistake.what + ": " + mistake.expected + ", not " + mistake.got;
      }
    };
    const std::string taken = text_of(Op::take_at_index, x);
    attrs.set("input_size", Ints{300, 8});
    BOOST_TEST(text_of(Op::max_pool_grad, dy) == taken);
    return taken;
  };
  BOOST_TEST(refusal({2, 2}, DType::u8, {2, 299, 4}) == "");
  BOOST_TEST(refusal({257, 1}, DType::i32, {2, 44, 4}) == "");
  BOOST_TEST(refusal({2, 2}, DType::i32, {2, 299, 4}) == "index has the wrong dtype: u8, not i32[2,299,4]");
  BOOST_TEST(refusal({257, 1}, DType::u8, {2, 44, 4}) == "index has the wrong dtype: i32, not u8[2,44,4]");
  BOOST_TEST(refusal({2, 2}, DType::u8, {2, 300, 4}) ==
             "index does not fit: one element for each window of x: [2, 299, 4], not [2, 300, 4]");
}

BOOST_AUTO_TEST_CASE(two_outputs_of_one_name_are_the_users_mistake) {
  Graph g = base();
  const int line = __LINE__ + 1;
  g.outputs.push_back({"z", relu(Tensor(g, g.outputs[0].value)).value(), Merge::sum});
  BOOST_CHECK_EXCEPTION(verify(g), Error, [&](const Error& error) {
    const std::string text = error.what();
    BOOST_TEST_INFO(text);
    BOOST_TEST(text.find("outputs: two are named 'z'") == 0u);
    BOOST_TEST(test::contains(text, "f32[3] of verify_test.cpp:"));
    BOOST_TEST(test::contains(text, " and f32[3] of verify_test.cpp:" + std::to_string(line)));
    return true;
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::verify_test
