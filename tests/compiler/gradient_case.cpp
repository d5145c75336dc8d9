#include "tests/compiler/gradient_case.h"

#include <algorithm>
#include <cmath>

namespace kb::test {

Dims GradientCase::shape(int64_t rank, int64_t most) {
  Dims shape;
  for (int64_t a = 0; a < rank; ++a) shape.push_back(integer(1, most));
  return shape;
}

Ints GradientCase::axes(int64_t rank) {
  Ints axes;
  for (int64_t a = 0; a < rank; ++a) {
    if (coin()) axes.push_back(a);
  }
  if (axes.empty()) axes.push_back(integer(0, rank - 1));
  return axes;
}

// Each array is shifted by its own part of a step, so that values of two arrays differ too.
std::vector<double> GradientCase::spread_values(const Dims& shape, double low, double high) {
  const int64_t n = element_count(shape);
  std::vector<double> values;
  const double part = std::fmod(0.37 + 0.618034 * ++made_, 1.0);
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(low + (high - low) * (static_cast<double>(i) + part) / static_cast<double>(n));
  }
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random_() % i]);
  return values;
}

Tensor GradientCase::x(Dims shape, double low, double high) {
  const std::string name = "x" + std::to_string(inputs_.size());
  const Type type{DType::f64, shape, ""};
  bindings_[name] = {type, spread_values(shape, low, high)};
  inputs_.push_back(parameter(graph, name, Role::weight, type, {}));
  return inputs_.back();
}

Tensor GradientCase::fixed(Dims shape, double low, double high) {
  std::vector<double> values = spread_values(shape, low, high);
  return constant(graph, DType::f64, std::move(shape), std::move(values));
}

Tensor GradientCase::indices(Dims shape, int64_t limit) {
  std::vector<double> values;
  for (int64_t i = element_count(shape); i > 0; --i) values.push_back(static_cast<double>(integer(0, limit - 1)));
  return constant(graph, DType::i32, std::move(shape), std::move(values));
}

double GradientCase::value(const Tensor& scalar, const Bindings& bindings) const {
  const Value v = scalar.value();
  return interpret_values(graph, bindings, std::span(&v, 1), {.round = false})[0].data[0];
}

// Returns central differences of the fourth order, one for each element of the input `name`.
std::vector<double> GradientCase::differences(const Tensor& loss, const std::string& name) {
  Bindings moved = bindings_;
  std::vector<double> result;
  for (double& element : moved.at(name).data) {
    const double centre = element, h = 1e-3;
    const auto at = [&](double shift) {
      element = centre + shift;
      return value(loss, moved);
    };
    result.push_back((8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h));
    element = centre;
  }
  return result;
}

double GradientCase::relative_error(const std::vector<Tensor>& results, int order) {
  Tensor loss;
  for (const Tensor& result : results) {
    const Tensor wide = result.dtype() == DType::f64 ? result : cast(result, DType::f64);
    // A linear function's second derivatives are 0, so for order 2 the results go through a sine.
    const Tensor term = sum((order == 1 ? wide : sin(wide)) * fixed(result.shape()));
    loss = loss.valid() ? loss + term : term;
  }
  std::vector<Tensor> found = gradients(loss, inputs_);
  if (order == 2) {
    Tensor norm;
    for (const Tensor& g : found) norm = norm.valid() ? norm + sum(g * g) : sum(g * g);
    loss = norm;
    found = gradients(loss, inputs_);
  }
  double error = 0, largest = 1e-3;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Value v = found[i].value();
    const std::vector<double> got = interpret_values(graph, bindings_, std::span(&v, 1), {.round = false})[0].data;
    const std::vector<double> expected = differences(loss, "x" + std::to_string(i));
    for (size_t k = 0; k < got.size(); ++k) {
      const double difference = std::abs(got[k] - expected[k]);
      error = std::isfinite(difference) ? std::max(error, difference) : difference;
      largest = std::max(largest, std::abs(expected[k]));
    }
  }
  return error / largest;
}

}  // namespace kb::test
