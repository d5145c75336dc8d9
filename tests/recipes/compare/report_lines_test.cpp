// Lines, bands and maps of a report.
#include "tests/recipes/compare/report_fixture.h"
#include "tests/support/matches.h"

#include <boost/test/unit_test.hpp>

namespace kb::report_test {

BOOST_FIXTURE_TEST_SUITE(report_lines, ReportFixture)

// A seed has ended early; curves are straight between their points.
BOOST_AUTO_TEST_CASE(a_band_holds_every_seed_that_is_there) {
  const auto curve = [](std::vector<std::pair<double, double>> points) {
    Curve made;
    for (const auto& [step, value] : points) made.push_back({step / 10, value, step});
    return made;
  };
  const CurveBand band = band_of({curve({{0, 4}, {10, 2}}), {}, curve({{0, 2}, {20, 6}}), curve({{0, 3}, {20, 1}})});
  BOOST_REQUIRE(band.mean.size() == 2u);
  BOOST_TEST(band.mean[0].value == 3);
  BOOST_TEST((band.low[0].value == 2 && band.high[0].value == 4));
  BOOST_TEST(band.mean[1].value == 3.5);  // the first seed ended at step 10
  BOOST_TEST((band.low[1].value == 1 && band.high[1].value == 6));
  const CurveBand between = band_of({curve({{0, 4}, {20, 2}}), curve({{0, 0}, {5, 8}, {20, 8}})});
  BOOST_REQUIRE(between.mean.size() == 2u);
  BOOST_TEST(between.mean[1].value == 5);
  const CurveBand alone = band_of({curve({{0, 4}, {10, 2}})});
  BOOST_TEST((alone.mean.size() == 2u && alone.low.empty() && alone.high.empty()));
  BOOST_TEST(band_of(std::vector<Curve>()).mean.empty());
}

// The seeds had other numbers of threads, on which no bit depends.
BOOST_AUTO_TEST_CASE(runs_that_differ_by_their_seeds_are_one_line) {
  const auto seed = [&](const std::string& name, const char* rate, int number, const std::string& more = "") {
    write_run(directory / name, fmt::format(R"(, "lr": {}, "seed": {}, "threads": {})", rate, number, number),
              step_lines(20, 2 + number), more);
  };
  for (int number = 1; number <= 3; ++number) seed(fmt::format("kn8-seed-{}", number), "0.1", number);
  seed("kn8-seed-4", "0.1", 4, R"(, "ended": {"how": "diverged", "step": 3}, "result": {"diverged": true})");
  seed("other", "0.2", 1);
  const ReportedRuns reported = read_runs({directory.path()});
  const std::vector<SeedLine> lines = seed_lines(reported.runs);
  std::vector<std::string> names;
  for (const SeedLine& line : lines) names.push_back(line.name);
  BOOST_TEST(names == (std::vector<std::string>{"kn8, 3 seeds", "kn8-seed-4", "other"}));
  BOOST_TEST(line_numbers(lines) == (std::vector<size_t>{0, 0, 0, 1, 2}));
  const std::string text = report_page(reported);
  BOOST_TEST(count_of(text, "<polygon") > 0u);
  BOOST_TEST(page_has(text, "<tr class=\"pick\" data-run=\"2\">"));
  check_self_contained(text);
  seed("kn8-seed-5", "0.1", 3);
  BOOST_TEST(seed_lines(read_runs({directory.path()}).runs).front().name == "kn8, 4 runs");
}

// The throughput of many runs is drawn as a row for each run, that of few runs as lines of medians over the run's
// course.
BOOST_AUTO_TEST_CASE(throughput_of_many_runs_is_a_row_each) {
  const auto throughput = [](size_t count) {
    std::vector<ChartedLine> runs;
    for (size_t i = 0; i < count; ++i) runs.push_back({fmt::format("run-{}", i), {read_curves(step_lines(400, 2))}});
    for (const RunChart& chart : run_charts(runs))
      if (page_has(chart.by_steps, ">samples/s</text>")) return chart;
    return RunChart{};
  };
  const RunChart few = throughput(3), many = throughput(17);
  BOOST_TEST(count_of(few.by_steps, "<polyline") == 3u);
  BOOST_TEST(count_of(many.by_steps, "<polyline") == 0u);
  BOOST_TEST(many.by_steps == many.by_epochs);
  BOOST_TEST(count_of(many.by_steps, "<circle") == 17u);
  for (int i = 0; i < 17; ++i) BOOST_TEST(page_has(many.by_steps, fmt::format(">run-{}</text>", i)));
  BOOST_TEST(page_has(many.by_steps, "run-3: 1000.5, nine tenths of the steps 1000 to 1001"));
  const test::Match line = test::first_match(few.by_steps, "<polyline fill=\"none\" points=\"([^\"]*)\"");
  BOOST_REQUIRE(!line.empty());
  BOOST_TEST(count_of(line[1], ",") == kMedians);
}

// The page is looked at without a browser; tests/peers/report_in_browser.py sorts and filters it in one.
BOOST_AUTO_TEST_CASE(names_are_whole_beside_their_keys) {
  write_run(directory / "run", "", step_lines(3, 2));
  const std::string text = page();
  BOOST_TEST(
      page_has(text, "width:24px;max-width:none"));  // a key without a width would let a name stand over its neighbour
  BOOST_TEST(!page_has(text, ".runs td:first-child{max-width:45vw;overflow:hidden"));
}

BOOST_AUTO_TEST_CASE(medians_are_those_of_the_steps) {
  write_run(directory / "run", "", step_lines(21, 2));
  const ReportedRun run = read_runs({directory / "run"}).runs.at(0);
  BOOST_TEST(run.samples_per_s == 1000);  // 11 of the 21 steps have 1000 samples/s
  BOOST_TEST(run.data_wait_ms == 0.25);
  write_run(directory / "even", "", step_lines(20, 2));
  BOOST_TEST(read_runs({directory / "even"}).runs.at(0).samples_per_s == 1000.5);
}

BOOST_AUTO_TEST_CASE(a_wait_is_a_number_of_milliseconds) {
  const auto metrics = [](double wait) {
    return fmt::format(R"({{"kind":"step","step":0,"epoch":0,"loss":1,"lr":1,"samples_per_s":1,"data_wait_ms":{}}})"
                       "\n",
                       wait);
  };
  write_run(directory / "long", "", metrics(123.4));
  write_run(directory / "short", "", metrics(0.0123));
  const std::string text = page();
  BOOST_TEST(page_has(text, ">123 ms<"));
  BOOST_TEST(page_has(text, ">0.012 ms<"));
}

// The curve of a run that diverged leaves the chart at its top, so that the others keep their height.
BOOST_AUTO_TEST_CASE(a_run_that_diverged_does_not_flatten_the_others) {
  std::vector<ChartedLine> runs;
  for (int i = 0; i < 3; ++i) runs.push_back({fmt::to_string(i), {read_curves(step_lines(50, 2))}});
  const std::string tame = run_charts(runs).at(0).by_steps;
  runs.push_back({"wild", {read_curves(step_lines(50, 1e30))}});
  const std::string wild = run_charts(runs).at(0).by_steps;
  const auto least_y = [](const std::string& svg, const std::string& of) {
    const test::Match group = test::first_match(svg, "data-run=\"" + of + "\"[^]*?points=\"([^\"]*)\"");
    BOOST_REQUIRE(!group.empty());
    double least = INFINITY;
    for (const test::Match& y : test::all_matches(group[1], ",([0-9.]+)")) least = std::min(least, std::stod(y[1]));
    return least;
  };
  BOOST_TEST(least_y(wild, "3") == 34);       // the top of the chart
  BOOST_TEST(least_y(wild, "0") < 34 + 110);  // the first loss is still in the upper half
  BOOST_TEST(page_has(tame, "data-run=\"2\""));
}

BOOST_AUTO_TEST_CASE(heat_maps_have_a_bounded_number_of_cells) {
  std::vector<std::string> rows;
  std::vector<HeatColumn> columns;
  for (int r = 0; r < 161; ++r) rows.push_back(fmt::format("layer{} & more", r));
  for (int64_t c = 0; c < 1000; ++c) {
    columns.push_back({c, {}});
    for (int r = 0; r < 161; ++r)
      columns.back().values.push_back(r % 2 == 1 ? NAN : 0.001 * static_cast<double>(c + 1) + r);
  }
  const std::string map = heat_map(rows, columns, 1000);
  const size_t scale = 24;
  BOOST_TEST(count_of(map, "M") - scale <= 1000u);
  BOOST_TEST(count_of(map, "M") - scale >= 900u);
  BOOST_TEST(page_has(map, "layer160 &amp; more"));
  BOOST_TEST(!page_has(map, "layer1 &amp; more"));  // the layer has no values
  BOOST_TEST(page_has(map, ">999</text>"));
  BOOST_TEST(heat_map({"a"}, {{0, {NAN}}}, 100).empty());
  BOOST_TEST(heat_map({}, {}, 100).empty());
}

// A report stays below 5 MB whatever the number of steps: here 50 runs of 20,000 steps each, with the norms of 54
// layers.
BOOST_AUTO_TEST_CASE(fifty_long_runs_take_less_than_5_mb) {
  ReportedRuns reported;
  for (int i = 0; i < 50; ++i) {
    ReportedRun one;
    one.name = fmt::format("run-{}", i);
    for (Curve* curve :
         {&one.curves.training_loss, &one.curves.learning_rate, &one.curves.samples_per_s, &one.curves.data_wait_ms})
      *curve = waves(20'000);
    one.curves.judged_goal = one.curves.judged_loss = waves(200);
    for (int l = 0; l < 54; ++l) one.layers.push_back(fmt::format("layer{}.weight", l));
    for (int64_t step = 0; step < 300; ++step)
      one.norms.push_back({step, {}, {}, std::vector<double>(54, 0.01 * static_cast<double>(step + 1 + i))});
    one.flags = {{"recipe", "small"}, {"lr", fmt::to_string(i)}};
    reported.runs.push_back(std::move(one));
  }
  const std::string text = report_page(reported);
  BOOST_TEST(text.size() < 5'000'000u);
  check_self_contained(text);
  for (int i = 0; i < 50; ++i) BOOST_TEST(page_has(text, fmt::format("<span>run-{}</span>", i)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::report_test
