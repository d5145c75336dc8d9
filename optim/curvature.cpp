#include "optim/curvature.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

namespace kb {
namespace {

// A small residual tells that an eigenvalue is near, and not that it is the largest: after a few products a smaller one
// may stand for it.
constexpr int64_t kLeastProducts = 16;

using Vector = std::vector<double>;
using View = Eigen::Map<Eigen::VectorXd>;
using ConstView = Eigen::Map<const Eigen::VectorXd>;

View view(Vector& v) { return {v.data(), std::ssize(v)}; }
ConstView view(std::span<const double> v) { return {v.data(), std::ssize(v)}; }

Vector unit_vector_of_signs(int64_t dimension, uint64_t seed) {
  std::mt19937_64 random(seed);
  Vector v(static_cast<size_t>(dimension));
  const double size = 1 / std::sqrt(static_cast<double>(dimension));
  for (double& x : v) x = random() >> 63 ? size : -size;
  return v;
}

// Takes from `w` its parts along the unit vectors, twice, since the first time rounding leaves some.
void orthogonalise(Vector& w, const std::vector<Vector>& basis) {
  for (int pass = 0; pass < 2; ++pass)
    for (const Vector& v : basis) view(w) -= view(v).dot(view(w)) * view(v);
}

// The matrix in the basis of Lanczos' vectors, which is tridiagonal, and the length of what lies outside of the basis.
struct Tridiagonal {
  Vector diagonal, below;
  double outside = 0;

  // Returns the eigenvalues, in rising order. The residual is the part of the vector's image outside of the basis.
  std::vector<Eigenvalue> eigenvalues() const {
    const Eigen::Index n = std::ssize(diagonal);
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
    solver.computeFromTridiagonal(view(diagonal), view(below));
    std::vector<Eigenvalue> found;
    for (Eigen::Index i = 0; i < n; ++i)
      found.push_back({solver.eigenvalues()[i], outside * std::abs(solver.eigenvectors()(n - 1, i))});
    return found;
  }
};

Spectrum ends_of(const std::vector<Eigenvalue>& rising, const LanczosOptions& options) {
  Spectrum ends{{}, rising.front(), std::ssize(rising)};
  const auto wanted = std::min<int64_t>(options.eigenvalues, std::ssize(rising));
  ends.largest.assign(rising.rbegin(), rising.rbegin() + wanted);
  return ends;
}

bool is_found(const Spectrum& ends, const LanczosOptions& options) {
  const double scale = std::max(std::abs(ends.largest.front().value), std::abs(ends.smallest.value));
  return std::ssize(ends.largest) == options.eigenvalues && std::ranges::all_of(ends.largest, [&](const Eigenvalue& e) {
           return e.residual <= options.tolerance * scale;
         });
}

}  // namespace

Spectrum lanczos(const MatrixProduct& product, int64_t dimension, const LanczosOptions& options) {
  if (dimension < 1 || options.eigenvalues < 1) throw std::invalid_argument("lanczos: expected at least one of each");
  std::vector<Vector> basis = {unit_vector_of_signs(dimension, options.seed)};
  Tridiagonal matrix;
  while (true) {
    Vector next = product(basis.back());
    matrix.diagonal.push_back(view(basis.back()).dot(view(next)));
    orthogonalise(next, basis);
    matrix.outside = view(next).norm();
    const Spectrum ends = ends_of(matrix.eigenvalues(), options);
    const double scale = std::max(std::abs(ends.largest.front().value), std::abs(ends.smallest.value));
    // The basis is the whole space, or one that the matrix maps into itself.
    const bool is_closed = std::ssize(basis) == dimension || matrix.outside <= 1e-12 * scale;
    const bool is_done = std::ssize(basis) >= kLeastProducts && is_found(ends, options);
    if (is_closed || is_done || std::ssize(basis) >= options.most_products) return ends;
    matrix.below.push_back(matrix.outside);
    view(next) /= matrix.outside;
    basis.push_back(std::move(next));
  }
}

void GradientGroups::add(std::span<const double> gradient) {
  Vector& sum = sums_[static_cast<size_t>(minibatches_++ % count())];
  if (gradient.size() != sum.size()) throw std::invalid_argument("GradientGroups: a gradient of another dimension");
  view(sum) += view(gradient);
}

Vector GradientGroups::mean(int64_t group) const {
  Vector mean = sums_.at(static_cast<size_t>(group));
  view(mean) /= static_cast<double>(minibatches_ / count());
  return mean;
}

namespace {

// A quadratic form of the gradient: at G itself, and its mean over the noise of one sample.
struct Form {
  double at_gradient = 0, of_noise = 0;
};

// Returns the form from the products of all pairs of groups without group `left_out`, if there is one.
Form form_of(const Eigen::MatrixXd& products, double group_samples, Eigen::Index left_out = -1) {
  double own = 0, others = 0, count = 0;
  for (Eigen::Index i = 0; i < products.rows(); ++i) {
    if (i == left_out) continue;
    ++count;
    for (Eigen::Index j = 0; j < products.cols(); ++j)
      if (j != left_out) (i == j ? own : others) += products(i, j);
  }
  const double at_gradient = others / count / (count - 1);
  return {at_gradient, group_samples * (own / count - at_gradient)};
}

// The pseudo-values of a form, one for each group that is left out.
struct PseudoForms {
  Vector at_gradient, of_noise;

  PseudoForms(const Eigen::MatrixXd& products, double group_samples) {
    const auto groups = static_cast<double>(products.rows());
    const Form all = form_of(products, group_samples);
    for (Eigen::Index i = 0; i < products.rows(); ++i) {
      const Form rest = form_of(products, group_samples, i);
      at_gradient.push_back(groups * all.at_gradient - (groups - 1) * rest.at_gradient);
      of_noise.push_back(groups * all.of_noise - (groups - 1) * rest.of_noise);
    }
  }
};

// Returns the ratio of a form's noise to its gradient, in which noise is a sum of squares and thus skewed.
Ratio noise_ratio(const Form& form, const PseudoForms& pseudo) {
  return {form.of_noise / form.at_gradient, fieller_of_positive(MeanPair::of(pseudo.of_noise, pseudo.at_gradient))};
}

}  // namespace

CurvatureNoise curvature_noise(const GradientGroups& gradients, int64_t per_minibatch, const MatrixProduct& hessian) {
  const int64_t groups = gradients.count();
  if (groups < 3 || gradients.minibatches() == 0 || gradients.minibatches() % groups != 0)
    throw std::invalid_argument("curvature_noise: expected three groups or more of as many minibatches each");
  std::vector<Vector> means;
  for (int64_t i = 0; i < groups; ++i) means.push_back(gradients.mean(i));
  Eigen::MatrixXd plain(groups, groups), curved(groups, groups);
  for (int64_t j = 0; j < groups; ++j) {
    const Vector product = hessian(means[static_cast<size_t>(j)]);
    for (int64_t i = 0; i < groups; ++i) {
      const Vector& mean = means[static_cast<size_t>(i)];
      plain(i, j) = view(mean).dot(view(means[static_cast<size_t>(j)]));
      curved(i, j) = view(mean).dot(view(product));
    }
  }
  const auto samples = static_cast<double>(gradients.minibatches() / groups * per_minibatch);
  const Form square = form_of(plain, samples), curvature = form_of(curved, samples);
  const PseudoForms squares(plain, samples), curvatures(curved, samples);
  return {
      square.at_gradient,
      square.of_noise,
      curvature.at_gradient,
      curvature.of_noise,
      noise_ratio(square, squares),
      noise_ratio(curvature, curvatures),
      {square.at_gradient / curvature.at_gradient, fieller(MeanPair::of(squares.at_gradient, curvatures.at_gradient))}};
}

}  // namespace kb
