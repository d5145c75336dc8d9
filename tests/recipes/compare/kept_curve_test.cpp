// Curves that the repository keeps: written, read back, and held against runs.
#include "recipes/compare/kept_curve.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "recipes/papers/table.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::kept_curve_test {

namespace {

RunCurve curve_with(double loss, double error, const std::string& state = "a") {
  return {{{"library", "one"}, {"shards", "2"}}, state, {{1, loss, error}, {2, loss / 2, error / 2}}};
}

// Three seeds have losses 1, 2, 3 and errors 0.1, 0.2, 0.3 after epoch 1, and half of these after epoch 2.
KeptCurve kept_of_three() {
  const std::vector<RunCurve> runs = {curve_with(1, 0.1), curve_with(2, 0.2, "b"), curve_with(3, 0.3, "c")};
  return kept_curve("r", {"--epochs", "2"}, runs);
}

RunCurve elsewhere(RunCurve curve) {
  curve.machine["library"] = "two";
  return curve;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kept_curves)

BOOST_AUTO_TEST_CASE(mean_and_deviation_are_over_the_seeds) {
  const KeptCurve kept = kept_of_three();
  BOOST_TEST(kept.seeds == 3);
  BOOST_TEST(kept.run.state_sha256 == "a");
  BOOST_TEST(kept.mean[0].loss == 2);
  BOOST_TEST(kept.mean[1].goal == 0.1, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(kept.deviation[0].loss == 1);
  BOOST_TEST(kept.deviation[1].goal == 0.05, boost::test_tools::tolerance(1e-12));
  BOOST_CHECK_EXCEPTION(kept_curve("r", {}, std::vector<RunCurve>{curve_with(1, 1)}), Error,
                        kb::test::says("expected at least 2 seeds, got 1"));
}

BOOST_AUTO_TEST_CASE(a_curve_is_read_back) {
  const KeptCurve kept = kept_of_three(), again = parse_kept_curve(to_json(kept), "c.json");
  BOOST_TEST(to_json(again) == to_json(kept));
  BOOST_TEST(again.run.machine.at("shards") == "2");
  BOOST_CHECK_EXCEPTION(parse_kept_curve("{\"recipe\":\"r\"}", "c.json"), Error, kb::test::says("c.json", "arguments"));
}

BOOST_AUTO_TEST_CASE(on_the_same_kind_of_machine_bits_count) {
  const KeptCurve kept = kept_of_three();
  BOOST_TEST(compare_with(kept, curve_with(1, 0.1), 6).holds);
  const CurveVerdict other = compare_with(kept, curve_with(1, 0.1, "z"), 6);
  BOOST_TEST(!other.holds);
  BOOST_TEST(other.text.find("OTHER BITS") == 0u);
}

BOOST_AUTO_TEST_CASE(on_another_machine_deviations_count) {
  const KeptCurve kept = kept_of_three();
  BOOST_TEST(compare_with(kept, elsewhere(curve_with(3.9, 0.3, "z")), 2).holds);
  const CurveVerdict beyond = compare_with(kept, elsewhere(curve_with(4.1, 0.3, "z")), 2);
  BOOST_TEST(!beyond.holds);
  BOOST_TEST(test::contains(beyond.text, "library: kept one, here two"));
  BOOST_TEST(test::contains(beyond.text, "epoch 1 loss  4.10000, kept 2.00000 +- 2.00000  OUTSIDE"));
  RunCurve shorter = elsewhere(curve_with(2, 0.2));
  shorter.points.pop_back();
  BOOST_TEST(compare_with(kept, shorter, 2).text == "expected 2 evaluations as kept, got 1\n");
}

// Seeds that agree have a deviation of 0, which is no reason to refuse a difference of rounding or of one sample.
BOOST_AUTO_TEST_CASE(bounds_have_a_floor) {
  const std::vector<RunCurve> runs = {curve_with(1, 0.5), curve_with(1, 0.5, "b")};
  const KeptCurve kept = kept_curve("r", {}, runs);
  const auto holds = [&](double loss, double error) {
    RunCurve run = elsewhere(curve_with(1, 0.5, "z"));
    run.test_samples = 100;
    run.points[0].loss = loss;
    run.points[0].goal = error;
    return compare_with(kept, run, 6).holds;
  };
  BOOST_TEST(holds(1.00009, 0.51));
  BOOST_TEST(!holds(1.00011, 0.5));
  BOOST_TEST(!holds(1, 0.52));
}

BOOST_AUTO_TEST_CASE(a_run_of_ours_is_read) {
  const test::TemporaryDirectory directory;
  BOOST_REQUIRE(test::run(directory / "run", {}) == 0);
  const RunCurve curve = run_curve(directory / "run");
  BOOST_TEST(curve.state_sha256 == test::state_sha256(directory / "run"));
  BOOST_REQUIRE(curve.points.size() == 2u);
  BOOST_TEST(curve.points[1].epoch == 2);
  BOOST_TEST(curve.test_samples > 0);
  BOOST_TEST(!curve.machine.at("kernel_flags").empty());
  BOOST_CHECK_THROW(run_curve(directory / "absent"), Error);
}

// Every kept curve can be read, and its recipe exists.
BOOST_AUTO_TEST_CASE(the_kept_curves_are_whole) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() / "recipes" / "curves")) {
    const KeptCurve curve = parse_kept_curve(test::read_file(entry.path()), entry.path().string());
    BOOST_TEST(entry.path().filename() == curve.recipe + ".json");
    BOOST_CHECK_NO_THROW(find_recipe(curve.recipe));
    ++count;
  }
  BOOST_TEST(count >= 4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::kept_curve_test
