#include "optim/shampoo.h"

#include <cmath>

#include "graph/functions.h"
#include "optim/update_rules.h"

namespace kb {
namespace {

constexpr double kPower = 4;           // p of the inverse p-th root
constexpr int kIterations = 20;        // enough for eigenvalues from 1e-6 of the greatest on, in f64
constexpr double kLeastScale = 1e-30;  // a matrix of zeros is divided by this in place of its trace

// How a matrix is cut: the number of blocks along each side, and the sides of a block.
struct Blocks {
  int64_t down = 1, across = 1, rows = 1, columns = 1;
  int64_t count() const { return down * across; }
};

Blocks blocks_of(const Tensor& matrices) {
  const auto parts = [](int64_t length, int64_t each) { return (length + each - 1) / each; };
  const int64_t rows = matrices.size(1), columns = matrices.size(2);
  const int64_t down = parts(rows, kShampooSide), across = parts(columns, kShampooSide);
  return {down, across, parts(rows, down), parts(columns, across)};
}

// Takes (number, rows, columns); returns (number * blocks, rows and columns of a block). Zeros fill the last ones: they
// add eigenvalues 0 to the covariances, and are zeros in the preconditioned gradient.
Tensor cut(Tensor matrices, const Blocks& b) {
  const int64_t number = matrices.size(0);
  const Ints more{0, b.down * b.rows - matrices.size(1), b.across * b.columns - matrices.size(2)};
  const Tensor whole = more == Ints{0, 0, 0} ? matrices : pad(matrices, {0, 0, 0}, more);
  const Tensor parts = reshape(whole, {number, b.down, b.rows, b.across, b.columns});
  return reshape(transpose(parts, {0, 1, 3, 2, 4}), {number * b.count(), b.rows, b.columns});
}

// Puts blocks together to matrices of the shape, (number, rows, columns).
Tensor joined(Tensor blocks, const Blocks& b, const Dims& shape) {
  const Tensor parts = reshape(blocks, {shape[0], b.down, b.across, b.rows, b.columns});
  const Tensor whole = reshape(transpose(parts, {0, 1, 3, 2, 4}), {shape[0], b.down * b.rows, b.across * b.columns});
  return slice(whole, {0, 0, 0}, shape, {1, 1, 1});
}

// Returns the identity, (1, side, side).
Tensor identity(const Tensor& like, int64_t side) {
  const Tensor place = iota(like.graph(), DType::i32, side);
  const Tensor is_diagonal = eq(reshape(place, {1, side, 1}), reshape(place, {1, 1, side}));
  return cast(is_diagonal, like.dtype());
}

// Returns a number a matrix, (number, 1, 1).
Tensor total(Tensor matrices) { return reshape(sum(matrices, {1, 2}), {matrices.size(0), 1, 1}); }

Tensor fourth_root(Tensor x) { return sqrt(sqrt(x)); }

// Returns the new covariances of the blocks, (number * blocks, side, side), kept in a slot of each matrix.
Tensor covariances(UpdateContext& c, MatrixBatch& batch, const char* slot, const Blocks& b, Tensor products) {
  const int64_t side = products.size(1), number = batch.values.size(0);
  const Tensor before = reshape(batch.slot(slot, {b.count(), side, side}), products.shape());
  const Tensor after = c.scalar("beta2") * before + c.scalar("one_minus_beta2") * products;
  batch.set_slot(slot, reshape(after, {number, b.count(), side, side}));
  return after;
}

Tensor preconditioned(UpdateContext& c, MatrixBatch& batch) {
  const Blocks b = blocks_of(batch.values);
  const Tensor g = cut(batch.values, b), ridge = c.scalar("ridge");
  const Tensor left = covariances(c, batch, "left_covariance", b, exact_matmul(g, g, false, true));
  const Tensor right = covariances(c, batch, "right_covariance", b, exact_matmul(g, g, true, false));
  const Tensor half = exact_matmul(inverse_fourth_root(left, ridge), g);
  return joined(exact_matmul(half, inverse_fourth_root(right, ridge)), b, batch.values.shape());
}

}  // namespace

// Coupled Newton iterations (Guo and Higham 2006, "A Schur-Newton method for the matrix pth root and its inverse", eq.
// 3.2; Anil et al. 2020): from M = z A and X = z^(1/p) I, T = ((p + 1) I - M) / p, X <- X T, M <- T^p M. M comes near
// I, so that X comes near A^(-1/p). z = (p + 1) / (2 |A|) makes all eigenvalues of M lie in the region of convergence,
// (0, p + 1); a small one grows by ((p + 1) / p)^p = 2.44 in each iteration, until the convergence is quadratic.
Tensor inverse_fourth_root(Tensor matrices, Tensor ridge) {
  const Tensor one = identity(matrices, matrices.size(1));
  const Tensor trace = maximum(total(matrices * one), kLeastScale);
  const Tensor a = matrices / trace;
  const Tensor square = exact_matmul(a, a), fourth = exact_matmul(square, square);
  // A matrix of zeros has the norm 0 here. All others have eigenvalues of the sum 1, so a norm of 1 / side and more.
  const Tensor norm = maximum(sqrt(fourth_root(total(fourth * fourth))), 0.5 / static_cast<double>(kShampooSide));
  constexpr double kStart = (kPower + 1) / 2;
  Tensor m = kStart * ((a / norm + ridge * one) / (1.0 + ridge));
  Tensor x;
  for (int i = 0; i < kIterations; ++i) {
    const Tensor t = ((kPower + 1) / kPower) * one - (1 / kPower) * m;
    x = i == 0 ? std::pow(kStart, 1 / kPower) * t : exact_matmul(x, t);
    const Tensor squared = exact_matmul(t, t);
    m = exact_matmul(exact_matmul(squared, squared), m);
  }
  return x / fourth_root(trace * norm * (1.0 + ridge));
}

Tensor shampoo_update(UpdateContext& c) {
  const Tensor direction =
      c.matrices_with_slots(c.gradient, [&](MatrixBatch& batch) { return preconditioned(c, batch); });
  const Tensor length = c.norm(c.gradient / root_mean_square(c, c.gradient)), own = c.norm(direction);
  const Tensor grafted = c.spread(select(own > 0.0, length / own, 0.0)) * direction;
  const Tensor step = (c.scalar("learning_rate") / c.scalar("bias1")) * mean_of(c, grafted);
  return decayed_parameter(c) - step;
}

}  // namespace kb
