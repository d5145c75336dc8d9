// Small trainings in f64 on pairs of numbers, for tests of copies of the parameters: a model of one parameter, which
// plain loops follow by the formulas of the papers, and one with batch norm and dropout.
#pragma once
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "recipes/config/learning.h"
#include "recipes/train/train.h"
#include "tests/recipes/ranks.h"
#include "tests/recipes/sines.h"

namespace kb::test {

inline constexpr int64_t kTrain = 96, kMinibatch = 16;
inline constexpr double kRate = 0.05, kMomentum = 0.9;
inline const auto kClose = boost::test_tools::tolerance(1e-12);

// The loss of a sample (x, y) is (w x - y)^2 / 2.
inline ModelOutput line(Inputs& in) {
  const Tensor x = cast(in["x"], in.real());
  const Tensor w = parameter(in.graph(), "w", Role::weight, {in.real(), {1}, ""}, {InitKind::constant, 0.5, 0});
  const Tensor error = reshape(slice(x, 1, 0, 1) * w - slice(x, 1, 1, 2), {x.size(0)});
  ModelOutput output;
  output.losses = {{.values = 0.5 * error * error}};
  return output;
}

// Batch norm, whose running statistics are a state, and dropout.
inline ModelOutput network(Inputs& in) {
  const Tensor x = relu(batch_norm("bn", linear("fc1", in["x"], 8)));
  ModelOutput output;
  output.losses = {{.values = mean(softplus(linear("fc2", dropout("drop", x, 0.2), 3)), {1})}};
  return output;
}

inline Task task_of(ModelOutput (*model)(Inputs&)) {
  return {.name = "pairs",
          .fields = {{.name = "x", .shape = {2}, .axes = "C"}},
          .model = model,
          .train = sine_source(kTrain, 2),
          .test = sine_source(8, 2)};
}

inline TrainConfig config_of_run(int64_t steps) {
  TrainConfig config =
      config_of({.minibatch = kMinibatch, .optimizer = "momentum", .lr = kRate, .schedule = "constant"});
  config.learning.hyper = {{"momentum", kMomentum}, {"weight_decay", 0}};
  config.length.steps = steps;
  config.batch.per_worker = 2;
  config.arithmetic.shards = 2;
  config.arithmetic.precision = Precision::f64;
  return config;
}

struct Losses : Observer {
  std::vector<double> values;
  void step(const StepMetrics& metrics) override { values.push_back(metrics.loss); }
};

inline TrainingState trained(const Task& task, const TrainConfig& config, const TrainingState* from = nullptr) {
  LocalMachine machine(2);
  Observer silent;
  return train(task, config, machine, silent, from).state;
}

inline std::vector<double> losses_of(const Task& task, const TrainConfig& config) {
  LocalMachine machine(2);
  Losses losses;
  train(task, config, machine, losses);
  return losses.values;
}

inline const NamedTensor& find(const TrainingState& state, const std::string& name) {
  for (const NamedTensor& tensor : state.tensors)
    if (tensor.name == name) return tensor;
  throw Error("there is no " + name);
}

inline double element(const NamedTensor& tensor, int64_t at) {
  return load_element(tensor.type.dtype, tensor.data.data(), at);
}

inline double greatest(const NamedTensor& tensor) {
  double value = 0;
  for (int64_t i = 0; i < tensor.type.elements(); ++i) value = std::max(value, std::abs(element(tensor, i)));
  return value;
}

// Compares the tensors that a synchronous training has: parameters and running statistics. Differences are relative to
// the greatest element: batch norm over two samples lets a small one differ by 2e-13 of itself.
inline void check_alike(const TrainingState& sync, const TrainingState& joined) {
  int64_t compared = 0;
  for (const NamedTensor& tensor : sync.tensors) {
    if (tensor.name.find("velocity.") != std::string::npos) continue;
    const NamedTensor& other = find(joined, tensor.name);
    const double allowed = 1e-13 * greatest(tensor);
    for (int64_t i = 0; i < tensor.type.elements(); ++i, ++compared)
      BOOST_TEST(std::abs(element(other, i) - element(tensor, i)) <= allowed, tensor.name);
  }
  BOOST_TEST(compared > 0);
}

// Returns the gradient of the mean loss of `line` at w over rows of the batch of a step.
inline double slope_of(double w, const Order& order, int64_t step, int64_t first_row, int64_t rows) {
  static const std::vector<float> data = sines(2 * kTrain);
  double slope = 0;
  for (int64_t row = first_row; row < first_row + rows; ++row) {
    const auto sample = static_cast<size_t>(order.row(step, row).sample);
    const double x = data[2 * sample], y = data[2 * sample + 1];
    slope += (w * x - y) * x / static_cast<double>(rows);
  }
  return slope;
}

}  // namespace kb::test
