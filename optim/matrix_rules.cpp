#include "optim/matrix_rules.h"

#include <algorithm>
#include <cmath>

#include "graph/functions.h"
#include "optim/update_rules.h"

namespace kb {
namespace {

constexpr int kSteps = 5;
constexpr double kLinear = 3.4445, kCubic = -4.7750, kQuintic = 2.0315;  // a, b and c of Jordan et al. 2024
constexpr double kLeastNorm = 1e-7;

// Returns the length of a step by its matrix's shape.
Tensor scale_of(UpdateContext& c, const Tensor& matrices) {
  const auto rows = static_cast<double>(matrices.size(1)), columns = static_cast<double>(matrices.size(2));
  const Tensor size = c.scalar("update_rms");
  return select(size > 0.0, size * std::sqrt(std::max(rows, columns)), std::sqrt(std::max(1.0, rows / columns)));
}

}  // namespace

// The shorter side is that of X X^T, or of X^T X.
Tensor orthogonalised(Tensor matrices) {
  const bool is_tall = matrices.size(1) > matrices.size(2);
  const Tensor norm = sqrt(sum(matrices * matrices, {1, 2}));
  Tensor x = matrices / (reshape(norm, {matrices.size(0), 1, 1}) + kLeastNorm);
  for (int step = 0; step < kSteps; ++step) {
    const Tensor square = matmul(x, x, is_tall, !is_tall);
    const Tensor factor = kCubic * square + kQuintic * matmul(square, square);
    x = kLinear * x + (is_tall ? matmul(x, factor) : matmul(factor, x));
  }
  return x;
}

Tensor muon_update(UpdateContext& c) {
  const Tensor fresh = c.scalar("one_minus_momentum") * c.gradient;
  const Tensor mean = c.scalar("momentum") * c.slot("momentum_buffer") + fresh;
  c.set_slot("momentum_buffer", mean);
  const Tensor ahead = select(c.scalar("nesterov") > 0.0, c.scalar("momentum") * mean + fresh, mean);
  const Tensor step = c.matrices(ahead, [&](Tensor x) { return scale_of(c, x) * orthogonalised(x); });
  return decayed_parameter(c) - c.scalar("learning_rate") * step;
}

}  // namespace kb
