// A Draft writes one program of the table of edges: its graph, and the values of its inputs.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "graph/functions.h"
#include "tests/support/edge_programs.h"

namespace kb::test {

using Reals = std::vector<double>;

inline const std::vector<DType> kAllDTypes = tensor_dtypes();
inline constexpr DType kFloats[] = {DType::f64, DType::f32, DType::bf16, DType::f16};

// Returns the special values that a point-wise op or a move may meet, all of them together.
Reals edges(DType dtype);
// Returns multiples of 1/8 in [-4, 4), or integers in [-32, 32) rounded to `dtype`. One in `one_in` of them is special,
// none if `one_in` is 0. Their sums depend on the order of summing by rounding alone.
Reals sprinkled(DType dtype, int64_t count, uint32_t seed, int one_in);
// Returns the difference between 1 and the next number of `dtype`; 0 for integers.
double rounding(DType dtype);
std::string text_of(const Dims& shape);

// A program under way: its graph, and the values of its inputs.
class Draft {
 public:
  Draft(EdgeTable& table, std::string name) : table_(table) { program_.name = std::move(name); }
  Graph& graph() { return program_.graph; }
  CheckOptions& options() { return program_.options; }
  void exact() { program_.exact = true; }

  // given() adds an input, trained() a parameter. `values` are repeated from the first if they are fewer than the
  // elements.
  Tensor given(DType dtype, const Dims& shape, const Reals& values);
  Tensor trained(DType dtype, const Dims& shape, const Reals& values);
  Tensor sprinkle(DType dtype, const Dims& shape, int one_in = 11);
  Tensor trained_sprinkle(DType dtype, const Dims& shape, int one_in = 11);
  void gives(const std::string& name, Tensor x);
  // Makes the tensor of `make` an output, or notes the text with which the shape rules refuse it.
  void tries(const std::string& name, const std::function<Tensor()>& make);
  // Turns the program into a step of plain SGD. The loss is the sum of the float outputs so far, with weights that make
  // gradients differ from each other.
  void trains();
  void done();

 private:
  std::string bind(const char* stem, DType dtype, const Dims& shape, const Reals& values);

  EdgeTable& table_;
  EdgeProgram program_;
  int made_ = 0;
};

// Adds programs of windows, indexed ops, library ops, leaves and composites, with their gradients.
void structured_edges(EdgeTable& table, bool all);

}  // namespace kb::test
