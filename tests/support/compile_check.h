// These functions send a graph through the whole compiler and compare the result with the graph interpreter's.
#pragma once
#include "compiler/pipeline/pipeline.h"
#include "graph/interpreter.h"

namespace kb::test {

struct CheckOptions {
  double tolerance = 2e-5;  // allowed error, relative to the largest magnitude in the array, which counts as 1 at least
  bool check_passes = true;
  Precision precision = Precision::f32;
  Target target = generic_cpu_target();
  UpdateRule optimizer = {};
  Bindings bindings = {};    // values in place of random ones
  bool elementwise = false;  // the tolerance is relative to each element itself, or to the least normal number
};

// A compiled graph, values for its inputs and variables by name (in their types after compiling), and the results that
// the graph interpreter gives for them.
struct Judged {
  Compiled compiled;
  std::map<std::string, Type> types;  // types of inputs and variables, by name
  Bindings bindings;
  Interpretation expected;
};
Judged compile_and_interpret(const Graph& graph, const CheckOptions& options = {});
// Fails the running test, with the graph's text, where the arrays differ by more than the tolerance. NaN equals NaN.
void compare(const Graph& graph, const std::string& what, const Array& expected, const Array& got,
             const CheckOptions& options);

// Compiles, runs prepare and final in the schedule interpreter on random inputs and compares every output and state
// write with the graph's own interpretation. Fails the running test, with the graph's text, where they differ. Returns
// the compiled graph.
Compiled check_compiled(const Graph& graph, const CheckOptions& options = {});

// Plain SGD (w - eta g) and SGD with momentum and decay, as optimizers for tests.
UpdateRule plain_sgd();
UpdateRule momentum_sgd();

// Returns a training graph with a convolution, batch norm, relu, pooling, a residual block, a linear layer and
// cross-entropy. The loss is summed over samples with the input "weights" [n].
Graph small_convnet(int64_t n, Mode mode = Mode::training);
// Returns a training graph on signals (N, C, L): three convolutions with batch norm and pooling, and a linear layer.
// The loss is summed in the same way.
Graph small_signal_net(int64_t n, DType dtype = DType::f32);

}  // namespace kb::test
