#include "compiler/passes/parameter_groups.h"

#include <boost/test/unit_test.hpp>

#include "compiler/pipeline/pipeline.h"
#include "graph/layers.h"
#include "graph/scope.h"
#include "graph/text.h"
#include "optim/wrapped_rules.h"
#include "tests/support/compile_check.h"
#include "tests/support/says.h"

namespace kb::parameter_groups_test {
namespace {

using test::says;

// Returns two layers, each under a scope of its own and with a loss of its own.
Graph two_layers() {
  Graph graph("final");
  const Tensor x = input(graph, "x", DType::f32, {4, 5}, "NC");
  Tensor a, b;
  {
    const Scope scope("a");
    a = linear("fc", x, 20);
  }
  {
    const Scope scope("b");
    b = linear("fc", tanh(a), 3);
  }
  graph.outputs.push_back({"loss", sum(a * a).value(), Merge::sum});
  graph.outputs.push_back({"other", sum(b * b).value(), Merge::sum});
  return graph;
}

CompileOptions one_group() {
  CompileOptions options;
  options.target = generic_cpu_target();
  options.groups = {{.rule = test::momentum_sgd()}};
  return options;
}

CompileOptions two_groups(const UpdateRule& rule = test::momentum_sgd()) {
  CompileOptions options = one_group();
  options.objectives = {{"loss", "a"}, {"other", "b"}};
  options.groups = {{.name = "a", .rule = rule, .owns = owns_scope("a")},
                    {.name = "b", .rule = rule, .owns = owns_scope("b")}};
  return options;
}

std::string final_text(const CompileOptions& options) {
  return to_text(*compile(two_layers(), options).program.at(PartRole::final).graph);
}

void refuses(const CompileOptions& options, const std::string& member, const std::string& fault) {
  BOOST_CHECK_EXCEPTION(compile(two_layers(), options), Error, says(member + ": ", fault));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(parameter_groups)

BOOST_AUTO_TEST_CASE(one_group_of_any_name_is_the_graph_of_one_loss) {
  CompileOptions named = one_group();
  named.objectives = {{"loss", "all"}};
  named.groups = {{.name = "all", .rule = test::momentum_sgd(), .owns = [](const Variable&) { return true; }}};
  BOOST_TEST(final_text(named) == final_text(one_group()));
}

BOOST_AUTO_TEST_CASE(groups_are_ranges_of_the_space_with_slots_of_their_own) {
  CompileOptions options = two_groups();
  options.groups[1].no_decay = {Role::weight};
  options.log_layers = true;
  options.check_passes = true;
  const Compiled compiled = compile(two_layers(), options);
  const ParameterSpace& space = compiled.space;
  BOOST_REQUIRE(space.segments.size() == 4u);
  const SpaceRange a = space.range_of(0), b = space.range_of(1);
  BOOST_TEST(a.offset == 0);
  BOOST_TEST(b.offset == a.length);
  BOOST_TEST(b.offset + b.length == space.length);
  for (const Segment& segment : space.segments) {
    BOOST_TEST(segment.name.starts_with(segment.group == 0 ? "a." : "b."));
    BOOST_TEST(segment.decay == (segment.role == (segment.group == 0 ? Role::weight : Role::bias)));
  }
  std::map<std::string, Variable> variables;
  for (const Variable& variable : compiled.variables) variables[variable.name] = variable;
  BOOST_TEST(variables.at("flat.parameters").type.elements() == space.length);
  BOOST_TEST(variables.at("flat.a.velocity").type.elements() == a.length);
  BOOST_TEST(variables.at("flat.b.velocity").type.elements() == b.length);
  BOOST_TEST(variables.at("flat.b.velocity").flat->offset == b.offset);
  const Graph& graph = *compiled.program.at(PartRole::final).graph;
  BOOST_TEST(graph.find_input("a.learning_rate").valid());
  BOOST_TEST(graph.find_input("b.momentum").valid());
  BOOST_TEST(!graph.find_input("learning_rate").valid());
}

BOOST_AUTO_TEST_CASE(rates_of_parameters_are_tables_of_their_group) {
  for (const bool has_rate : {false, true}) {
    Graph graph = two_layers();
    for (Variable& variable : graph.variables)
      if (has_rate && variable.name == "b.fc.weight") variable.rate = 0.5;
    CompileOptions options = two_groups();
    options.check_passes = true;
    const Compiled compiled = compile(std::move(graph), options);
    std::map<std::string, Variable> tables;
    for (const Variable& variable : compiled.variables)
      if (variable.kind == VariableKind::table) tables[variable.name] = variable;
    BOOST_TEST(!tables.contains("flat.a.rate"));
    BOOST_TEST(tables.contains("flat.b.rate") == has_rate);
  }
}

// The second loss depends on the parameters of both groups, but gives a gradient to its own group only.
BOOST_AUTO_TEST_CASE(a_gradient_flows_to_its_own_group_alone) {
  CompileOptions options = two_groups();
  CompileState state{options, {}, {}};
  const Graph graph = differentiate(two_layers(), state);
  Graph by_hand = two_layers();
  const auto slope = [&](size_t loss, const char* name) {
    const Tensor parameter(by_hand, by_hand.read(name));
    return gradients(Tensor(by_hand, by_hand.outputs[loss].value), {parameter})[0];
  };
  const std::vector<Tensor> expected{slope(0, "a.fc.weight"), slope(1, "b.fc.weight")};
  const Bindings bindings = random_bindings(by_hand, 3);
  const Interpretation got = interpret(graph, bindings);
  const std::vector<Value> values{expected[0].value(), expected[1].value()};
  const std::vector<Array> arrays = interpret_values(by_hand, bindings, values, {});
  BOOST_TEST(got.outputs.at("grad.a.fc.weight").data == arrays[0].data);
  BOOST_TEST(got.outputs.at("grad.b.fc.weight").data == arrays[1].data);
}

BOOST_AUTO_TEST_CASE(losses_of_one_group_add_up) {
  CompileOptions both = one_group();
  both.objectives = {{"loss", ""}, {"other", ""}};
  Graph sum = two_layers();
  sum.outputs[0].value = (Tensor(sum, sum.outputs[0].value) + Tensor(sum, sum.outputs[1].value)).value();
  CompileState one{both, {}, {}};
  const CompileOptions plain = one_group();
  CompileState other{plain, {}, {}};
  const Bindings bindings = random_bindings(sum, 3);
  const Interpretation a = interpret(differentiate(two_layers(), one), bindings);
  const Interpretation b = interpret(differentiate(sum, other), bindings);
  BOOST_TEST(a.outputs.at("grad.a.fc.weight").data == b.outputs.at("grad.a.fc.weight").data);
}

// Each group is clipped by the norm of its own gradient.
BOOST_AUTO_TEST_CASE(each_group_is_clipped_alone) {
  CompileOptions options = two_groups(with_clipped_gradient(test::momentum_sgd()));
  options.check_passes = true;
  const Compiled compiled = compile(two_layers(), options);
  const Graph& graph = *compiled.program.at(PartRole::final).graph;
  for (const char* name : {"a", "b"}) BOOST_TEST(graph.find_input(std::string(name) + "." + kClipNorm).valid());
}

// One loss moves the weights, the biases of b and all else, which has no name.
CompileOptions divided(const UpdateRule& rule = test::momentum_sgd()) {
  CompileOptions options = one_group();
  options.check_passes = true;
  const auto is_weight = [](const Variable& p) { return p.role == Role::weight; };
  const auto is_bias_of_b = [](const Variable& p) { return p.name == "b.fc.bias"; };
  options.groups = {
      {.rule = rule}, {.name = "w", .rule = rule, .owns = is_weight}, {.name = "b", .owns = is_bias_of_b}};
  options.groups.back().is_frozen = true;
  return options;
}

BOOST_AUTO_TEST_CASE(one_loss_moves_all_groups_but_the_frozen) {
  const CompileOptions options = divided(), plain = one_group();
  CompileState state{options, {}, {}}, whole{plain, {}, {}};
  const Graph graph = differentiate(two_layers(), state), all = differentiate(two_layers(), whole);
  const Bindings bindings = random_bindings(graph, 3);
  const Interpretation got = interpret(graph, bindings), expected = interpret(all, bindings);
  for (const char* name : {"grad.a.fc.weight", "grad.a.fc.bias"})
    BOOST_TEST(got.outputs.at(name).data == expected.outputs.at(name).data);
  BOOST_TEST(!got.outputs.contains("grad.b.fc.bias"));
}

// The rest may own nothing; its scalars have no name before theirs.
BOOST_AUTO_TEST_CASE(a_frozen_group_has_no_gradient_and_no_slot) {
  const Compiled compiled = compile(two_layers(), divided());
  const ParameterSpace& space = compiled.space;
  BOOST_TEST(space.segments.back().name == "b.fc.bias");
  BOOST_TEST(space.gradient_length == space.range_of(2).offset);
  std::map<std::string, Variable> variables;
  for (const Variable& variable : compiled.variables) variables[variable.name] = variable;
  BOOST_TEST(variables.at("flat.parameters").type.elements() == space.length);
  BOOST_TEST(variables.at("flat.velocity").type.elements() == space.range_of(0).length);
  BOOST_TEST(variables.at("flat.w.velocity").type.elements() == space.range_of(1).length);
  BOOST_TEST(!variables.contains("flat.b.velocity"));
  CompileOptions named = divided();
  named.groups[1].owns = [](const Variable& p) { return p.name != "b.fc.bias"; };
  BOOST_TEST(compile(two_layers(), named).space.range_of(0).length == 0);
}

// Frozen layers are beside the others in what log_layers gives, with a gradient of 0.
BOOST_AUTO_TEST_CASE(layers_of_a_frozen_group_are_logged) {
  CompileOptions options = divided();
  options.log_layers = true;
  const Compiled compiled = compile(two_layers(), options);
  const Graph& graph = *compiled.program.at(PartRole::final).graph;
  const auto output = std::ranges::find(graph.outputs, kGradientVector, &Output::name);
  BOOST_REQUIRE((output != graph.outputs.end()));
  BOOST_TEST(graph.type(output->value).elements() == compiled.space.length);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_by_the_members_name) {
  CompileOptions options = two_groups();
  options.groups[1].owns = owns_scope("c");
  refuses(options, "ParameterGroup::owns", "parameter \"b.fc.weight\" belongs to no group");
  refuses(options, "ParameterGroup::owns", "that of a loss is a scope");
  options = two_groups();
  options.groups[1].owns = [](const Variable&) { return true; };
  refuses(options, "ParameterGroup::owns", "got:      \"a\", \"b\"");
  options = two_groups();
  options.groups.push_back({.name = "c", .rule = test::momentum_sgd(), .owns = owns_scope("c")});
  options.objectives.push_back({"loss", "c"});
  refuses(options, "ParameterGroup::owns", "group \"c\" owns no parameter");
  refuses(options, "ParameterGroup::owns", "got:      none; there are parameters under \"a\", \"b\"");
  options = two_groups();
  options.objectives[1].group = "B";
  refuses(options, "Objective::group", "objective \"other\" has no such group");
  options = two_groups();
  options.groups[1].name = options.objectives[1].group = "";
  refuses(options, "ParameterGroup::name", "one of several groups has none, and is not the rest");
  options = two_groups();
  options.groups[0].is_frozen = true;
  refuses(options, "CompileOptions::groups", "a frozen group stands before one that learns");
  options = two_groups();
  options.groups[1].is_frozen = true;
  refuses(options, "ParameterGroup::rule", "group \"b\" has one and is frozen");
  for (ParameterGroup& group : options.groups) group.is_frozen = true, group.rule = {};
  refuses(options, "ParameterGroup::is_frozen", "no parameter learns");
  options = two_groups();
  options.objectives.pop_back();
  refuses(options, "CompileOptions::objectives", "group \"b\" has no loss");
  options = two_groups();
  options.groups[1].rule = {};
  refuses(options, "ParameterGroup::rule", "group \"b\" has none");
  options = two_groups();
  options.groups[1].name = options.objectives[1].group = "a";
  refuses(options, "ParameterGroup::name", "two groups have the same");
  options = two_groups();
  options.objectives[1].name = "none";
  BOOST_CHECK_EXCEPTION(compile(two_layers(), options), Error, says("expected an output \"none\" to train on"));
}

BOOST_AUTO_TEST_CASE(offsets_from_the_parameters_want_one_group) {
  const UpdateRule at_offset = [](UpdateContext& c) {
    c.set_slot("ahead", c.gradient_offset("ahead") - c.gradient);
    return c.parameter - c.gradient;
  };
  refuses(two_groups(at_offset), "ParameterGroup::rule", "the rule of group \"a\" takes its gradient at an offset");
  const Compiled training = compile(two_layers(), two_groups());
  CompileOptions inference;
  inference.target = generic_cpu_target();
  inference.space = &training.space;
  inference.offset = "average";
  refuses(inference, "CompileOptions::offset", "\"average\"");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::parameter_groups_test
