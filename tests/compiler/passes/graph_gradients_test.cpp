// Tests gradients of whole graphs: composites, shared tensors, and the shape of the backward graph.
#include "tests/compiler/passes/gradient_cases.h"
#include "tests/support/says.h"

#include <boost/test/unit_test.hpp>

namespace kb::gradients_test {

BOOST_AUTO_TEST_SUITE(gradients_of_graphs)

Results batch_norm_case(GradientCase& c) {
  const Dims shape = {3, 2, 2, 3};
  const Tensor x = c.x(shape), gamma = c.x({2}), beta = c.x({2});
  const Moments m = moments(x, {0, 2, 3});
  const auto spread = [&](const Tensor& t) { return broadcast_axes(t, shape, {1}); };
  return {sigmoid((x - spread(m.mean)) * spread(gamma * rsqrt(m.variance + 1e-2)) + spread(beta))};
}

Results cross_entropy_case(GradientCase& c) {
  return {cross_entropy(c.x({3, 5}), c.indices({3}, 5), 0.125), softmax(c.x({2, 3}), 0)};
}

// The indices are -1 to 4 and the table has rows 0 to 2: an update for no row of the table must get no gradient.
Results scatter_case(GradientCase& c) { return {scatter_add(c.indices({8}, 6) - 1.0, c.x({8, 2}), 3)}; }

// A class that no label names may have a logit of minus infinity. The second loss has a smoothing that is known to be 0
// only when the step runs.
Results impossible_class_case(GradientCase& c) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = c.x({3, 2}), none = constant(c.graph, DType::f64, -inf, {3, 1});
  const Tensor labels = constant(c.graph, DType::i32, {3}, {0, 1, 0});
  return {cross_entropy(concat({x, none}, 1), labels),
          cross_entropy(concat({x, none}, 1), labels, reshape(c.fixed({1}) * 0.0, {}))};
}

// A small net has every kind of op that a convolutional net has.
Results net_case(GradientCase& c) {
  const Tensor x = c.fixed({2, 2, 6, 6}), w1 = c.x({3, 2, 3, 3}), w2 = c.x({4, 3}), b = c.x({4});
  Tensor y = tanh(convolution(x, w1, {.kernel = {3, 3}, .padding = {1, 1}}));
  y = avg_pool2d(y, {.kernel = 2});
  y = matmul(global_avg_pool(y), w2, false, true) + b;
  return {cross_entropy(y, c.indices({2}, 4), 0.1)};
}

BOOST_AUTO_TEST_CASE(composites) {
  for (const int order : {1, 2}) {
    check("batch norm", batch_norm_case, order, 2);
    check("cross-entropy", cross_entropy_case, order, 2);
    check("an impossible class", impossible_class_case, order, 2);
    check("scatter_add past the table", scatter_case, order, 2);
    check("net", net_case, order, 1);
    check(
        "norm",
        [](GradientCase& c) {
          return Results{norm(c.x({3, 4}), {1})};
        },
        order, 2);
    check(
        "leaky relu, clamp",
        [](GradientCase& c) {
          return Results{leaky_relu(c.x({7}), 0.1), clamp(c.x({8}), -1, 1), mean(c.x({2, 3}), {0})};
        },
        order, 2);
    check(
        "take_along_axis",
        [](GradientCase& c) {
          return Results{exp(take_along_axis(c.x({2, 3, 2}), c.indices({2, 4, 2}, 3), 1))};
        },
        order, 2);
  }
}

BOOST_AUTO_TEST_CASE(a_tensor_used_twice) {
  for (const int order : {1, 2}) {
    check(
        "twice",
        [](GradientCase& c) {
          const Tensor x = c.x({3, 3}), y = sin(x);
          return Results{y * x + exp(y) * x, matmul(y, y, true)};
        },
        order, 2);
  }
}

BOOST_AUTO_TEST_CASE(a_parameter_shared_by_two_layers) {
  for (const int order : {1, 2}) {
    check(
        "shared",
        [](GradientCase& c) {
          const Tensor w = c.x({3, 3}, -1, 1), b = c.x({3});
          return Results{tanh(matmul(tanh(matmul(c.fixed({4, 3}), w) + b), w) + b)};
        },
        order, 2);
  }
}

BOOST_AUTO_TEST_CASE(stop_gradient_and_independence) {
  Graph g;
  const Tensor x = constant(g, DType::f64, Dims{2}, std::vector<double>{1, 2});
  const Tensor unused = constant(g, DType::f64, 1.0, {3});
  const std::vector<Tensor> found = gradients(sum(x * stop_gradient(x * x)), {x, unused});
  const std::vector<double> expected = {1, 4};
  BOOST_TEST(values(found[0]) == expected);
  BOOST_TEST(values(found[1]) == std::vector<double>(3, 0.0));
}

BOOST_AUTO_TEST_CASE(a_loss_must_be_a_scalar_of_the_graph) {
  Graph g;
  const Tensor x = constant(g, DType::f32, 1.0, {2});
  BOOST_CHECK_EXCEPTION(gradients(x, {x}), Error,
                        test::says("gradients: the loss is no number\n  at graph_gradients_test.cpp:", "f32[2]"));
  Graph h("other");
  const Tensor foreign = constant(h, DType::f32, 1.0, {2});
  BOOST_CHECK_EXCEPTION(gradients(sum(x), {foreign}), Error, test::says("gradients: operands of different graphs"));
  BOOST_CHECK_EXCEPTION(gradients(sum(x), {x, cast(x, DType::i32)}), Error,
                        test::says("gradients: a derivative by numbers that are no floats", "i32[2]"));
  BOOST_CHECK_EXCEPTION(gradients(Tensor(), {x}), Error, test::says("gradients: an operand is empty"));
  BOOST_CHECK_EXCEPTION(gradients(sum(x), {Tensor()}), Error, test::says("gradients: an operand is empty"));
}

// A gradient rule makes nodes for the inputs that need a gradient, and for no others.
BOOST_AUTO_TEST_CASE(only_what_is_needed_is_built) {
  Graph g;
  const Tensor x = input(g, "x", DType::f32, {2, 3, 8, 8}, "NCHW");
  const Tensor w = parameter(g, "w", Role::weight, {DType::f32, {4, 3, 3, 3}, "OIHW"}, {});
  gradients(sum(convolution(x, w, {.kernel = {3, 3}})), {w});
  BOOST_TEST(count_op(g, Op::conv2d_weight_grad) == 1u);
  BOOST_TEST(count_op(g, Op::conv2d_input_grad) == 0u);
}

// A layer adds as many nodes to a deep net as to a shallow one.
BOOST_AUTO_TEST_CASE(backward_graph_grows_linearly) {
  const auto nodes = [](int layers) {
    Graph g;
    Tensor x = input(g, "x", DType::f32, {4, 8}, "");
    std::vector<Tensor> weights;
    for (int i = 0; i < layers; ++i) {
      weights.push_back(parameter(g, "w" + std::to_string(i), Role::weight, {DType::f32, {8, 8}, ""}, {}));
      x = relu(matmul(x, weights.back())) + x;
    }
    gradients(sum(x), weights);
    return g.nodes.size();
  };
  BOOST_TEST(nodes(30) - nodes(20) == nodes(20) - nodes(10));
}

BOOST_AUTO_TEST_CASE(backward_nodes_stand_where_the_forward_ones_do) {
  Graph g;
  const Tensor x = input(g, "x", DType::f32, {4, 3}, "");
  const Tensor y = linear("fc", x, 2);
  const int line = __LINE__ - 1;
  const Tensor loss = sum(y * y);
  const size_t forward = g.nodes.size();
  gradients(loss, {Tensor(g, g.read("fc.weight"))});
  size_t at_layer = 0;
  for (size_t i = forward; i < g.nodes.size(); ++i) {
    const Node& node = g.nodes[i];
    BOOST_TEST(node.frame >= 0);
    if (node.op != Op::matmul) continue;
    BOOST_TEST(g.scopes[static_cast<size_t>(node.scope)] == "fc");
    BOOST_TEST(g.place(node) == "graph_gradients_test.cpp:" + std::to_string(line));
    ++at_layer;
  }
  BOOST_TEST(at_layer == 1u);
}

// Weight gradients of bf16 convolutions are f32, for weights in bf16 and for a parameter in f32 that is cast to bf16.
BOOST_AUTO_TEST_CASE(weight_gradients_stay_wide) {
  Graph g;
  const Tensor x = input(g, "x", DType::bf16, {2, 3, 8, 8}, "NCHW");
  const Tensor low = input(g, "low", DType::bf16, {4, 3, 3, 3}, "OIHW");
  const Tensor master = parameter(g, "master", Role::weight, {DType::f32, {4, 3, 3, 3}, "OIHW"}, {});
  const Window window{.kernel = {3, 3}};
  const Tensor y = convolution(x, low, window) + convolution(x, cast(master, DType::bf16), window);
  const std::vector<Tensor> found = gradients(sum(cast(y, DType::f32)), {low, master});
  BOOST_TEST((found[0].dtype() == DType::f32));
  BOOST_TEST((found[1].dtype() == DType::f32));
  // Nothing rounds between the library's result and the gradient.
  BOOST_TEST((g.node(found[1].value()).op == Op::conv2d_weight_grad));
}

Graph batch_norm_graph(int64_t n, bool batch_norm_twice = false) {
  Graph g("bn");
  const Tensor x = parameter(g, "x", Role::weight, {DType::f32, {n, 4, 5, 5}, "NCHW"}, {});
  Tensor y = batch_norm("bn", x);
  y = relu(y + input(g, "residual", DType::f32, {n, 4, 5, 5}, "NCHW"));
  if (batch_norm_twice) y = batch_norm("bn2", y);
  const Tensor weighted = y * input(g, "dy", DType::f32, {n, 4, 5, 5}, "NCHW");
  std::vector<Tensor> parameters;
  for (const Variable& v : std::vector<Variable>(g.variables)) {
    if (v.kind == VariableKind::parameter) parameters.emplace_back(g, g.read(v.name));
  }
  const std::vector<Tensor> found = gradients(scalar_of(weighted), parameters);
  for (const Tensor& gradient : found) {
    g.outputs.push_back({"g" + std::to_string(g.outputs.size()), gradient.value(), Merge::sum});
  }
  return g;
}

// The sums are sum(dy) and sum(dy * (x - mean)). There cannot be fewer, and the number of launches depends on it.
BOOST_AUTO_TEST_CASE(batch_norm_backward_has_two_sums) {
  const auto sums = [](const Graph& graph) {
    size_t count = 0;
    for (const Node& node : graph.nodes) {
      if (node.op == Op::reduce_sum && graph.type(node.inputs[0]).elements() > 100) ++count;
    }
    return count;
  };
  BOOST_TEST(sums(simplified(batch_norm_graph(3))) == 2u);
  BOOST_TEST(sums(simplified(batch_norm_graph(3, true))) == 4u);
}

// The minibatch size enters a graph through counts and extents, never as a constant, so another size compiles no new
// kernel.
BOOST_AUTO_TEST_CASE(constants_do_not_depend_on_the_minibatch) {
  const auto constants = [](const Graph& graph) {
    std::multiset<double> found;
    for (const Node& node : graph.nodes) {
      if (node.op == Op::constant) found.insert(node.attrs.reals("values")[0]);
    }
    return found;
  };
  BOOST_TEST(constants(batch_norm_graph(3)) == constants(batch_norm_graph(7)));
}

// Compares gradients with finite differences along a random direction, in random smooth graphs.
BOOST_AUTO_TEST_CASE(random_smooth_graphs) {
  size_t checked = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    Graph g = test::random_graph(seed, {.smooth = true, .dtype = DType::f64});
    const Tensor loss(g, g.outputs[0].value);
    std::vector<Tensor> parameters;
    std::vector<std::string> names;
    for (const Variable& v : g.variables) {
      if (v.kind == VariableKind::parameter) names.push_back(v.name);
    }
    for (const std::string& name : names) parameters.emplace_back(g, g.read(name));
    const std::vector<Tensor> found = gradients(loss, parameters);
    verify(g);
    const Bindings bindings = random_bindings(g, seed), directions = random_bindings(g, seed + 1000);
    double slope = 0, scale = 1e-3;
    for (size_t i = 0; i < names.size(); ++i) {
      const std::vector<double> gradient = values(found[i], bindings);
      const std::vector<double>& direction = directions.at(names[i]).data;
      for (size_t k = 0; k < gradient.size(); ++k) {
        slope += gradient[k] * direction[k];
        scale = std::max(scale, std::abs(gradient[k] * direction[k]));
        ++checked;
      }
    }
    const auto at = [&](double t) {
      Bindings moved = bindings;
      for (const std::string& name : names) {
        std::vector<double>& data = moved.at(name).data;
        for (size_t k = 0; k < data.size(); ++k) data[k] += t * directions.at(name).data[k];
      }
      return values(loss, moved)[0];
    };
    const double h = 1e-4, difference = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
    BOOST_TEST(std::abs(slope - difference) <= kTolerance * scale,
               "seed " << seed << ": " << slope << " against " << difference);
  }
  BOOST_TEST(checked > 1000u);
}

// The pass `differentiate` makes the loss and the gradients sums over workers, and adds one output per parameter, in
// the order of the variables.
BOOST_AUTO_TEST_CASE(differentiate_adds_outputs) {
  Graph g("model");
  const Tensor x = input(g, "x", DType::f32, {4, 3}, "");
  const Tensor y = linear("fc", x, 2);
  g.outputs.push_back({"loss", sum(y * y).value(), Merge::sum});
  const auto optimizer = [](UpdateContext& update) { return update.parameter; };
  CompileOptions options;
  CompileState inference{options, {}, {}};
  BOOST_TEST(content_hash(differentiate(g, inference)) == content_hash(g));
  options.groups = {{.rule = optimizer}};
  CompileState state{options, {}, {}};
  const Graph result = differentiate(g, state);
  verify(result);
  const std::vector<std::string> expected = {"loss", "grad.fc.weight", "grad.fc.bias"};
  BOOST_REQUIRE_EQUAL(result.outputs.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    BOOST_TEST(result.outputs[i].name == expected[i]);
    BOOST_TEST((result.node(result.outputs[i].value).op == Op::worker_sum));
  }
  Graph no_loss("model");
  BOOST_TEST(test::error_of([&] { differentiate(no_loss, state); }) ==
             "graph \"model\": expected an output \"loss\" to train on, got none of that name");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::gradients_test
