// Checks that the words, the table and the picture of optim/README.md are true of the optimizers as they are now.
#include "recipes/charts/optimizer_paths.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "optim/optimizer.h"
#include "tests/support/support.h"

namespace kb::optimizer_paths_test {
namespace {

const auto kSame = boost::test_tools::tolerance(1e-12);
constexpr const char* kRenew = "(to renew: ./run optimizers --readme optim/README.md --picture optim/variants.svg)";

const std::vector<OptimizerPath>& paths() {
  static const std::vector<OptimizerPath> all = optimizer_paths();
  return all;
}

const OptimizerPath& path(const std::string& name) {
  for (const OptimizerPath& one : paths())
    if (one.name == name) return one;
  throw Error("no path of " + name);
}

void check_same(const std::vector<double>& a, const std::vector<double>& b, double times = 1) {
  BOOST_REQUIRE(a.size() == kPathSteps + 1);
  for (size_t t = 0; t < a.size(); ++t) BOOST_TEST(a[t] == times * b[t], kSame);
}

void check_file(const char* name, const std::string& expected, const std::string& got) {
  BOOST_TEST(expected == got, name << " is not what it would be today\n"
                                   << test::first_difference(expected, got) << kRenew);
}

BOOST_AUTO_TEST_SUITE(optimizer_paths_test)

BOOST_AUTO_TEST_CASE(every_optimizer_has_a_path_and_a_formula_in_the_readme) {
  const std::string readme = test::read_file(test::source_dir() / "optim" / "README.md");
  for (const Optimizer& optimizer : optimizers()) {
    if (!optimizer.takes_matrices) BOOST_TEST(path(std::string(optimizer.name)).weight.back() > 0);
    BOOST_TEST(test::contains(readme, "\n| `" + std::string(optimizer.name) + "` | `"));
  }
}

BOOST_AUTO_TEST_CASE(the_readme_shows_the_table_and_the_picture_of_today) {
  const auto optim = test::source_dir() / "optim";
  const std::string readme = test::read_file(optim / "README.md");
  check_file("optim/README.md", readme, with_paths_table(readme, paths_table(paths())));
  check_file("optim/variants.svg", test::read_file(optim / "variants.svg"), paths_picture(paths()));
  BOOST_TEST(test::contains(readme, "(variants.svg)"));
}

BOOST_AUTO_TEST_CASE(the_correction_of_momentum_makes_both_forms_one) {
  check_same(path("scaled-momentum").weight, path("momentum").weight);
  BOOST_TEST(path("uncorrected-momentum").weight[1] == path("momentum").weight[1], kSame);
  BOOST_TEST(path("uncorrected-momentum").weight[5] < 0.9 * path("momentum").weight[5]);
}

BOOST_AUTO_TEST_CASE(variants_of_lars_agree_on_the_weight_and_part_on_the_bias) {
  check_same(path("lars-mlperf").weight, path("lars").weight);
  check_same(path("lars-plain").weight, path("lars").weight);
  check_same(path("lars --skip-lr 0.1").weight, path("lars").weight);
  BOOST_TEST(path("lars-mlperf --nesterov 1").weight[1] > 1.5 * path("lars").weight[1]);
  BOOST_TEST(path("lars-unscaled").weight[5] > 1.1 * path("lars").weight[5]);
  // LARS skips the bias, whose steps then have the learning rate itself: 2 in lars, 0.002 in lars-plain, 0.1 with
  // --skip-lr.
  check_same(path("lars").bias, path("lars-plain").bias, 1000);
  check_same(path("lars").bias, path("lars --skip-lr 0.1").bias, 20);
  check_same(path("lars --skip-lr 0.1").bias, path("uncorrected-momentum").bias);
  check_same(path("lars-unscaled").bias, path("momentum").bias, 20);
}

BOOST_AUTO_TEST_CASE(larc_is_momentum_while_it_is_clipped_and_on_what_it_skips) {
  check_same(path("larc").bias, path("momentum").bias);
  BOOST_TEST(path("larc").weight[1] == path("momentum").weight[1], kSame);
  BOOST_TEST(path("larc").weight[2] == path("momentum").weight[2], kSame);
  BOOST_TEST(path("larc").weight[10] < 0.9 * path("momentum").weight[10]);
}

BOOST_AUTO_TEST_CASE(decay_beside_the_step_differs_from_decay_in_the_gradient_on_the_weight_alone) {
  check_same(path("adam").bias, path("adamw").bias);
  BOOST_TEST(path("adam").weight[10] != path("adamw").weight[10], kSame);
}

BOOST_AUTO_TEST_CASE(a_table_without_its_place_is_refused) {
  BOOST_TEST(with_paths_table(std::string("a\n") + kPathsBegin + "old\n" + kPathsEnd + "b\n", "new\n") ==
             std::string("a\n") + kPathsBegin + "\nnew\n\n" + kPathsEnd + "b\n");
  for (const std::string& text : {std::string("a\n"), std::string(kPathsBegin), std::string(kPathsEnd) + kPathsBegin})
    BOOST_CHECK_THROW(with_paths_table(text, "new\n"), Error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb::optimizer_paths_test
