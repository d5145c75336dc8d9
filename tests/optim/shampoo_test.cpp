// Shampoo: inverse roots and whole steps against eigenvalues, closed forms, blocks, precisions, refusals.
#include "optim/shampoo.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/functions.h"
#include "graph/interpreter.h"
#include "tests/optim/plain_shampoo.h"
#include "tests/optim/rule_run.h"
#include "tests/support/says.h"

namespace kb::shampoo_test {
namespace {

using test::Layer, test::PlainShampoo, test::RuleRun, test::says, test::ShampooNumbers, test::Vector;

double noise(int64_t i) {
  return std::sin(3.7 * static_cast<double>(i) + 0.2) + 0.3 * std::cos(0.9 * static_cast<double>(i));
}

Vector noises(int64_t count, int64_t salt) {
  Vector values;
  for (int64_t i = 0; i < count; ++i) values.push_back(noise(i + salt));
  return values;
}

double largest(const Vector& values) {
  double most = 0;
  for (const double x : values) most = std::max(most, std::abs(x));
  return most;
}

double largest_difference(const Vector& a, const Vector& b) {
  BOOST_REQUIRE(a.size() == b.size());
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// Returns the sum of `rank` outer products; the norm of each vector is a tenth of the one before it.
Vector covariance(size_t side, size_t rank) {
  Vector matrix(side * side, 0);
  for (size_t r = 0; r < rank; ++r)
    for (size_t i = 0; i < side; ++i)
      for (size_t j = 0; j < side; ++j)
        matrix[i * side + j] += noise(static_cast<int64_t>(17 * r + i)) * noise(static_cast<int64_t>(17 * r + j)) *
                                std::pow(0.01, static_cast<double>(r));
  return matrix;
}

Vector rooted(const Vector& matrices, int64_t number, int64_t side, double ridge) {
  Graph graph("root");
  const Tensor x = input(graph, "x", DType::f64, {number, side, side}), r = scalar_input(graph, "ridge", DType::f64);
  const Value result = inverse_fourth_root(x, r).value();
  return interpret_values(
             graph,
             {{"x", {{DType::f64, {number, side, side}, ""}, matrices}}, {"ridge", {{DType::f64, {}, ""}, {ridge}}}},
             std::vector{result})[0]
      .data;
}

std::vector<Layer> layers_of(std::vector<Layer> layers) {
  int64_t salt = 0;
  for (Layer& layer : layers) layer.values = noises(element_count(layer.shape), 100 * ++salt);
  return layers;
}

std::vector<Layer> odd_layers() {
  return layers_of({{.name = "wide", .shape = {3, 5}},
                    {.name = "tall", .shape = {5, 3}},
                    {.name = "also_wide", .rate = 0.25, .shape = {3, 5}},
                    {.name = "filter", .shape = {4, 2, 3, 3}},
                    {.name = "row", .shape = {1, 7}},
                    {.name = "table", .role = Role::norm_scale, .shape = {2, 2}}});
}

std::vector<Vector> gradients_at(int64_t step, const std::vector<Layer>& layers) {
  std::vector<Vector> gradients;
  for (const Layer& layer : layers)
    gradients.push_back(noises(std::ssize(layer.values), 31 * step + 7 * std::ssize(gradients)));
  return gradients;
}

double rate_at(int64_t step) { return 0.002 * static_cast<double>(step + 1); }

// Returns the largest difference of an element of a layer to the oracle's after some steps.
double difference(const ShampooNumbers& numbers, Precision precision, const std::vector<Layer>& layers, int64_t steps) {
  CompileOptions options = RuleRun::f64_options();
  options.precision = precision;
  RuleRun run("shampoo", numbers.named(), layers, options);
  std::vector<PlainShampoo> plain;
  for (const Layer& layer : layers) plain.emplace_back(layer, numbers);
  for (int64_t step = 0; step < steps; ++step) {
    const std::vector<Vector> gradients = gradients_at(step, layers);
    run.step(rate_at(step), gradients);
    for (size_t l = 0; l < layers.size(); ++l) plain[l].step(rate_at(step), gradients[l]);
  }
  double most = 0;
  for (size_t l = 0; l < layers.size(); ++l)
    most = std::max(most, largest_difference(run[layers[l].name], plain[l].parameter()));
  return most;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(shampoo)

// The rank of 1 leaves eigenvalues that are the ridge alone, the least that the iterations meet.
BOOST_AUTO_TEST_CASE(inverse_roots_are_those_of_the_eigenvalues) {
  for (const size_t side : {1u, 2u, 5u, 17u})
    for (const size_t rank : {size_t{1}, size_t{3}, side})
      for (const double ridge : {1e-6, 1e-3, 0.999}) {
        const Vector matrix = covariance(side, std::min(rank, side));
        const Vector got = rooted(matrix, 1, static_cast<int64_t>(side), ridge);
        const Vector expected = test::plain_fourth_root(matrix, ridge);
        BOOST_TEST(largest_difference(got, expected) < 1e-8 * largest(expected), side << " " << rank << " " << ridge);
      }
}

BOOST_AUTO_TEST_CASE(each_root_of_a_batch_is_as_alone_whatever_its_scale) {
  Vector both = covariance(3, 2), small = both;
  for (double& x : small) x *= 1e-20;
  both.insert(both.end(), small.begin(), small.end());
  const Vector got = rooted(both, 2, 3, 1e-4), alone = rooted(small, 1, 3, 1e-4);
  for (size_t i = 0; i < 9; ++i) {
    BOOST_TEST(got[9 + i] == alone[i]);
    BOOST_TEST(got[9 + i] == got[i] * 1e5, boost::test_tools::tolerance(1e-9));
  }
}

BOOST_AUTO_TEST_CASE(ten_steps_are_those_of_the_eigenvalues) {
  const ShampooNumbers numbers{.beta1 = 0.8, .beta2 = 0.97, .epsilon = 1e-3, .weight_decay = 0.1, .ridge = 1e-5};
  BOOST_TEST(difference(numbers, Precision::f64, odd_layers(), 10) < 1e-9);
  BOOST_TEST(difference({}, Precision::f64, odd_layers(), 3) < 1e-9);
  BOOST_TEST(difference(numbers, Precision::f32, odd_layers(), 10) < 2e-5);
}

// Sides of 130 and 129 make two blocks each, the second of 129 one shorter than the first.
BOOST_AUTO_TEST_CASE(a_side_above_the_limit_is_cut_into_blocks) {
  const std::vector<Layer> layers =
      layers_of({{.name = "wide", .shape = {2, 130}}, {.name = "tall", .shape = {129, 3}}});
  BOOST_TEST(difference({.ridge = 1e-4}, Precision::f64, layers, 3) < 1e-9);
  RuleRun run("shampoo", {}, layers);
  BOOST_TEST(run["left_covariance.wide"].size() == 2u * 2 * 2);
  BOOST_TEST(run["right_covariance.wide"].size() == 2u * 65 * 65);
  BOOST_TEST(run["left_covariance.tall"].size() == 2u * 65 * 65);
}

// Under diagonal gradients the covariances are diagonal, so that a step divides by the root of the mean square.
BOOST_AUTO_TEST_CASE(diagonal_gradients_have_a_closed_form) {
  const double beta2 = 0.9, ridge = 1e-6, eta = 0.01, entries[2][2] = {{3, -1}, {-0.5, 2}};
  RuleRun run("shampoo", {{"beta1", 0}, {"beta2", beta2}, {"epsilon", 1e-14}, {"ridge", ridge}},
              {{.name = "w", .values = {0, 0, 0, 0}, .shape = {2, 2}}});
  double mean[2] = {}, w[2] = {};
  for (int step = 0; step < 2; ++step) {
    const double* g = entries[step];
    run.step(eta, {{g[0], 0, 0, g[1]}});
    double direction[2], sizes = 0, length = 0;
    for (int i = 0; i < 2; ++i) mean[i] += (1 - beta2) * (g[i] * g[i] - mean[i]);
    const double scale = std::pow(std::pow(mean[0], 8) + std::pow(mean[1], 8), 1.0 / 8);
    for (int i = 0; i < 2; ++i) {
      direction[i] = g[i] / std::sqrt(mean[i] + ridge * scale);
      sizes += g[i] * g[i] / (mean[i] / (1 - std::pow(beta2, step + 1)));
      length += direction[i] * direction[i];
    }
    for (int i = 0; i < 2; ++i) w[i] -= eta * std::sqrt(sizes / length) * direction[i];
  }
  const Vector got = run["w"];
  BOOST_TEST(got[0] == w[0], boost::test_tools::tolerance(1e-9));
  BOOST_TEST(got[3] == w[1], boost::test_tools::tolerance(1e-9));
  BOOST_TEST(got[1] == 0.0);
  BOOST_TEST(got[2] == 0.0);
}

// L = G G^T and R = G^T G give L^(-1/4) G R^(-1/4) = U V^T (Bernstein and Newhouse 2024, arXiv 2409.20325,
// section 2.2). RMSprop's first step has elements of 1, so that the norm is the root of their number.
BOOST_AUTO_TEST_CASE(the_first_step_is_the_orthogonal_matrix_that_is_nearest) {
  const double c = 0.6, s = 0.8;  // G = U S V^T by rotations, with singular values 3 and 1; U V^T is a rotation, too
  const Vector u = {c, -s, s, c}, v = {s, -c, c, s}, sizes = {3, 1};
  Vector gradient(4, 0), rotation(4, 0);
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 2; ++j)
      for (size_t k = 0; k < 2; ++k) {
        gradient[i * 2 + j] += u[i * 2 + k] * sizes[k] * v[j * 2 + k];
        rotation[i * 2 + j] += u[i * 2 + k] * v[j * 2 + k];
      }
  RuleRun run("shampoo", {}, {{.name = "w", .values = {0, 0, 0, 0}, .shape = {2, 2}}});
  run.step(0.1, {gradient});
  const Vector got = run["w"];
  for (size_t i = 0; i < 4; ++i) BOOST_TEST(std::abs(got[i] + 0.1 * std::sqrt(2.0) * rotation[i]) < 1e-6);
}

// The products are of f32 numbers under bf16 too; those of bf16 would leave a difference of 1e-2.
BOOST_AUTO_TEST_CASE(a_low_precision_leaves_the_roots_in_f32) {
  const ShampooNumbers numbers{.beta2 = 0.97, .ridge = 1e-5};
  BOOST_TEST(difference(numbers, Precision::bf16, odd_layers(), 5) < 2e-5);
}

BOOST_AUTO_TEST_CASE(gradients_of_zero_and_tiny_ones_leave_finite_numbers) {
  CompileOptions options = RuleRun::f64_options();
  options.precision = Precision::f32;
  const Layer w{.name = "w", .values = {1, 2, 3, 4, 5, 6}, .shape = {2, 3}};
  RuleRun run("shampoo", {}, {w}, options);
  run.step(0.1, {Vector(6, 0)});
  BOOST_TEST(run["w"] == w.values);
  Vector tiny;
  for (const double x : noises(6, 3)) tiny.push_back(1e-16 * x);
  run.step(0.1, {tiny});
  for (const double x : run["w"]) BOOST_TEST(std::isfinite(x));
  for (const double x : run["right_covariance.w"]) BOOST_TEST(std::isfinite(x));
}

BOOST_AUTO_TEST_CASE(what_it_does_not_take_is_refused) {
  const auto vector = [] { RuleRun("shampoo", {}, {{.name = "w", .values = {1, 2}}}); };
  BOOST_CHECK_EXCEPTION(vector(), Error, says("parameter \"w\" is none", "two axes or more", "[2]"));
  const auto ridge = [] { hyper_values(test::optimizer_named("shampoo"), {{{"ridge", 1e-7}}}); };
  BOOST_CHECK_EXCEPTION(ridge(), Error, says("optimizer shampoo: ridge: expected a number in [1e-06, 1), got 1e-07"));
}

BOOST_AUTO_TEST_CASE(a_slot_of_matrices_is_set_once_in_its_shape) {
  const auto run = [](const MatrixSlotFunction& f) {
    static const MatrixSlotFunction* function;
    function = &f;
    const Optimizer own{"own", "for tests",
                        [](UpdateContext& c) { return c.matrices_with_slots(c.gradient, *function); }};
    RuleRun(own, {}, {{.name = "w", .values = {1, 2}, .shape = {1, 2}}});
  };
  BOOST_CHECK_EXCEPTION(run([](MatrixBatch& b) {
                          return b.values + b.slot("s", {1, 2});
                        }),
                        Error, says("reads its slot 's.w' but never sets it"));
  BOOST_CHECK_EXCEPTION(run([](MatrixBatch& b) {
                          for (int i = 0; i < 2; ++i) b.set_slot("s", b.values + b.slot("s", {1, 2}));
                          return b.values;
                        }),
                        Error, says("sets its slot 's' twice"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::shampoo_test
