#include "recipes/report/curves.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "recipes/report/count_text.h"
#include "recipes/report/curve_chart.h"
#include "recipes/report/study_picture.h"

#include "tests/support/matches.h"
#include "tests/support/support.h"

namespace kb::curves_test {
namespace {

std::string step_line(int64_t step, double epoch, double loss, double lr) {
  return fmt::format("{{\"kind\":\"step\",\"step\":{},\"epoch\":{},\"loss\":{},\"lr\":{}}}\n", step, epoch, loss, lr);
}

std::string evaluation_line(double epoch, double loss, double error) {
  return fmt::format("{{\"kind\":\"eval\",\"epoch\":{},\"loss\":{},\"error\":{},\"count\":100}}\n", epoch, loss, error);
}

// Returns the metrics of 10 epochs, with a loss of 2 / (1 + epoch) times a wave of 30 %.
std::string long_run(int64_t steps) {
  std::string lines;
  for (int64_t step = 0; step < steps; ++step) {
    const double epoch = 10.0 * static_cast<double>(step) / static_cast<double>(steps);
    const double wave = 1 + 0.3 * std::sin(static_cast<double>(step));
    lines += step_line(step, epoch, 2 / (1 + epoch) * wave, epoch < 5 ? 0.1 : 0.01);
    if (step % (steps / 10) == steps / 10 - 1)
      lines += evaluation_line(std::round(epoch), 2.2 / (1 + epoch), 0.5 / (1 + epoch));
  }
  return lines;
}

// Returns the points of the polylines of a colour.
std::vector<std::pair<double, double>> points_of(const std::string& svg, const std::string& color) {
  std::vector<std::pair<double, double>> points;
  for (const test::Match& line :
       test::all_matches(svg, "<polyline fill=\"none\" points=\"([^\"]*)\" stroke=\"" + color))
    for (const test::Match& point : test::all_matches(line[1], "([-0-9.]+),([-0-9.]+)"))
      points.emplace_back(std::stod(point[1]), std::stod(point[2]));
  return points;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(curves)

BOOST_AUTO_TEST_CASE(points_are_those_of_the_lines) {
  const RunCurves read = read_curves(step_line(0, 0, 2, 0.1) + step_line(1, 0.5, 1, 0.2) +
                                     evaluation_line(1, 0.75, 0.25) + "{\"kind\":\"end\",\"steps\":2}\n");
  BOOST_REQUIRE(read.training_loss.size() == 2u);
  BOOST_TEST(read.training_loss[1].epoch == 0.5);
  BOOST_TEST(read.training_loss[1].value == 1);
  BOOST_TEST(read.learning_rate.at(1).value == 0.2);
  BOOST_REQUIRE(read.judged_goal.size() == 1u);
  BOOST_TEST(read.judged_goal[0].epoch == 1);
  BOOST_TEST(read.judged_goal[0].value == 0.25);
  BOOST_TEST(read.judged_loss.at(0).value == 0.75);
  BOOST_TEST(read.averaged_goal.empty());
  BOOST_TEST(read.training_goal.empty());
  const RunCurves both = read_curves(R"({"kind":"eval","step":1,"epoch":1,"loss":2,"error":0.5,"train_error":0.75})"
                                     "\n");
  BOOST_TEST(both.training_goal.at(0).value == 0.75);
}

// The damaged lines are torn, have other types, are not finite, or were written before a resume that went back.
BOOST_AUTO_TEST_CASE(lines_that_are_damaged_are_passed_over) {
  const RunCurves read = read_curves(
      step_line(0, 0, 2, 0.1) + "{\"kind\":\"step\",\"st\n\n[]\n{\"kind\":7}\n" + step_line(900, 90, 5, 0.1) +
      "{\"kind\":\"step\",\"step\":1,\"epoch\":0.5,\"loss\":null,\"lr\":0.1}\n" + step_line(2, 1, 1.5, 0.1) +
      "{\"kind\":\"step\",\"step\":3,\"epoch\":-1,\"loss\":1,\"lr\":0.1}\n{\"kind\":\"step\",\"step\":4,\"epoch\":2");
  BOOST_REQUIRE(read.training_loss.size() == 2u);
  BOOST_TEST(read.training_loss[0].value == 2);
  BOOST_TEST(read.training_loss[1].value == 1.5);
  BOOST_TEST(read.learning_rate.size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_run_of_many_steps_makes_a_small_picture) {
  const RunCurves read = read_curves(long_run(200'000));
  BOOST_TEST(read.training_loss.size() == 200'000u);
  const std::string svg = curves_picture("a run", read);
  BOOST_TEST(svg.size() < 60'000u);
  BOOST_TEST(points_of(svg, "#a9cfe6").size() == 2u + 2 * 380);  // the ends, and two points for each column of pixels
}

// The mean over a window takes the wave away; the raw line keeps it.
BOOST_AUTO_TEST_CASE(the_smooth_line_is_the_mean) {
  const RunCurves read = read_curves(long_run(20'000));
  const std::string svg = curves_picture("a run", read);
  const auto smooth = points_of(svg, "#0072b2"), raw = points_of(svg, "#a9cfe6");
  BOOST_REQUIRE((smooth.size() > 200u && smooth.size() <= 402u));
  // The axis is linear and has 0 at its lower end and 2.5 at its upper end, 300 pixels above.
  double farthest = 0;
  for (const auto& [x, y] : smooth) {
    const double epoch = 10 * (x - 74) / 760, loss = 2.5 * (84 + 300 - y) / 300;
    if (epoch > 0.2) farthest = std::max(farthest, std::abs(loss - 2 / (1 + epoch)));
  }
  BOOST_TEST(farthest < 0.02);
  double least = 1e9, most = 0;
  for (const auto& [x, y] : raw)
    if (x > 600) least = std::min(least, y), most = std::max(most, y);
  BOOST_TEST(most - least > 0.1 / 2.5 * 300);
}

BOOST_AUTO_TEST_CASE(the_learning_rate_drops_between_two_points) {
  const auto rate = points_of(curves_picture("a run", read_curves(long_run(20'000))), "#009e73");
  BOOST_REQUIRE(rate.size() == 4u);
  BOOST_TEST(rate[0].second == rate[1].second);
  BOOST_TEST(rate[2].first - rate[1].first < 0.1);
  BOOST_TEST(rate[2].second > rate[1].second);
}

// Every part of the metrics may be missing, and values may span the whole range of doubles.
BOOST_AUTO_TEST_CASE(a_run_of_anything_has_a_picture) {
  const std::string one = step_line(0, 0, 2, 0.1);
  for (const std::string& lines :
       {std::string(), one, one + evaluation_line(1, 1, 0.5), evaluation_line(0, 1, 0.9),
        one + step_line(1, 1, 1e-9, 0), one + step_line(1, 1, -3, 0), one + step_line(1, 1, 1e30, 1),
        one + step_line(1, 1e308, 1e308, 1e308), step_line(0, 3, 5e-324, 1) + step_line(1, 5e-324, 1, 1),
        step_line(0, 0, 1e40, 1) + step_line(1, 5e-324, 5e-324, 1),
        step_line(0, 0, 0, 0) + step_line(1, 1, 0, 0) + evaluation_line(1, 0, 0)}) {
    const std::string svg = curves_picture("<a & b>", read_curves(lines));
    BOOST_TEST(svg.ends_with("</svg>\n"));
    BOOST_TEST(test::contains(svg, "&lt;a &amp; b&gt;"));
    for (const char* wrong : {"nan", "inf"}) BOOST_TEST(!test::contains(svg, wrong), lines << svg);
  }
}

BOOST_AUTO_TEST_CASE(an_axis_of_no_values_or_one_has_places) {
  for (const ValueAxis& axis :
       {linear_values({}), logarithmic_values({}), values_of_range({}, 10), values_of_range({-3e6, -3e6}, 10)})
    BOOST_TEST(std::isfinite(axis.part(axis.low)));
}

BOOST_AUTO_TEST_CASE(the_best_error_is_named) {
  const std::string svg = curves_picture(
      "a run", read_curves(evaluation_line(1, 1, 0.5) + evaluation_line(2, 1, 0.125) + evaluation_line(3, 1, 0.25)));
  BOOST_TEST(test::contains(svg, "test error, %: 25.00 at the end, 12.50 at best (epoch 2)"));
  BOOST_TEST(test::contains(svg, "epoch 2: test error, % 12.5"));
}

std::string part_line(const std::string& kind, const std::string& more, double epoch, double loss, double error) {
  return fmt::format("{{\"kind\":\"{}\",\"step\":{},\"epoch\":{},{},\"loss\":{},\"error\":{}}}\n", kind, 10 * epoch,
                     epoch, more, loss, error);
}

// Samples that were held out are not the test part, which is looked at once, at the end.
BOOST_AUTO_TEST_CASE(each_part_has_its_name) {
  const std::string valid = "\"part\":\"valid\"", test = "\"part\":\"test\",\"state\":";
  const std::string lines = step_line(0, 0, 2, 0.1) + part_line("eval", valid, 1, 1, 0.5) +
                            part_line("eval", valid, 2, 0.5, 0.125) + part_line("eval", valid, 3, 0.75, 0.25) +
                            part_line("test", test + "\"final\"", 3, 0.8, 0.3) +
                            part_line("test", test + "\"best\"", 2, 0.6, 0.15);
  const RunCurves read = read_curves(lines);
  BOOST_TEST(read.goal.part == "valid");
  BOOST_TEST(read.judged_goal.size() == 3u);
  BOOST_REQUIRE(read.test_goal.size() == 2u);
  BOOST_TEST(read.test_goal[0].epoch == 2);
  BOOST_TEST(read.test_goal[0].value == 0.15);
  BOOST_TEST(read.test_loss[1].value == 0.8);
  const std::string svg = curves_picture("a run", read);
  for (const char* words :
       {"valid error, %: 25.00 at the end, 12.50 at best (epoch 2); test 30.00 at the end, 15.00 of the best",
        "epoch 2: valid error, % 12.5", "epoch 2: test error, % 15", "epoch 3: test loss 0.8", "epoch 1: valid loss 1",
        ">valid</text>", ">test</text>"})
    BOOST_TEST(test::contains(svg, words));
  // Without samples held out the evaluations are of the test part, and nothing stands beside them.
  const RunCurves plain = read_curves(evaluation_line(1, 1, 0.5));
  BOOST_TEST(plain.goal.part == "test");
  BOOST_TEST(plain.test_goal.empty());
  BOOST_TEST(read_curves(lines + part_line("test", test + "\"final\"", 2, 0.8, 0.3)).test_goal.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_study_names_the_part_that_it_is_judged_on) {
  const StudyLine line{"lr 0.1", {{1, 0.5, 10}, {2, 0.25, 20}}, {{1, 1, 10}}};
  const std::string svg = study_picture("a study", {line}, {"error", true, false, "valid"});
  BOOST_TEST(test::contains(svg, ">valid error, %</text>"));
  BOOST_TEST(!test::contains(svg, "test"));
}

// Either all ticks of an axis from 1000 on have a unit, k or M, or none has.
BOOST_AUTO_TEST_CASE(numbers_of_an_axis_are_of_one_kind) {
  using Texts = std::vector<std::string>;
  BOOST_TEST(tick_texts({0, 500, 50'000, 100'000}) == (Texts{"0", "500", "50k", "100k"}));
  BOOST_TEST(tick_texts({0, 50'000}) == (Texts{"0", "50000"}));
  BOOST_TEST(tick_texts({8, 8192, 131'072}) == (Texts{"8", "8.192k", "131.1k"}));
  BOOST_TEST(tick_texts({200'000, 1'000'000}) == (Texts{"200k", "1M"}));
  BOOST_TEST(tick_texts({0.05, 0.1, 12.5}) == (Texts{"0.05", "0.1", "12.5"}));
  BOOST_TEST(tick_texts({-200'000, 0, 1e20}) == (Texts{"-200000", "0", "1e+20"}));
  BOOST_TEST(tick_texts({}).empty());
}

BOOST_AUTO_TEST_CASE(counts_beside_each_other_are_of_one_kind) {
  using Texts = std::vector<std::string>;
  BOOST_TEST(count_texts({99'999, 120'000, 900, 7.5}, 3) == (Texts{"100k", "120k", "900", "7.5"}));
  BOOST_TEST(count_texts({99'999, 50'000}, 3) == (Texts{"99999", "50000"}));
  BOOST_TEST(count_texts({}, 3).empty());
  BOOST_TEST(count_text(999'400, 3) == "999k");
  BOOST_TEST(count_text(999'700, 3) == "1M");
  BOOST_TEST(count_text(99'999) == "99999");
}

BOOST_AUTO_TEST_CASE(the_goal_may_have_any_name_and_direction) {
  const std::string lines =
      "{\"kind\":\"eval\",\"epoch\":1,\"loss\":1,\"bleu\":21.5,\"count\":2}\n"
      "{\"kind\":\"eval\",\"epoch\":2,\"loss\":1,\"bleu\":20,\"count\":2}\n";
  const RunCurves read = read_curves(lines, {"bleu", false, true});
  BOOST_REQUIRE(read.judged_goal.size() == 2u);
  BOOST_TEST(read.judged_goal[0].value == 21.5);
  BOOST_TEST(test::contains(curves_picture("a run", read), "test bleu: 20 at the end, 21.5 at best (epoch 1)"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::curves_test
