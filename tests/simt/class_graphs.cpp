#include "tests/simt/class_graphs.h"

#include <array>

#include "compiler/kernel/math.h"
#include "compiler/passes/parameter_space.h"
#include "graph/layers.h"
#include "optim/optimizer.h"
#include "tests/compiler/sample_graphs.h"
#include "tests/support/random_graph.h"
#include "tests/support/support.h"

namespace kb::test {
namespace {

// Adds a sum to the outputs, and the sum of its terms' absolute values, by which its error is measured.
void output_sum(const std::string& name, Tensor terms, const Ints& axes = {}) {
  output(name, sum(terms, axes));
  output(name + ".abs", sum(abs(terms), axes));
}

constexpr DType kFloats[] = {DType::f64, DType::f32, DType::bf16, DType::f16};

void pointwise(KernelGraphs& graphs) {
  for (const Dims& shape : std::vector<Dims>{
           {}, {1}, {7}, {16}, {20001}, {3, 16}, {5, 10}, {300, 48}, {2, 3, 5, 7}, {4, 2, 33, 16}, {1, 64}}) {
    graphs.add_exact(shape_name(shape), broadcast_graph(shape));
  }
}

// Applies functions of one float argument within their domains. The operands are exact at the points where a function
// jumps: otherwise a rounding to whole numbers could differ by one.
void functions_of_floats(Tensor x, bool expanded) {
  for (const OpInfo& row : all_ops())
    if (row.rule == TypeRule::floats && row.arity == 1 && row.op != Op::gelu && calls_math(row.op) == expanded)
      output(std::string(row.name), pointwise(row.op, {clamp(x, row.smooth.low, row.smooth.high)}));
}

// Applies the functions that compiler/kernel/math.cpp expands in f32 and 16 bits; in f64 they are the device's own.
void expanded_functions(Tensor x, Tensor z) {
  functions_of_floats(x, true);
  output("power", pow(abs(x) + 0.5, z));
}

void functions_of_one_element(KernelGraphs& graphs) {
  for (const DType dtype : kFloats) {
    Graph graph;
    Tensor x = input_of(graph, {1003}, dtype), z = input_of(graph, {1003}, dtype, "z");
    if (dtype != DType::f64) {
      expanded_functions(x, z);
      output("gelu", gelu(x));
    }
    output("size", abs(x));
    functions_of_floats(x, false);
    output("quotient", x / (abs(z) + 0.5));
    output("larger", maximum(x, z));
    output("choice", select(x < z, x, z));
    graphs.add_exact(std::string(name(dtype)), graph, on_gpu(tolerance_of(dtype)));
  }
  // The last bits of a device's functions differ from the host's, and gelu of a negative number cancels in 1 + erf.
  CheckOptions few_last_bits = on_gpu(1e-14);
  Graph cancelling;
  output("gelu", gelu(input_of(cancelling, {1003}, DType::f64)));
  graphs.add("f64 gelu", cancelling, few_last_bits);
  few_last_bits.elementwise = true;
  Graph graph;
  expanded_functions(input_of(graph, {1003}, DType::f64), input_of(graph, {1003}, DType::f64, "z"));
  graphs.add("f64 functions", graph, few_last_bits);
}

void integers(KernelGraphs& graphs) {
  for (const DType dtype : tensor_dtypes(is_integer)) {
    Graph graph;
    Tensor x = input_of(graph, {5, 37}, dtype), b = input_of(graph, {37}, dtype, "b");
    output("y", x * b + x);
    output("quotient", x / b);
    output("c", cast(x, DType::f32) * 0.5);
    output("s", select(x < b, x, maximum(b, 1.0)));
    output("bits", bit_xor(shift_left(x, full_like(x, 3)), bit_and(x, b)));
    output("high", mul_high(x, b));
    output("h", cast(cast(x, DType::f32) * 0.25, DType::f16));
    graphs.add_exact(std::string(name(dtype)), graph);
    Graph reduced;
    Tensor r = input_of(reduced, {5, 37}, dtype);
    if (!is_narrow(dtype)) output("t", sum(r, {0}));
    output("m", max(r, {1}));
    if (!is_narrow(dtype)) output("p", prod(r, {1}));
    graphs.add(std::string(name(dtype)) + " reduced", reduced);
  }
  Graph graph;
  Tensor x = input_of(graph, {777}), z = input_of(graph, {777}, DType::f32, "z");
  output("both", bit_and(x < 0.5, logical_not(z < 0.25)));
  output("as_byte", cast(abs(x) * 100.0, DType::u8));
  graphs.add_exact("booleans", graph);
}

void movement(KernelGraphs& graphs) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::u8}) {
    Graph graph;
    Tensor x = input_of(graph, {6, 4, 5, 8}, dtype);
    const auto plus = [](Tensor t) { return t + full_like(t, 1); };
    output("transposed", plus(transpose(x, {0, 2, 3, 1})));
    output("reversed", plus(transpose(x, {3, 2, 1, 0})));
    output("sliced", plus(slice(x, {1, 0, 1, 2}, {6, 4, 5, 8}, {2, 1, 3, 2})));
    output("padded", plus(pad(x * x, {0, 1, 2, 3}, {1, 0, 1, 2}, 2)));
    output("dilated", plus(pad(x * x, {0, 0, 1, 0}, {0, 0, 2, 0}, 0, {0, 0, 2, 1})));
    output("joined", concat({plus(x), x * x, x}, 2));
    output("refolded", plus(transpose(reshape(x, {6, 2, 2, 40}), {0, 2, 1, 3})));
    output("blocked", plus(transpose(reshape(x, {6, 2, 2, 5, 8}), {0, 1, 3, 4, 2})));
    graphs.add_exact(std::string(name(dtype)), graph);
  }
}

// A slice of the leading axis is a view, whose first element may be at any address.
void misaligned_views(KernelGraphs& graphs) {
  for (const DType dtype : kFloats)
    for (const auto& [rows, columns, begin] :
         turns<std::array<int64_t, 3>>(dtype, {{7, 1, 1}, {2000, 1, 3}, {9, 6, 1}, {50, 40, 3}})) {
      Graph graph;
      Tensor x = input_of(graph, {rows, columns}, dtype), y = x * x + x;
      output("y", y);
      Tensor part = slice(y, 0, begin, rows), input_part = slice(x, 0, begin, rows);
      output("part", part * part + input_part);
      output("sum", sum(input_part * part, {0}));
      output("rows", max(part, {1}));
      graphs.add(std::string(name(dtype)) + " " + shape_name({rows, columns, begin}), graph,
                 on_gpu(tolerance_of(dtype)));
    }
}

void random_numbers(KernelGraphs& graphs) {
  for (const int64_t n : {1, 3, 300}) {
    Graph graph;
    Tensor x = input_of(graph, {n, 6, 5});
    output("bits", random_bits(graph, "a", {n, 6, 5}));
    output("odd", random_bits(graph, "c", {n, 7}));
    output("dropped", select(random_bits(graph, "b", {n, 6, 5}) < 0x80000000u, x * 2.0, 0.0));
    output("iota", cast(iota(graph, DType::i32, 20), DType::f32) * 0.5);
    output("hot", one_hot(input(graph, "label", DType::i32, {n}, ""), 10));
    graphs.add_exact(shape_name({n, 6, 5}), graph);
  }
}

void reductions(KernelGraphs& graphs) {
  // The cases reduce rows, columns, axes with kept ones between them, and whole arrays, with one block of threads or
  // many.
  const std::vector<std::pair<Dims, Ints>> cases = {{{5, 10}, {1}},
                                                    {{33, 600}, {1}},
                                                    {{12, 3001}, {1}},
                                                    {{3, 20000}, {1}},
                                                    {{1000, 7}, {1}},
                                                    {{300, 48}, {0}},
                                                    {{1000, 3}, {0}},
                                                    {{3000, 64}, {0}},
                                                    {{70, 1001}, {0}},
                                                    {{4, 2, 90, 16}, {0, 2}},
                                                    {{6, 3, 1000}, {0, 2}},
                                                    {{2, 3, 5, 7}, {1, 3}},
                                                    {{12, 5, 5, 32}, {0, 1, 2}},
                                                    {{1}, {0}},
                                                    {{100000}, {0}},
                                                    {{70, 48}, {0, 1}},
                                                    {{9, 1, 5}, {0}}};
  for (const auto& [shape, axes] : cases) {
    Graph graph;
    Tensor x = input_of(graph, shape), y = input_of(graph, shape, DType::f32, "y");
    output_sum("sum", x * y, axes);
    output_sum("plain", x, axes);
    output("max", max(x - y, axes));
    output("product", prod(select(x < y, full_like(x, -1), full_like(x, 1)), axes));
    const Moments m = moments(x + 3.0, axes);
    output("mean", m.mean);
    output("deviation", sqrt(m.variance + 1e-5));
    graphs.add(shape_name(shape) + " over " + shape_name(axes), graph);
  }
  for (const DType dtype : {DType::f64, DType::bf16, DType::f16})
    for (const auto& [shape, axes] : {cases[1], cases[5], cases[14]}) {
      Graph graph;
      Tensor x = input_of(graph, shape, dtype);
      output("mean", mean(x * x, axes));
      output("max", max(x, axes));
      output("product", prod(select(x < 0.5, full_like(x, -1), full_like(x, 1)), axes));
      graphs.add(std::string(name(dtype)) + " " + shape_name(shape), graph, on_gpu(tolerance_of(dtype)));
    }
  for (const auto& [shape, axes] :
       std::vector<std::pair<Dims, Ints>>{{{64, 5}, {1}}, {{6, 300}, {0}}, {{4, 30, 3}, {0, 2}}}) {
    Graph graph;
    const Tensor factors = select(input_of(graph, shape, DType::f32, "y") < 0.1, 0.0, input_of(graph, shape));
    output("gradient", gradients(sum(prod(factors, axes)), {factors})[0]);
    graphs.add("gradient of products " + shape_name(shape), graph);
  }
  for (const Dims& shape : std::vector<Dims>{{5, 10}, {3, 1000}, {64, 5}}) {
    Graph graph;
    for (int64_t axis : {0, 1})
      output("at" + std::to_string(axis),
             argmax(floor(input_of(graph, shape, DType::f32, "x" + std::to_string(axis)) * 2.0), axis));
    graphs.add("argmax " + shape_name(shape), graph, on_gpu(0));
  }
}

void normalisations_and_losses(KernelGraphs& graphs) {
  for (const DType dtype : kFloats)
    for (const Dims& shape : turns<Dims>(dtype, {{6, 10}, {37, 300}, {3, 4100}})) {
      Graph graph;
      Tensor x = input_of(graph, shape, dtype), g = input_of(graph, shape, dtype, "g");
      Tensor p = softmax(x);
      output("softmax", p);
      output("back", p * (g - broadcast_to(sum(p * g, {-1}, true), shape)));
      Tensor normal = layer_norm("ln", x);
      output("normal", normal);
      output("normal_back", gradients(sum(normal * g), {x})[0]);
      graphs.add(std::string(name(dtype)) + " " + shape_name(shape), graph, on_gpu(tolerance_of(dtype)));
    }
  for (const auto& [n, classes] :
       {std::pair{1, 2}, std::pair{37, 10}, std::pair{64, 100}, std::pair{5, 1000}, std::pair{1, 50304}}) {
    Graph graph;
    Tensor logits = input_of(graph, {n, classes}), labels = input(graph, "label", DType::i32, {n}, "");
    Tensor weights = input_of(graph, {n}, DType::f32, "weights");
    Tensor loss = cross_entropy(logits, labels, scalar_input(graph, "label_smoothing"));
    output("loss", loss);
    output("d", gradients(sum(loss * weights), {logits})[0]);
    output("right", argmax_equals(logits, labels));
    graphs.add("cross-entropy " + shape_name({n, classes}), graph);
  }
}

void windows(KernelGraphs& graphs) {
  for (const NamedGraph& window : window_graphs()) graphs.add(window.name, window.graph);
  for (const NamedGraph& crop : crop_graphs()) graphs.add_exact(crop.name, crop.graph);
}

void indexed(KernelGraphs& graphs) {
  for (const DType dtype : kFloats)
    for (const int64_t features : turns<int64_t>(dtype, {1, 9, 32, 1100})) {
      Graph graph;
      Tensor at = input(graph, "at", DType::i32, {3, 41}, "");
      output("table", scatter_add(at, input_of(graph, {3, 41, features}, dtype), 50));
      output("rows", gather(input_of(graph, {50, features}, dtype, "table"), at));
      graphs.add(std::string(name(dtype)) + " " + std::to_string(features), graph, on_gpu(tolerance_of(dtype)));
    }
}

// Adds whole training steps: every optimizer over the flat space. The graph interpreter computes library ops.
void training_steps(KernelGraphs& graphs) {
  for (const Optimizer& optimizer : optimizers()) {
    if (optimizer.takes_matrices) continue;
    Graph graph("final");
    Tensor x = input(graph, "x", DType::f32, {6, 5}, "NC"), labels = input(graph, "labels", DType::i32, {6}, "N");
    Tensor hidden = relu(layer_norm("ln", linear("fc1", x, 19)));
    output("loss", sum(cross_entropy(linear("fc2", hidden, 3), labels)));
    CheckOptions options = on_gpu(1e-4);
    options.optimizer = update_rule(optimizer);
    graphs.add(std::string(optimizer.name), graph, options);
  }
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::f64}) {
    CheckOptions options = on_gpu(precision == Precision::bf16 ? 0.1 : 1e-4);
    options.precision = precision;
    options.optimizer = momentum_sgd();
    graphs.add("convnet", small_convnet(precision == Precision::f64 ? 3 : 4), options);
  }
}

struct Layer {
  const char* name;
  Role role;
  int64_t elements;
  bool gradient = true, parameter = true;  // false: all values are zero
};

// A block of the parameter space has 1024 elements, so these layers fill a part of a block, a few blocks, and many.
constexpr Layer kLayers[] = {{"small.weight", Role::weight, 5},
                             {"small.bias", Role::bias, 5, true, false},
                             {"large.weight", Role::weight, 40 * 1024 + 3},
                             {"norm.weight", Role::norm_scale, 1030},
                             {"still.weight", Role::weight, 1025, false, true},
                             {"zero.weight", Role::weight, 2000, true, false},
                             {"whole.weight", Role::weight, 3 * 1024}};

std::string gradient_of(const Layer& layer) { return std::string("gradient of ") + layer.name; }

// Returns a graph whose loss is the sum of the products of parameters and inputs, so that the inputs are the gradients.
Graph linear_in_layers() {
  Graph graph("final");
  Tensor loss;
  for (const Layer& layer : kLayers) {
    Tensor w = parameter(graph, layer.name, layer.role, {DType::f32, {layer.elements}, ""}, {});
    Tensor term = sum(w * input_of(graph, {layer.elements}, DType::f32, gradient_of(layer)));
    loss = loss.valid() ? loss + term : term;
  }
  output("loss", loss);
  return graph;
}

ParameterSpace space_of(const Graph& graph, const UpdateRule& rule) {
  CompileOptions options;
  options.target = generic_cpu_target();
  options.groups = {{.rule = rule}};
  return compile(graph, options).space;
}

// Returns parameters and gradients that are zero past the ends of layers, and in the layers that are meant to be zero.
Bindings zeros_of_layers(const ParameterSpace& space) {
  Bindings bindings;
  Array& flat = bindings[kFlatParameters] = {{DType::f32, {space.length}, ""}, {}};
  flat.data.assign(static_cast<size_t>(space.length), 0);
  for (const Layer& layer : kLayers) {
    const Segment& segment = *space.find(layer.name);
    const Array values = random_bindings(linear_in_layers(), 5).at(layer.name);
    if (layer.parameter) std::copy(values.data.begin(), values.data.end(), flat.data.begin() + segment.offset);
    if (!layer.gradient) bindings[gradient_of(layer)] = {values.type, std::vector<double>(values.data.size(), 0)};
  }
  return bindings;
}

// Adds the optimizers that take norms of layers, each in the precisions that change its kernels: in f32, and in bf16 or
// f64 by turns.
void layer_wise_updates(KernelGraphs& graphs) {
  const Graph graph = linear_in_layers();
  Precision left_out = Precision::f64;
  for (const Optimizer& optimizer : optimizers()) {
    if (!optimizer.name.starts_with("la")) continue;
    left_out = left_out == Precision::f64 ? Precision::bf16 : Precision::f64;
    for (const auto& [precision, label] :
         {std::pair{Precision::f32, " f32"}, std::pair{Precision::bf16, " bf16"}, std::pair{Precision::f64, " f64"}}) {
      if (precision == left_out && !was_asked("--all")) continue;
      CheckOptions options = on_gpu(precision == Precision::bf16 ? 1e-2 : 2e-5);
      options.precision = precision;
      options.optimizer = update_rule(optimizer);
      options.bindings = zeros_of_layers(space_of(graph, options.optimizer));
      graphs.add(std::string(optimizer.name) + label, graph, options);
    }
  }
}

// Adds random graphs; random_graphs_test.cpp has others.
void random_graphs(KernelGraphs& graphs) {
  for (uint32_t seed = 900; seed < 903; ++seed) graphs.add("seed " + std::to_string(seed), random_graph(seed));
  graphs.add("many blocks", random_graph(5900, {.max_elements = 12000}));
}

}  // namespace

bool has_turn(DType dtype, size_t n) {
  return dtype == DType::f32 || was_asked("--all") || (n + static_cast<size_t>(dtype)) % 3 == 0;
}

void add_long_columns(KernelGraphs& graphs, const std::vector<Dims>& shapes) {
  for (size_t i = 0; i < shapes.size(); ++i)
    for (const DType dtype : {DType::f32, i % 2 == 0 ? DType::f64 : DType::bf16}) {
      const Dims& shape = shapes[i];
      Graph graph;
      const Tensor x = input_of(graph, shape, dtype);
      const Ints axes = shape.size() == 4 ? Ints{0, 2} : Ints{0};
      const Moments m = moments(cast(x, dtype == DType::f64 ? dtype : DType::f32) + 3.0, axes);
      output("mean", m.mean);
      output("variance", m.variance);
      output("max", max(x, axes));
      output("product", prod(select(x < 0.5, full_like(x, -1), full_like(x, 1)), axes));
      graphs.add(std::string(name(dtype)) + " " + shape_name(shape), graph, on_gpu(tolerance_of(dtype)));
    }
}

std::vector<KernelClass> kernel_classes() {
  return {{"pointwise", pointwise},
          {"functions_of_one_element", functions_of_one_element},
          {"integers", integers},
          {"movement", movement},
          {"misaligned_views", misaligned_views},
          {"random_numbers", random_numbers},
          {"reductions", reductions},
          {"normalisations_and_losses", normalisations_and_losses},
          {"batch_norm_chains", batch_norm_chains},
          {"written_columns", written_columns},
          {"packed_masks", packed_masks},
          {"pools_in_their_launches", pools_in_their_launches},
          {"products", products},
          {"products by warps", products_by_warps},
          {"windows", windows},
          {"indexed", indexed},
          {"values_at_edges", values_at_edges},
          {"training_steps", training_steps},
          {"layer_wise_updates", layer_wise_updates},
          {"random_graphs", random_graphs}};
}

}  // namespace kb::test
