// Orthogonalised matrices against their singular values, and rules of matrices against loops over doubles.
#include "optim/matrix_rules.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/functions.h"
#include "graph/interpreter.h"
#include "tests/optim/rule_run.h"
#include "tests/support/says.h"

namespace kb::matrix_rules_test {
namespace {

using test::Layer, test::RuleRun, test::says, test::Vector;

double noise(int64_t i) {
  return std::sin(3.7 * static_cast<double>(i) + 0.2) + 0.3 * std::cos(0.9 * static_cast<double>(i));
}

struct Matrix {
  size_t rows = 0, columns = 0;
  Vector values = {};

  double& at(size_t r, size_t c) { return values[r * columns + c]; }
  double at(size_t r, size_t c) const { return values[r * columns + c]; }
};

Matrix zeros(size_t rows, size_t columns) { return {rows, columns, Vector(rows * columns, 0)}; }

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c = zeros(a.rows, b.columns);
  for (size_t i = 0; i < c.rows; ++i)
    for (size_t j = 0; j < c.columns; ++j)
      for (size_t k = 0; k < a.columns; ++k) c.at(i, j) += a.at(i, k) * b.at(k, j);
  return c;
}

Matrix transposed(const Matrix& a) {
  Matrix t = zeros(a.columns, a.rows);
  for (size_t r = 0; r < a.rows; ++r)
    for (size_t c = 0; c < a.columns; ++c) t.at(c, r) = a.at(r, c);
  return t;
}

double frobenius(const Vector& values) {
  double squares = 0;
  for (const double x : values) squares += x * x;
  return std::sqrt(squares);
}

// Returns an orthogonal matrix, the reflection at the plane that a vector of noise is normal to.
Matrix reflection(size_t size, int64_t salt) {
  Vector normal;
  for (size_t i = 0; i < size; ++i) normal.push_back(noise(static_cast<int64_t>(i) + salt));
  const double square = frobenius(normal) * frobenius(normal);
  Matrix q = zeros(size, size);
  for (size_t r = 0; r < size; ++r)
    for (size_t c = 0; c < size; ++c) q.at(r, c) = (r == c ? 1.0 : 0.0) - 2 * normal[r] * normal[c] / square;
  return q;
}

// Returns U S V^T for the singular values, as many as the shorter side has elements.
Matrix with_singular_values(size_t rows, size_t columns, const Vector& values) {
  Matrix s = zeros(rows, columns);
  for (size_t i = 0; i < values.size(); ++i) s.at(i, i) = values[i];
  return product(product(reflection(rows, 11), s), reflection(columns, 23));
}

// What five steps make of a singular value: the polynomial of Jordan et al. 2024, five times.
double after_steps(double x) {
  for (int step = 0; step < 5; ++step) x = 3.4445 * x - 4.7750 * x * x * x + 2.0315 * std::pow(x, 5);
  return x;
}

Vector interpreted(const Vector& values, const Dims& shape) {
  Graph graph("orthogonal");
  const Tensor x = input(graph, "x", DType::f64, shape);
  const Value result = orthogonalised(x).value();
  return interpret_values(graph, {{"x", {{DType::f64, shape, ""}, values}}}, std::vector{result})[0].data;
}

// One step of the code of Jordan et al. 2024, for a matrix that is wide or square; a tall one is transposed.
Matrix newton_schulz(const Matrix& given) {
  if (given.rows > given.columns) return transposed(newton_schulz(transposed(given)));
  Matrix x = given;
  const double norm = frobenius(x.values) + 1e-7;
  for (double& value : x.values) value /= norm;
  for (int step = 0; step < 5; ++step) {
    const Matrix a = product(x, transposed(x)), aa = product(a, a);
    Matrix b = a;
    for (size_t i = 0; i < b.values.size(); ++i) b.values[i] = -4.7750 * a.values[i] + 2.0315 * aa.values[i];
    const Matrix bx = product(b, x);
    for (size_t i = 0; i < x.values.size(); ++i) x.values[i] = 3.4445 * x.values[i] + bx.values[i];
  }
  return x;
}

struct MuonOptions {
  double nesterov = 1, update_rms = 0;
};

constexpr double kMomentum = 0.8, kDecay = 0.1;

// Takes a step of the formula on one layer; `mean` is the moving mean of its gradients.
void plain_muon(const Layer& layer, const MuonOptions& options, double eta, const Vector& gradient, Vector& mean,
                Vector& w) {
  const auto rows = static_cast<size_t>(layer.shape[0]), columns = w.size() / rows;
  Matrix ahead{rows, columns, {}};
  for (size_t i = 0; i < w.size(); ++i) {
    mean[i] += (1 - kMomentum) * (gradient[i] - mean[i]);
    ahead.values.push_back(options.nesterov > 0 ? gradient[i] + kMomentum * (mean[i] - gradient[i]) : mean[i]);
  }
  const double r = static_cast<double>(rows), c = static_cast<double>(columns);
  const double scale =
      options.update_rms > 0 ? options.update_rms * std::sqrt(std::max(r, c)) : std::sqrt(std::max(1.0, r / c));
  const Matrix direction = newton_schulz(ahead);
  const double decay = layer.role == Role::weight ? kDecay : 0;
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = (1 - eta * decay) * w[i] - eta * layer.rate * scale * direction.values[i];
}

std::vector<Layer> matrices() {
  std::vector<Layer> layers = {{.name = "wide", .shape = {3, 5}},
                               {.name = "tall", .shape = {5, 3}},
                               {.name = "also_wide", .rate = 0.25, .shape = {3, 5}},
                               {.name = "filter", .shape = {4, 2, 3, 3}},
                               {.name = "table", .role = Role::norm_scale, .shape = {2, 2}}};
  int64_t salt = 0;
  for (Layer& layer : layers)
    for (int64_t i = 0; i < element_count(layer.shape); ++i) layer.values.push_back(noise(100 * ++salt));
  return layers;
}

std::vector<Vector> gradients_at(int64_t step, const std::vector<Layer>& layers) {
  std::vector<Vector> gradients;
  for (const Layer& layer : layers) {
    Vector& gradient = gradients.emplace_back();
    for (size_t i = 0; i < layer.values.size(); ++i)
      gradient.push_back(noise(static_cast<int64_t>(i * (gradients.size() + 2)) + 17 * step));
  }
  return gradients;
}

double rate_at(int64_t step) { return 0.02 * static_cast<double>(step + 1); }

// Returns the largest difference of an element of a layer after five steps.
double difference(const MuonOptions& options, Precision precision) {
  CompileOptions compiling = RuleRun::f64_options();
  compiling.precision = precision;
  const std::vector<Layer> layers = matrices();
  RuleRun run("muon",
              {{"momentum", kMomentum},
               {"weight_decay", kDecay},
               {"nesterov", options.nesterov},
               {"update_rms", options.update_rms}},
              layers, compiling);
  std::vector<Vector> w, mean;
  for (const Layer& layer : layers) {
    w.push_back(layer.values);
    mean.emplace_back(layer.values.size(), 0.0);
  }
  for (int64_t step = 0; step < 5; ++step) {
    const std::vector<Vector> gradients = gradients_at(step, layers);
    run.step(rate_at(step), gradients);
    for (size_t l = 0; l < layers.size(); ++l)
      plain_muon(layers[l], options, rate_at(step), gradients[l], mean[l], w[l]);
  }
  double most = 0;
  for (size_t l = 0; l < layers.size(); ++l) {
    const Vector got = run[layers[l].name];
    for (size_t i = 0; i < got.size(); ++i) most = std::max(most, std::abs(got[i] - w[l][i]));
  }
  return most;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(matrix_rules)

BOOST_AUTO_TEST_CASE(singular_values_come_near_1_and_vectors_stay) {
  for (const auto& [rows, columns] : {std::pair<size_t, size_t>{4, 6}, {6, 4}, {4, 4}}) {
    const Vector values = {2.5, 0.04, 1, 0.3};
    const double norm = frobenius(values) + 1e-7;
    Vector made;
    for (const double value : values) made.push_back(after_steps(value / norm));
    for (const double value : made) BOOST_TEST((value > 0.68 && value < 1.21), value);
    const Matrix given = with_singular_values(rows, columns, values);
    const Vector expected = with_singular_values(rows, columns, made).values;
    const Vector got = interpreted(given.values, {1, static_cast<int64_t>(rows), static_cast<int64_t>(columns)});
    for (size_t i = 0; i < got.size(); ++i) BOOST_TEST(std::abs(got[i] - expected[i]) < 1e-9);
  }
}

BOOST_AUTO_TEST_CASE(each_matrix_of_a_batch_is_as_alone_and_zeros_stay) {
  const Vector first = with_singular_values(2, 3, {3, 1}).values,
               second = with_singular_values(2, 3, {1e-3, 5e-4}).values;
  Vector all = first;
  all.insert(all.end(), second.begin(), second.end());
  all.resize(18, 0.0);
  const Vector got = interpreted(all, {3, 2, 3}), alone = interpreted(second, {1, 2, 3});
  for (size_t i = 0; i < 6; ++i) {
    BOOST_TEST(got[6 + i] == alone[i]);
    BOOST_TEST(got[12 + i] == 0.0);
  }
}

BOOST_AUTO_TEST_CASE(five_steps_are_those_of_a_plain_loop) {
  for (const MuonOptions& options : {MuonOptions{}, {.nesterov = 0}, {.update_rms = 0.2}})
    BOOST_TEST(difference(options, Precision::f64) < 1e-12);
  BOOST_TEST(difference({}, Precision::f32) < 2e-6);
}

// Products of bf16 have 8 bits, of which a step of 0.1 leaves a part; the parameters themselves stay in f32.
BOOST_AUTO_TEST_CASE(bf16_rounds_the_matrices_and_no_parameter) {
  BOOST_TEST(difference({}, Precision::bf16) < 1e-2);
  CompileOptions options = RuleRun::f64_options();
  options.precision = Precision::bf16;
  const std::vector<Layer> layers = {{.name = "w", .values = {1 + 0x1p-20, 0.1f, -3, 0.3f}, .shape = {2, 2}}};
  RuleRun run("muon", {}, layers, options);
  run.step(0.1, {{0, 0, 0, 0}});
  BOOST_TEST(run["w"] == layers[0].values);
}

BOOST_AUTO_TEST_CASE(a_parameter_that_is_no_matrix_is_refused) {
  const auto run = [] { RuleRun("muon", {}, {{.name = "w", .values = {1, 2}}}); };
  BOOST_CHECK_EXCEPTION(run(), Error,
                        says("parameter \"w\" is none", "two axes or more", "[2]", "a group of the matrices"));
}

BOOST_AUTO_TEST_CASE(a_function_of_matrices_keeps_their_shape) {
  const Optimizer turned{"turned", "for tests", [](UpdateContext& c) {
                           return c.matrices(c.gradient, [](Tensor x) { return transpose(x, {0, 2, 1}); });
                         }};
  const auto run = [&] { RuleRun(turned, {}, {{.name = "w", .values = {1, 2}, .shape = {1, 2}}}); };
  BOOST_CHECK_EXCEPTION(run(), Error, says("function of matrices", "[1, 1, 2]", "[1, 2, 1]"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::matrix_rules_test
