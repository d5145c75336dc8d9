// A graph through the whole compiler, judged by the graph interpreter.
#pragma once
#include "compiler/pipeline/pipeline.h"
#include "graph/interpreter.h"

namespace kb::test {

struct CheckOptions {
  double tolerance = 2e-5;  // of an element, relative to the largest element of its array (at least 1)
  bool check_passes = true;
  Precision precision = Precision::f32;
  Target target = generic_cpu_target();
  UpdateRule optimizer;
  Bindings bindings = {};    // values in place of random ones
  bool elementwise = false;  // the tolerance is relative to each element alone, down to the least normal number
};

// A compiled graph, values for its inputs and variables by name (in the types that it has after compiling), and what a
// step then gives by the graph interpreter.
struct Judged {
  Compiled compiled;
  std::map<std::string, Type> types;  // of inputs and variables
  Bindings bindings;
  Interpretation expected;
};
Judged compile_and_interpret(const Graph& graph, const CheckOptions& options = {});
// Fails the running test, with the graph's text, where the arrays differ by more than the tolerance. NaN equals NaN.
void compare(const Graph& graph, const std::string& what, const Array& expected, const Array& got,
             const CheckOptions& options);

// Compiles, runs prepare and final in the schedule interpreter on random inputs and compares every output and state
// write with the graph's own interpretation. Fails the running test, with the graph's text, where they differ. Gives
// what was compiled.
Compiled check_compiled(const Graph& graph, const CheckOptions& options = {});

// Plain SGD (w - eta g) and SGD with momentum and decay, as optimizers for tests.
UpdateRule plain_sgd();
UpdateRule momentum_sgd();

// A training graph: conv, batch norm, relu, pooling, a residual block, linear, cross-entropy; loss summed with weights
// "weights" [n].
Graph small_convnet(int64_t n, Mode mode = Mode::training);
// One of signals (N, C, L): two convolutions with batch norm and pooling, linear; loss likewise.
Graph small_signal_net(int64_t n, DType dtype = DType::f32);

}  // namespace kb::test
