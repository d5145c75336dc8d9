// A graph of your own, run on numbers of your own, without a data set, train() or a recipe: the softmax of a linear
// layer, and the gradient of its loss with respect to its weight. `gradients` returns tensors of the same graph; the
// program checks one element of the gradient by a difference quotient. Then a training loop of your own: a graph whose
// states are the weight and its velocity, and which every run moves by a step of gradient descent.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "compiler/passes/passes.h"
#include "graph/layers.h"
#include "runtime/evaluate.h"

using namespace kb;

// Fits y = x [2, -1] + noise by gradient descent with momentum. Returns the loss after the last step.
static double descend() {
  constexpr int64_t kRows = 64;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> rows(2 * kRows), targets(kRows);
  for (float& value : rows) value = normal(random);
  for (size_t i = 0; i < targets.size(); ++i) targets[i] = 2 * rows[2 * i] - rows[2 * i + 1] + 0.1f * normal(random);

  Graph graph("descent", Mode::training);
  Tensor x = input(graph, "x", DType::f32, {kRows, 2}), y = input(graph, "y", DType::f32, {kRows});
  Tensor rate = scalar_input(graph, "rate");
  Tensor w = state(graph, "w", {DType::f32, {2, 1}, ""}, {InitKind::constant, 0});
  Tensor velocity = state(graph, "velocity", {DType::f32, {2, 1}, ""}, {InitKind::constant, 0});
  Tensor error = reshape(matmul(x, w), {kRows}) - y;
  Tensor loss = mean(error * error);
  Tensor next = 0.9 * velocity + gradients(loss, {w})[0];
  write_state(velocity, next);
  write_state(w, w - rate * next);
  graph.outputs.push_back({"loss", loss.value()});

  CompiledGraph step(graph);
  double last = 0;
  for (int i = 0; i < 100; ++i) last = step.run({{"x", rows}, {"y", targets}, {"rate", 0.02}}).number("loss");
  return last;
}

int main() {
  // The graph is declared once. Shapes are checked here, and an error names the line.
  Graph graph("classifier", Mode::inference);
  Tensor x = input(graph, "x", DType::f32, {2, 3}), label = index_input(graph, "label", {2}, 4);
  Tensor temperature = scalar_input(graph, "temperature");
  Tensor weight = parameter(graph, "weight", Role::weight, {DType::f32, {4, 3}, ""}, {InitKind::normal, 0, 0.5});
  Tensor logits = matmul(x, weight, false, true) / temperature;
  Tensor loss = mean(cross_entropy(logits, label));
  graph.outputs.push_back({"probability", softmax(logits).value()});
  graph.outputs.push_back({"loss", loss.value()});
  graph.outputs.push_back({"slope", gradients(loss, {weight})[0].value()});

  try {
    CompiledGraph compiled(graph, {.seed = 1});  // the seed determines the initial weight
    const std::vector<float> pixels = {1, 2, 3, -1, 0, 1};
    const std::vector<int32_t> labels = {2, 0};
    const GraphResults results = compiled.run({{"x", pixels}, {"label", labels}, {"temperature", 2.0}});
    const std::vector<float> probability = results.values<float>("probability");
    for (size_t sample = 0; sample < 2; ++sample) {
      std::printf("sample %zu:", sample);
      for (size_t k = 0; k < 4; ++k) std::printf(" %.4f", probability[4 * sample + k]);
      std::printf("\n");
    }

    // Values of parameters are given by name, as those of inputs are.
    std::vector<float> w(12, 0.25f);
    const auto loss_at = [&](float first) {
      w[0] = first;
      return compiled.run({{"x", pixels}, {"label", labels}, {"temperature", 2.0}, {"weight", w}});
    };
    const double difference = (loss_at(0.26f).number("loss") - loss_at(0.24f).number("loss")) / 0.02;
    const float slope = loss_at(0.25f).values<float>("slope")[0];
    std::printf("slope by the weight's first element: %.4f, by a difference %.4f\n", slope, difference);
    if (std::abs(slope - difference) > 1e-3) return 1;

    const double loss_at_end = descend();
    std::printf("loss after 100 steps of a loop of our own: %.4f\n", loss_at_end);
    return loss_at_end < 0.02 ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
