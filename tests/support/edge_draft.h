// A Draft writes one program of the table of edges: its graph, and the values of its inputs.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "graph/functions.h"
#include "tests/support/edge_programs.h"

namespace kb::test {

using Reals = std::vector<double>;

inline constexpr DType kAllDTypes[] = {DType::f64, DType::f32, DType::bf16, DType::f16,
                                       DType::i32, DType::u32, DType::u8,   DType::boolean};
inline constexpr DType kFloats[] = {DType::f64, DType::f32, DType::bf16, DType::f16};

// Everything at once: what a point-wise op or a move may meet.
Reals edges(DType dtype);
// Multiples of 1/8 in [-4, 4), integers in [-32, 32) as `dtype` has them, and one in `one_in` of them special (0:
// none): sums of these depend on their order by rounding alone.
Reals sprinkled(DType dtype, int64_t count, uint32_t seed, int one_in);
// Between 1 and the next number; 0 of integers.
double rounding(DType dtype);
std::string text_of(const Dims& shape);

// A program under way: its graph, and the values of its inputs.
class Draft {
 public:
  Draft(EdgeTable& table, std::string name) : table_(table) { program_.name = std::move(name); }
  Graph& graph() { return program_.graph; }
  CheckOptions& options() { return program_.options; }
  void exact() { program_.exact = true; }

  // An input, a parameter; `values` again from the first where there are fewer than elements.
  Tensor given(DType dtype, const Dims& shape, const Reals& values);
  Tensor trained(DType dtype, const Dims& shape, const Reals& values);
  Tensor sprinkle(DType dtype, const Dims& shape, int one_in = 11);
  Tensor trained_sprinkle(DType dtype, const Dims& shape, int one_in = 11);
  void gives(const std::string& name, Tensor x);
  // `make` gives a tensor that is an output, or the shape rules refuse it.
  void tries(const std::string& name, const std::function<Tensor()>& make);
  // The loss is the sum of what was given out so far, weighted so that no gradient is the same; a step of plain SGD.
  void trains();
  void done();

 private:
  std::string bind(const char* stem, DType dtype, const Dims& shape, const Reals& values);

  EdgeTable& table_;
  EdgeProgram program_;
  int made_ = 0;
};

// Windows, indexed ops, library ops, leaves, composites; each with its gradients.
void structured_edges(EdgeTable& table);

}  // namespace kb::test
