// Tests the curvature and the sharpness of runs' losses: of one in closed form, and of a small net.
#include "recipes/models/run_loss.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "graph/functions.h"
#include "graph/layers.h"
#include "recipes/models/loss_curvature.h"
#include "recipes/models/loss_sharpness.h"
#include "recipes/run/guarded_main.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::run_loss_test {
namespace {

using boost::test_tools::tolerance;
using test::says;

constexpr int64_t kDims = 6, kRows = 1280;

std::vector<float> points() {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> points(static_cast<size_t>(kDims * kRows));
  for (float& x : points) x = normal(random);
  return points;
}

double curvature_of(int64_t i) { return static_cast<double>(i) - 1; }  // -1 to 4

// The loss of a point x is the sum of a_i (w_i - x_i)^2 / 2. Its Hessian is diag(a), its gradient a (w - x).
ModelOutput quadratic_model(Inputs& in) {
  Graph& graph = in.graph();
  std::vector<double> curvatures;
  for (int64_t i = 0; i < kDims; ++i) curvatures.push_back(curvature_of(i));
  const Tensor x = in["x"];
  const Tensor w = parameter(graph, "w", Role::bias, {in.real(), {kDims}, ""}, {InitKind::constant, 1, 0});
  const Tensor apart = broadcast_to(w, x.shape()) - x;
  const Tensor a = constant(graph, in.real(), {1, kDims}, curvatures);
  return {sum(apart * apart * a, {1}) * 0.5, {}};
}

Task quadratic(const TaskRequest&) {
  const auto source = std::make_shared<TableSource>(kRows, std::vector{field_bytes(points())});
  return {.name = "quadratic",
          .fields = {{.name = "x", .dtype = DType::f32, .shape = {kDims}, .in_memory = true}},
          .model = quadratic_model,
          .train = source,
          .test = source};
}

Recipe quadratic_recipe() {
  Recipe recipe;
  recipe.name = "quadratic";
  recipe.summary = "known curvature";
  recipe.defaults = {.minibatch = 16, .epochs = 1, .optimizer = "sgd", .lr = 1e-9};
  recipe.task = quadratic;
  return recipe;
}

LossCurvature curvature_of_run(const std::filesystem::path& run, const Recipe& recipe, int64_t samples,
                               int64_t groups = 16) {
  CurvatureRequest request{.loss = {.model = {.run = run}, .samples = samples}};
  request.eigenvalues = 2;
  request.tolerance = 1e-4;
  request.groups = groups;
  return loss_curvature(request, recipe, [](const std::string& line) { BOOST_ERROR(line); });
}

LossSharpness sharpness_of_run(const std::filesystem::path& run, const Recipe& recipe, double epsilon) {
  const SharpnessRequest request{
      .loss = {.model = {.run = run}, .samples = 1 << 20}, .epsilon = epsilon, .iterations = 40};
  return loss_sharpness(request, recipe, [](const std::string& line) { BOOST_ERROR(line); });
}

struct Folder {
  test::TemporaryDirectory directory;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(losses_of_runs, Folder)

BOOST_AUTO_TEST_CASE(a_quadratic_loss_gives_its_closed_forms) {
  const auto run = directory / "run";
  BOOST_REQUIRE(test::run(run, {"--threads", "1"}, quadratic_recipe()) == 0);
  const LossCurvature found = curvature_of_run(run, quadratic_recipe(), 1 << 20);
  BOOST_TEST(found.facts.samples == kRows);
  BOOST_TEST(found.facts.per_minibatch == 16);
  BOOST_TEST(found.facts.parameters == kDims);
  BOOST_TEST(found.spectrum.largest.at(0).value == 4, tolerance(1e-5));
  BOOST_TEST(found.spectrum.largest.at(1).value == 3, tolerance(1e-5));
  BOOST_TEST(found.spectrum.smallest.value == -1, tolerance(1e-5));

  const std::vector<float> x = points();
  double loss = 0, gradient2 = 0, trace = 0, curved = 0, noise = 0;
  for (int64_t i = 0; i < kDims; ++i) {
    double mean = 0, squares = 0;
    for (int64_t row = 0; row < kRows; ++row) {
      const double apart = 1 - static_cast<double>(x[static_cast<size_t>(row * kDims + i)]);
      mean += apart / kRows;
      squares += apart * apart / kRows;
    }
    const double a = curvature_of(i), variance = squares - mean * mean;
    loss += a * squares / 2;
    gradient2 += a * a * mean * mean;
    curved += a * a * a * mean * mean;
    trace += a * a * variance;
    noise += a * a * a * variance;
  }
  BOOST_TEST(found.loss == loss, tolerance(1e-5));
  // Products of all pairs of groups, of a group with itself too, are those of the mean over all samples.
  const CurvatureNoise& n = found.noise;
  BOOST_TEST(n.gradient2 + n.trace / kRows == gradient2, tolerance(1e-5));
  BOOST_TEST(n.gradient_curvature + n.noise_curvature / kRows == curved, tolerance(1e-5));
  for (const double share : {n.trace / trace, n.noise_curvature / noise}) {
    BOOST_TEST(share > 0.5);  // an estimate from 16 groups
    BOOST_TEST(share < 2);
  }
}

// Groups decide how the samples' noise is found, and not the loss or its Hessian. The samples are the first ones of an
// order, whatever their number.
BOOST_AUTO_TEST_CASE(a_net_with_batch_norm_has_one_hessian_for_all_groups) {
  const auto run = directory / "run";
  BOOST_REQUIRE(test::run(run, {"--threads", "1", "--precision", "f64"}) == 0);
  const LossCurvature few = curvature_of_run(run, test::small_recipe(), 90, 3);
  const LossCurvature many = curvature_of_run(run, test::small_recipe(), 99, 9);
  BOOST_TEST(few.facts.samples == 90);
  BOOST_TEST(many.facts.samples == 90);
  BOOST_TEST(few.loss == many.loss);
  for (const size_t i : {0U, 1U}) BOOST_TEST(few.spectrum.largest[i].value == many.spectrum.largest[i].value);
  BOOST_TEST(few.spectrum.largest[0].value > 0);
  BOOST_TEST(few.noise.trace != many.noise.trace);
  BOOST_CHECK_EXCEPTION(
      curvature_of_run(run, test::small_recipe(), 59, 6), Error,
      says("--samples 59: expected 60 or more, 6 groups of a minibatch of 10; got 59 training samples"));
}

// The parameters are 1, so that each varies by 2 epsilon. The loss is a sum over them: a parabola that opens upwards is
// greatest at an end, one that opens downwards at the mean of the points or at the end that is nearer to it.
BOOST_AUTO_TEST_CASE(a_quadratic_loss_is_greatest_where_its_parabolas_are) {
  const auto run = directory / "run";
  BOOST_REQUIRE(test::run(run, {"--threads", "1", "--precision", "f64"}, quadratic_recipe()) == 0);
  for (const double epsilon : {1e-3, 0.6}) {
    const LossSharpness found = sharpness_of_run(run, quadratic_recipe(), epsilon);
    const std::vector<float> x = points();
    double loss = 0, greatest = 0;
    for (int64_t i = 0; i < kDims; ++i) {
      double mean = 0;
      for (int64_t row = 0; row < kRows; ++row)
        mean += static_cast<double>(x[static_cast<size_t>(row * kDims + i)]) / kRows;
      const auto loss_at = [&](double w) {
        double sum = 0;
        for (int64_t row = 0; row < kRows; ++row)
          sum += std::pow(w - static_cast<double>(x[static_cast<size_t>(row * kDims + i)]), 2) / kRows;
        return curvature_of(i) * sum / 2;
      };
      const double low = 1 - 2 * epsilon, high = 1 + 2 * epsilon;
      loss += loss_at(1);
      greatest += std::max({loss_at(low), loss_at(high), loss_at(std::clamp(mean, low, high))});
    }
    BOOST_TEST(found.facts.samples == kRows);
    BOOST_TEST(found.loss == loss, tolerance(1e-6));  // the training's rate is next to nothing
    BOOST_TEST(found.greatest == greatest, tolerance(1e-6));
    BOOST_TEST(found.sharpness == 100 * (greatest - loss) / (1 + loss), tolerance(1e-4));
    BOOST_TEST(found.maximum.is_stationary == (epsilon < 0.1));  // only the large box holds a vertex
  }
}

// In a box so small that the loss is linear, the first corner is the greatest: its gradient's 1-norm, weighted by the
// half widths, decides. The state on the disk stays as it is.
BOOST_AUTO_TEST_CASE(the_sharpness_of_a_net_is_the_size_of_its_gradient_in_a_tiny_box) {
  const auto run = directory / "run";
  BOOST_REQUIRE(test::run(run, {"--threads", "1", "--precision", "f64"}) == 0);
  const SharpnessRequest request{.loss = {.model = {.run = run}, .samples = 90}, .epsilon = 1e-8, .iterations = 1};
  const auto say = [](const std::string& line) { BOOST_ERROR(line); };
  RunLoss loss(request.loss, test::small_recipe(), {.tool = "sharpness"}, say);
  const std::vector<double> centre = loss.parameters();
  const ValueAndGradient at = loss.at(centre);
  double rise = 0;
  for (size_t i = 0; i < centre.size(); ++i) rise += std::abs(at.gradient[i]) * 1e-8 * (std::abs(centre[i]) + 1);
  const LossSharpness found = loss_sharpness(request, test::small_recipe(), say);
  BOOST_TEST(found.loss == at.value);
  BOOST_TEST(found.greatest - found.loss == rise, tolerance(1e-3));
  BOOST_TEST(found.maximum.evaluations == 2);
  BOOST_TEST(loss_sharpness(request, test::small_recipe(), say).greatest == found.greatest);
  const SharpnessRequest few{.loss = {.model = {.run = run}, .samples = 9}};
  BOOST_CHECK_EXCEPTION(loss_sharpness(few, test::small_recipe(), say), Error,
                        says("--samples 9: expected 10 or more, 1 group of a minibatch of 10; got 9 training samples"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::run_loss_test
