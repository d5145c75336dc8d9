// Shampoo in double, by eigenvalues: what the rule's iterations are compared with.
#pragma once
#include <vector>

#include "tests/optim/rule_run.h"

namespace kb::test {

// Returns (A + ridge s I)^(-1/4) of a symmetric matrix, row-major; s as inverse_fourth_root() has it.
Vector plain_fourth_root(const Vector& matrix, double ridge);

struct ShampooNumbers {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0, ridge = 1e-6;
  std::vector<NamedScalar> named() const;
};

// One layer, whose gradients it gathers from step to step. Blocks at the end of a matrix are shorter here, where the
// rule fills them with zeros.
class PlainShampoo {
 public:
  PlainShampoo(const Layer& layer, const ShampooNumbers& numbers);
  // Takes a step at the rate `eta` of the run.
  void step(double eta, const Vector& gradient);
  const Vector& parameter() const { return w_; }

 private:
  struct Block {
    int64_t row, column, rows, columns;
    Vector left, right;  // covariances
  };
  Vector preconditioned(const Vector& gradient);

  Layer layer_;
  ShampooNumbers numbers_;
  int64_t rows_, columns_;
  std::vector<Block> blocks_;
  Vector w_, mean_, square_;
  double steps_ = 0;
};

}  // namespace kb::test
