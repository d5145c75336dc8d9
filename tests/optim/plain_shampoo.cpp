#include "tests/optim/plain_shampoo.h"

#include <algorithm>
#include <cmath>

#include "optim/shampoo.h"

namespace kb::test {
namespace {

// A row-major matrix.
struct Matrix {
  int64_t rows, columns;
  Vector values;

  Matrix(int64_t height, int64_t width) : rows(height), columns(width), values(static_cast<size_t>(height * width)) {}
  double& at(int64_t row, int64_t column) { return values[static_cast<size_t>(row * columns + column)]; }
  double at(int64_t row, int64_t column) const { return values[static_cast<size_t>(row * columns + column)]; }
};

Matrix square(const Vector& values) {
  const int64_t side = std::lround(std::sqrt(static_cast<double>(values.size())));
  Matrix matrix(side, side);
  matrix.values = values;
  return matrix;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows, b.columns);
  for (int64_t row = 0; row < a.rows; ++row)
    for (int64_t i = 0; i < a.columns; ++i)
      for (int64_t column = 0; column < b.columns; ++column) result.at(row, column) += a.at(row, i) * b.at(i, column);
  return result;
}

Matrix transposed(const Matrix& a) {
  Matrix result(a.columns, a.rows);
  for (int64_t row = 0; row < a.rows; ++row)
    for (int64_t column = 0; column < a.columns; ++column) result.at(column, row) = a.at(row, column);
  return result;
}

// Turns rows p and q of a matrix by an angle.
void turn_rows(Matrix& m, int64_t p, int64_t q, double cosine, double sine) {
  for (int64_t i = 0; i < m.columns; ++i) {
    const double x = m.at(p, i), y = m.at(q, i);
    m.at(p, i) = cosine * x - sine * y;
    m.at(q, i) = sine * x + cosine * y;
  }
}

// The eigenvalues of a symmetric matrix, and their vectors as rows.
struct Spectral {
  Vector values;
  Matrix vectors;
};

// Jacobi's method (Golub and Van Loan 2013, section 8.5): turns the elements beside the diagonal to 0, one after the
// other, until a round leaves nothing of them.
Spectral spectral_of(Matrix a) {
  const int64_t n = a.rows;
  Spectral found{Vector(static_cast<size_t>(n)), Matrix(n, n)};
  for (int64_t i = 0; i < n; ++i) found.vectors.at(i, i) = 1;
  for (bool turned = true; turned;) {
    turned = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        const double beside = a.at(p, q);
        if (std::abs(beside) <= 1e-17 * std::sqrt(std::abs(a.at(p, p) * a.at(q, q))) || std::abs(beside) < 1e-300)
          continue;
        turned = true;
        const double ratio = (a.at(q, q) - a.at(p, p)) / (2 * beside);
        const double tangent = (ratio < 0 ? -1 : 1) / (std::abs(ratio) + std::hypot(1.0, ratio));
        const double cosine = 1 / std::hypot(1.0, tangent), sine = tangent * cosine;
        turn_rows(a, p, q, cosine, sine);
        for (int64_t i = 0; i < n; ++i) {
          const double x = a.at(i, p), y = a.at(i, q);
          a.at(i, p) = cosine * x - sine * y;
          a.at(i, q) = sine * x + cosine * y;
        }
        a.at(p, q) = a.at(q, p) = 0;
        turn_rows(found.vectors, p, q, cosine, sine);
      }
    }
  }
  for (int64_t i = 0; i < n; ++i) found.values[static_cast<size_t>(i)] = a.at(i, i);
  return found;
}

Matrix fourth_root(const Vector& values, double ridge) {
  Spectral eigen = spectral_of(square(values));
  for (double& value : eigen.values) value = std::max(value, 0.0);
  const double most = *std::ranges::max_element(eigen.values), scale = most > 0 ? most : 1;
  double sum = 0;
  for (const double value : eigen.values) sum += std::pow(value / scale, 8);
  const double norm = scale * std::pow(sum, 1.0 / 8);
  Matrix scaled = eigen.vectors;
  for (int64_t i = 0; i < scaled.rows; ++i)
    for (int64_t j = 0; j < scaled.columns; ++j)
      scaled.at(i, j) *= std::pow(eigen.values[static_cast<size_t>(i)] + ridge * norm, -0.25);
  return product(transposed(eigen.vectors), scaled);
}

double norm_of(const Vector& values) {
  double squares = 0;
  for (const double x : values) squares += x * x;
  return std::sqrt(squares);
}

// Moves an average towards a value by a share of their distance.
void add_share(Vector& average, const Matrix& value, double share) {
  for (size_t i = 0; i < average.size(); ++i) average[i] += share * (value.values[i] - average[i]);
}

}  // namespace

Vector plain_fourth_root(const Vector& matrix, double ridge) { return fourth_root(matrix, ridge).values; }

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
  Vector result(gradient.size());
  const auto place = [&](const Block& block, int64_t row, int64_t column) {
    return static_cast<size_t>((block.row + row) * columns_ + block.column + column);
  };
  for (Block& block : blocks_) {
    Matrix g(block.rows, block.columns);
    for (int64_t r = 0; r < block.rows; ++r)
      for (int64_t c = 0; c < block.columns; ++c) g.at(r, c) = gradient[place(block, r, c)];
    add_share(block.left, product(g, transposed(g)), 1 - numbers_.beta2);
    add_share(block.right, product(transposed(g), g), 1 - numbers_.beta2);
    const Matrix found =
        product(product(fourth_root(block.left, numbers_.ridge), g), fourth_root(block.right, numbers_.ridge));
    for (int64_t r = 0; r < block.rows; ++r)
      for (int64_t c = 0; c < block.columns; ++c) result[place(block, r, c)] = found.at(r, c);
  }
  return result;
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
