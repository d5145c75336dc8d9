#include "tests/optim/plain_shampoo.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "optim/shampoo.h"

namespace kb::test {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const Matrix> square(const Vector& values) {
  const auto side = static_cast<Eigen::Index>(std::lround(std::sqrt(static_cast<double>(values.size()))));
  return {values.data(), side, side};
}

Vector values_of(const Matrix& matrix) { return {matrix.data(), matrix.data() + matrix.size()}; }

Matrix fourth_root(const Matrix& matrix, double ridge) {
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(matrix);
  const Eigen::ArrayXd values = solver.eigenvalues().array().max(0);
  const double scale = values.maxCoeff() > 0 ? values.maxCoeff() : 1;
  const double norm = scale * std::pow((values / scale).pow(8).sum(), 1.0 / 8);
  const Eigen::VectorXd roots = (values + ridge * norm).pow(-0.25).matrix();
  return solver.eigenvectors() * roots.asDiagonal() * solver.eigenvectors().transpose();
}

double norm_of(const Vector& values) {
  double squares = 0;
  for (const double x : values) squares += x * x;
  return std::sqrt(squares);
}

}  // namespace

Vector plain_fourth_root(const Vector& matrix, double ridge) { return values_of(fourth_root(square(matrix), ridge)); }

std::vector<NamedScalar> ShampooNumbers::named() const {
  return {{"beta1", beta1}, {"beta2", beta2}, {"epsilon", epsilon}, {"weight_decay", weight_decay}, {"ridge", ridge}};
}

PlainShampoo::PlainShampoo(const Layer& layer, const ShampooNumbers& numbers)
    : layer_(layer),
      numbers_(numbers),
      rows_(layer.shape.front()),
      columns_(element_count(layer.shape) / rows_),
      w_(layer.values),
      mean_(w_.size(), 0),
      square_(w_.size(), 0) {
  const auto side_of = [](int64_t length) {
    const int64_t parts = (length + kShampooSide - 1) / kShampooSide;
    return (length + parts - 1) / parts;
  };
  const int64_t height = side_of(rows_), width = side_of(columns_);
  for (int64_t row = 0; row < rows_; row += height)
    for (int64_t column = 0; column < columns_; column += width) {
      Block block{row, column, std::min(height, rows_ - row), std::min(width, columns_ - column), {}, {}};
      block.left.assign(static_cast<size_t>(block.rows * block.rows), 0);
      block.right.assign(static_cast<size_t>(block.columns * block.columns), 0);
      blocks_.push_back(std::move(block));
    }
}

Vector PlainShampoo::preconditioned(const Vector& gradient) {
  const Eigen::Map<const Matrix> whole(gradient.data(), rows_, columns_);
  Matrix result(rows_, columns_);
  for (Block& block : blocks_) {
    const Matrix g = whole.block(block.row, block.column, block.rows, block.columns);
    const double share = 1 - numbers_.beta2;
    block.left = values_of(numbers_.beta2 * square(block.left) + share * g * g.transpose());
    block.right = values_of(numbers_.beta2 * square(block.right) + share * g.transpose() * g);
    result.block(block.row, block.column, block.rows, block.columns) =
        fourth_root(square(block.left), numbers_.ridge) * g * fourth_root(square(block.right), numbers_.ridge);
  }
  return values_of(result);
}

void PlainShampoo::step(double eta, const Vector& gradient) {
  ++steps_;
  const Vector direction = preconditioned(gradient);
  Vector first_order;
  for (size_t i = 0; i < w_.size(); ++i) {
    square_[i] += (1 - numbers_.beta2) * (gradient[i] * gradient[i] - square_[i]);
    const double corrected = square_[i] / (1 - std::pow(numbers_.beta2, steps_));
    first_order.push_back(gradient[i] / (std::sqrt(corrected) + numbers_.epsilon));
  }
  const double own = norm_of(direction), graft = own > 0 ? norm_of(first_order) / own : 0;
  const double decay = layer_.role == Role::weight ? numbers_.weight_decay : 0;
  for (size_t i = 0; i < w_.size(); ++i) {
    mean_[i] += (1 - numbers_.beta1) * (graft * direction[i] - mean_[i]);
    const double step = mean_[i] / (1 - std::pow(numbers_.beta1, steps_));
    w_[i] = (1 - eta * decay) * w_[i] - eta * layer_.rate * step;
  }
}

}  // namespace kb::test
