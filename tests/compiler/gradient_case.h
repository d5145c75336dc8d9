// GradientCase compares `gradients` with finite differences in double. A case builds tensors from inputs whose values
// are chosen so that no kink or jump lies between the points of a difference.
#pragma once
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "compiler/passes/passes.h"
#include "graph/functions.h"
#include "graph/interpreter.h"

namespace kb::test {

class GradientCase {
 public:
  explicit GradientCase(uint32_t seed) : random_(seed * 7919u + 1) {}

  Graph graph{"gradient"};

  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint32_t>(high - low + 1));
  }
  bool coin() { return integer(0, 1) == 1; }
  // Returns random extents from 1 to `most`.
  Dims shape(int64_t rank, int64_t most = 4);
  // Returns a random set of axes, at least one.
  Ints axes(int64_t rank);

  // A differentiable f64 input: distinct values spread evenly over [low, high], in random order, none at 0.
  Tensor x(Dims shape, double low = -2, double high = 2);
  // A constant array of the same kind, through which nothing is differentiated.
  Tensor fixed(Dims shape, double low = -2, double high = 2);
  Tensor indices(Dims shape, int64_t limit);

  // Returns the largest difference between `gradients` of a scalar loss over `results` and finite differences, relative
  // to the largest element of the gradient. With order 2 the squared norm of the gradient is differentiated in the same
  // way.
  double relative_error(const std::vector<Tensor>& results, int order = 1);

 private:
  std::vector<double> spread_values(const Dims& shape, double low, double high);
  double value(const Tensor& scalar, const Bindings& bindings) const;
  std::vector<double> differences(const Tensor& loss, const std::string& name);

  std::mt19937 random_;
  std::vector<Tensor> inputs_;
  Bindings bindings_;
  int made_ = 0;
};

}  // namespace kb::test
