// One page about runs: whose runs, what of them differs, what is drawn, and that nothing else is needed to read it.
#include "recipes/compare/report_page.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <regex>

#include "recipes/charts/heat_map.h"
#include "recipes/charts/run_charts.h"
#include "recipes/compare/report_table.h"
#include "recipes/compare/seed_lines.h"
#include "recipes/report/curve_points.h"
#include "recipes/sweep/sweep_store.h"
#include "tests/recipes/small_run.h"
#include "tests/support/few_threads.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::report_test {
namespace {

namespace fs = std::filesystem;
using test::run;

bool page_has(const std::string& page, const std::string& part) { return page.find(part) != std::string::npos; }

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// Finds what a browser would fetch, and tags that are not closed: there are none.
void check_self_contained(const std::string& page) {
  const std::string without_names = std::regex_replace(page, std::regex("xmlns=\"http://www.w3.org/2000/svg\""), "");
  for (const char* part : {"http:", "https:", "@import", "url(", "src=", "<link", "href="})
    BOOST_TEST(!page_has(without_names, part), part);
  for (const char* tag : {"svg", "table", "tr", "td", "g", "figure", "details", "button", "div", "span", "b", "html"})
    BOOST_TEST(count_of(page, fmt::format("</{}>", tag)) ==
                   count_of(page, fmt::format("<{}>", tag)) + count_of(page, fmt::format("<{} ", tag)),
               tag);
}

Curve waves(size_t count) {
  Curve curve;
  for (size_t i = 0; i < count; ++i) {
    const auto x = static_cast<double>(i);
    curve.push_back({x / 100, std::sin(0.37 * x) + 0.001 * x, x + 1});
  }
  return curve;
}

// A folder that a run might have left.
void write_run(const fs::path& folder, const std::string& flags, const std::string& metrics,
               const std::string& more = "") {
  fs::create_directories(folder);
  test::write_file(folder / "manifest.json",
                   R"({"recipe": "small", "seed": 1, "steps": 200, "steps_per_epoch": 10, "flags": {"minibatch": 10)" +
                       flags + "}" + more + "}\n");
  test::write_file(folder / "metrics.jsonl", metrics);
}

std::string step_lines(int64_t count, double loss) {
  std::string lines;
  for (int64_t step = 0; step < count; ++step)
    lines += fmt::format(
        "{{\"kind\":\"step\",\"step\":{},\"epoch\":{},\"loss\":{},\"lr\":0.1,\"samples_per_s\":{},\"data_wait_ms\":{}}}"
        "\n",
        step, 0.1 * static_cast<double>(step), loss / static_cast<double>(step + 1), 1000 + step % 2, 0.25);
  return lines;
}

struct ReportFixture {
  test::TemporaryDirectory directory;
  std::string page() { return report_page(read_runs({directory.path()})); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(report, ReportFixture)

BOOST_AUTO_TEST_CASE(decimation_keeps_first_last_least_and_greatest) {
  const auto less = [](const CurvePoint& a, const CurvePoint& b) { return a.value < b.value; };
  for (const size_t count : {0u, 1u, 5u, 41u, 42u, 43u, 44u, 1000u, 99'999u}) {
    const Curve curve = waves(count), few = decimated(curve, 20);
    BOOST_TEST_CONTEXT(count) {
      BOOST_TEST(few.size() <= 42u);
      if (count <= 42) BOOST_TEST(few.size() == count);
      if (count == 0) continue;
      BOOST_TEST(few.front().step == curve.front().step);
      BOOST_TEST(few.back().step == curve.back().step);
      BOOST_TEST(std::min_element(few.begin(), few.end(), less)->value ==
                 std::min_element(curve.begin(), curve.end(), less)->value);
      BOOST_TEST(std::max_element(few.begin(), few.end(), less)->value ==
                 std::max_element(curve.begin(), curve.end(), less)->value);
      for (size_t i = 1; i < few.size(); ++i) BOOST_TEST(few[i - 1].step < few[i].step);
    }
  }
}

BOOST_AUTO_TEST_CASE(smoothing_is_a_mean_over_a_hundredth) {
  BOOST_TEST(smoothed(waves(199)).at(100).value == waves(199)[100].value);
  const Curve curve = waves(1000), mean = smoothed(curve);
  double sum = 0;
  for (size_t i = 495; i <= 505; ++i) sum += curve[i].value;
  BOOST_TEST(mean.at(500).value == sum / 11, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(mean[500].step == curve[500].step);
  BOOST_TEST(mean.size() == curve.size());
}

BOOST_AUTO_TEST_CASE(averages_keep_sum_and_end) {
  const Curve curve = waves(1000), few = averaged(curve, 50);
  BOOST_REQUIRE(few.size() == 50u);
  double sum = 0, mean = 0;
  for (const CurvePoint& point : curve) sum += point.value;
  for (const CurvePoint& point : few) mean += point.value / 50;
  BOOST_TEST(mean == sum / 1000, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(few.back().step == curve.back().step);
  BOOST_TEST(few.front().step == curve[19].step);
  BOOST_TEST(averaged(curve, 1000).size() == 1000u);
  BOOST_TEST(averaged(waves(1003), 7).size() == 7u);
  BOOST_TEST(averaged({}, 7).empty());
}

BOOST_AUTO_TEST_CASE(runs_stand_beside_the_flags_that_differ) {
  BOOST_REQUIRE(run(directory / "study/seed-2", {"--seed", "2"}) == 0);
  BOOST_REQUIRE(run(directory / "study/seed-10", {"--seed", "10", "--lr", "0.05"}) == 0);
  BOOST_REQUIRE(run(directory / "study/deep/diverged", {"--seed", "2", "--lr", "1e30"}) == 4);
  const ReportedRuns reported = read_runs({directory / "study"});
  BOOST_REQUIRE(reported.runs.size() == 3u);
  BOOST_TEST(reported.runs[0].name == "deep/diverged");
  BOOST_TEST(reported.runs[1].name == "seed-2");  // before seed-10
  BOOST_TEST(reported.runs[2].name == "seed-10");
  BOOST_TEST((differing_flags(reported.runs) == std::vector<std::string>{"lr", "seed"}));
  BOOST_TEST(reported.runs[1].done_steps == 20);
  BOOST_TEST(reported.runs[1].process_bytes > 1'000'000);
  BOOST_TEST(reported.runs[1].program_bytes > 1'000);
  BOOST_TEST(reported.runs[1].samples_per_s > 0);
  BOOST_TEST(!reported.runs[0].reason.empty());
  const std::string text = report_page(reported);
  check_self_contained(text);
  for (const char* part : {"<th>lr</th><th>seed</th><th>ended</th>", ">diverged</b>", ">finished<", "test error, %",
                           "training loss", "learning rate", "samples/s", "wait for data", "seed-10"})
    BOOST_TEST(page_has(text, part), part);
  BOOST_TEST(!page_has(text, "<th>minibatch</th>"));
  BOOST_TEST(page_has(text, "<td>minibatch</td><td>10</td>"));  // what all have in common
  BOOST_TEST(!page_has(text, "<td>lr</td>"));
  const test::FewThreads none(0);
  BOOST_TEST(read_runs({directory / "study"}).runs.size() == 3u);
}

BOOST_AUTO_TEST_CASE(one_run_is_a_report_too) {
  BOOST_REQUIRE(run(directory / "run", {"--log-layers", "5st", "--optimizer", "lars"}) == 0);
  const ReportedRuns reported = read_runs({directory / "run"});
  BOOST_TEST(differing_flags(reported.runs).empty());
  const std::string text = report_page(reported);
  check_self_contained(text);
  BOOST_TEST(page_has(text, "<title>small: run</title>"));
  BOOST_TEST(page_has(text, "Trust ratios of layers"));
  BOOST_TEST(page_has(text, "conv.weight"));
  BOOST_TEST(!page_has(text, "bn.weight"));  // its rate is not adapted
  BOOST_TEST(page_has(text, "<td>optimizer</td><td>lars</td>"));
}

BOOST_AUTO_TEST_CASE(names_are_text) {
  const std::string name = "<script>\"a\" & b</script>";  // three folders deep, by its slash
  write_run(directory / name, ", \"note\": \"<i>&\\\"\"", step_lines(3, 2));
  write_run(directory / "plain", ", \"note\": \"x\"", step_lines(3, 2));
  const std::string text = page();
  BOOST_TEST(page_has(text, "&lt;script&gt;&quot;a&quot; &amp; b&lt;/script&gt;"));
  BOOST_TEST(page_has(text, "<td>&lt;i&gt;&amp;&quot;</td>"));
  BOOST_TEST(count_of(text, "<script>") == 1u);  // the page's own
  BOOST_TEST(!page_has(text, "<i>"));
  check_self_contained(text);
}

BOOST_AUTO_TEST_CASE(a_damaged_folder_is_told_and_left_out) {
  write_run(directory / "good", "", step_lines(3, 2));
  write_run(directory / "bad", "", step_lines(3, 2));
  test::write_file(directory / "bad/manifest.json", "{\"recipe\": ");
  fs::create_directories(directory / "torn");
  test::write_file(directory / "torn/metrics.jsonl", step_lines(3, 2));
  const ReportedRuns reported = read_runs({directory.path()});
  BOOST_REQUIRE(reported.runs.size() == 1u);
  BOOST_REQUIRE(reported.left_out.size() == 2u);
  BOOST_TEST(page_has(reported.left_out[0], "bad is left out: "), reported.left_out[0]);
  BOOST_TEST(page_has(reported.left_out[0], "manifest.json"), reported.left_out[0]);
  BOOST_TEST(page_has(reported.left_out[1], "torn is left out: "), reported.left_out[1]);
  BOOST_TEST(page_has(report_page(reported), "is left out: "));
  fs::remove_all(directory / "good");
  BOOST_CHECK_EXCEPTION(read_runs({directory.path()}), Error, test::says("no run can be read", "bad", "torn"));
}

BOOST_AUTO_TEST_CASE(what_is_no_run_is_refused) {
  fs::create_directories(directory / "empty");
  test::write_file(directory / "file", "");
  BOOST_CHECK_EXCEPTION(read_runs({directory / "none"}), Error,
                        test::says("none: expected a run folder", "got nothing"));
  BOOST_CHECK_EXCEPTION(read_runs({directory / "file"}), Error,
                        test::says("file: expected a run folder", "got a file"));
  BOOST_CHECK_EXCEPTION(read_runs({directory / "empty"}), Error, test::says("empty: expected", "manifest.json"));
}

BOOST_AUTO_TEST_CASE(a_run_counts_once_by_whatever_path) {
  write_run(directory / "study/a", "", step_lines(3, 2));
  write_run(directory / "study/b", "", step_lines(3, 2));
  fs::create_directory_symlink(directory / "study/a", directory / "study/link");
  BOOST_TEST(read_runs({directory / "study", directory / "study/a", directory / "study/../study/b"}).runs.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_run_under_way_says_how_far_it_is) {
  write_run(directory / "run", "", step_lines(50, 2) + "{\"kind\":\"step\",\"st");
  BOOST_TEST(page_has(page(), "not ended: 50 of 200 steps"));
  fs::remove(directory / "run/metrics.jsonl");
  BOOST_TEST(page_has(page(), "not ended: 0 of 200 steps"));
  BOOST_TEST(!page_has(page(), "<h2>Curves</h2>"));
}

// Parts and states of a run have columns of their own, and so has every metric.
BOOST_AUTO_TEST_CASE(parts_and_states_stand_apart) {
  const std::string goal = R"(, "goal": {"name": "error", "is_share": true, "higher_is_better": false},
    "metrics": [{"name": "error", "is_share": true, "higher_is_better": false},
                {"name": "bleu", "is_share": false, "higher_is_better": true}])";
  const std::string eval = R"({"kind":"eval","step":100,"epoch":1,"part":"valid","loss":1,"error":0.25}
{"kind":"eval","step":200,"epoch":2,"part":"valid","loss":2,"error":0.5}
)";
  write_run(directory / "held-out", "", eval, goal + R"(, "ended": {"how": "finished", "step": 200},
    "result": {"error": 0.375, "bleu": 20.5, "loss": 3, "part": "test", "best":
      {"step": 100, "chosen_on": "valid", "valid": {"error": 0.25, "loss": 1}, "test": {"error": 0.125, "bleu": 21}}})");
  write_run(directory / "plain", "", R"({"kind":"eval","step":100,"epoch":1,"part":"test","loss":1,"error":0.75}
)",
            goal);
  const std::string text = page();
  check_self_contained(text);
  const auto column_of = [&](const std::string& title) {
    const std::string head =
        text.substr(text.find("<tr><th>run</th>"), text.find("</tr>") - text.find("<tr><th>run</th>"));
    const size_t at = head.find("<th>" + title + "</th>");
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, title << " in " << head);
    return count_of(head.substr(0, at), "<th>");
  };
  const auto cell = [&](const std::string& run, const std::string& title) {
    const size_t row = text.find("</svg>" + run + "</td>");
    const std::regex cells("<td( data-order=\"[^\"]*\")?>([^<]*)");
    const std::string line = text.substr(row, text.find("</tr>", row) - row);
    std::vector<std::string> words = {run};
    for (std::sregex_iterator at(line.begin(), line.end(), cells), end; at != end; ++at) words.push_back((*at)[2]);
    return words.at(column_of(title));
  };
  BOOST_TEST(cell("held-out", "test error, final") == "37.50 %");
  BOOST_TEST(cell("held-out", "test error, best") == "12.50 %");
  BOOST_TEST(cell("held-out", "valid error, final") == "50.00 %");
  BOOST_TEST(cell("held-out", "valid error, best") == "25.00 % (epoch 1)");
  BOOST_TEST(cell("held-out", "test bleu, final") == "20.5");
  BOOST_TEST(cell("held-out", "test bleu, best") == "21");
  BOOST_TEST(cell("held-out", "valid loss, best") == "1");
  BOOST_TEST(cell("plain", "test error, final") == "75.00 %");
  BOOST_TEST(cell("plain", "valid error, final") == "-");
  BOOST_TEST(count_of(text, "<th>steps</th>") == 0u);
  BOOST_TEST(page_has(text, "<th>steps done</th>"));
  BOOST_TEST(page_has(text, "data-order=\"37.5\""));
}

// To its own manifest a hopeless trial was interrupted.
BOOST_AUTO_TEST_CASE(a_hopeless_trial_is_called_so) {
  SweepDefinition definition;
  definition.recipe = "small";
  definition.words = {"--target", "error=0.1"};
  definition.minibatches = {10};
  definition.ranges = {{parse_search("lr=0.1,0.2,0.4"), false, false}};
  definition.trials = 3;
  const fs::path store = directory / "store";
  open_sweep(store, definition);
  const auto ended = [](const char* how, int64_t step, const char* more) {
    return fmt::format(R"(, "ended": {{"how": "{}", "step": {}}}, "result": {{"error": 0.05{}}})", how, step, more);
  };
  SweepView view(store);
  view.refresh();
  const std::vector<PlannedTrial> trials = view.plan().minibatches.at(0).trials;
  BOOST_REQUIRE(trials.size() == 3u);
  write_run(store / trials[0].name, ", \"lr\": 0.1", step_lines(20, 2),
            ended("target", 20, R"(, "target_step": 20, "target_samples": 200)"));
  write_run(store / trials[1].name, ", \"lr\": 0.2", step_lines(30, 2), ended("interrupted", 30, ""));
  write_run(store / trials[2].name, ", \"lr\": 0.4", step_lines(22, 2), ended("interrupted", 22, ""));
  const std::string text = report_page(read_runs({store}));
  BOOST_TEST(page_has(text, "hopeless: stopped after 30 steps"));
  BOOST_TEST(count_of(text, "hopeless: ") == 1u);
  BOOST_TEST(page_has(text, "<td>interrupted</td>"));  // it goes on once the sweep does
  // A trial alone is one of its sweep all the same; a damaged sweep is told.
  BOOST_TEST(page_has(report_page(read_runs({store / trials[1].name})), "hopeless: "));
  test::write_file(store / "sweep.json", "{");
  const ReportedRuns damaged = read_runs({store});
  BOOST_TEST(damaged.runs.size() == 3u);
  BOOST_REQUIRE(damaged.left_out.size() == 1u);
  BOOST_TEST(page_has(damaged.left_out[0], "which trials are hopeless is not told"), damaged.left_out[0]);
}

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
  BOOST_TEST(band.mean[1].value == 3.5);  // the first one ended at step 10
  BOOST_TEST((band.low[1].value == 1 && band.high[1].value == 6));
  const CurveBand between = band_of({curve({{0, 4}, {20, 2}}), curve({{0, 0}, {5, 8}, {20, 8}})});
  BOOST_REQUIRE(between.mean.size() == 2u);
  BOOST_TEST(between.mean[1].value == 5);
  const CurveBand alone = band_of({curve({{0, 4}, {10, 2}})});
  BOOST_TEST((alone.mean.size() == 2u && alone.low.empty() && alone.high.empty()));
  BOOST_TEST(band_of(std::vector<Curve>()).mean.empty());
}

BOOST_AUTO_TEST_CASE(runs_that_differ_by_their_seeds_are_one_line) {
  const auto seed = [&](const std::string& name, const char* rate, int number, const std::string& more = "") {
    write_run(directory / name, fmt::format(R"(, "lr": {}, "seed": {})", rate, number), step_lines(20, 2 + number),
              more);
  };
  for (int number = 1; number <= 3; ++number) seed(fmt::format("kn8-seed-{}", number), "0.1", number);
  seed("kn8-seed-4", "0.1", 4, R"(, "ended": {"how": "diverged", "step": 3}, "result": {"diverged": true})");
  seed("other", "0.2", 1);
  const ReportedRuns reported = read_runs({directory.path()});
  const std::vector<SeedLine> lines = seed_lines(reported.runs);
  std::vector<std::string> names;
  for (const SeedLine& line : lines) names.push_back(line.name);
  BOOST_TEST(names == (std::vector<std::string>{"kn8, 3 seeds", "kn8-seed-4", "other"}),
             boost::test_tools::per_element());
  BOOST_TEST(line_numbers(lines) == (std::vector<size_t>{0, 0, 0, 1, 2}), boost::test_tools::per_element());
  const std::string text = report_page(reported);
  BOOST_TEST(count_of(text, "<polygon") > 0u);
  BOOST_TEST(page_has(text, "<tr class=\"pick\" data-run=\"2\">"));
  check_self_contained(text);
}

// Throughput of many runs is a row a run; of few a line of medians over the course.
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
  BOOST_TEST(page_has(many.by_steps, "run-3: 1001, nine tenths of the steps 1000 to 1001"));
  std::smatch points;
  const std::regex line("<polyline fill=\"none\" points=\"([^\"]*)\"");
  BOOST_REQUIRE(std::regex_search(few.by_steps, points, line));
  BOOST_TEST(count_of(points[1], ",") == kMedians);
}

// What a page does without a browser: tests/peers/report_in_browser.py sorts and filters.
BOOST_AUTO_TEST_CASE(names_are_whole_beside_their_keys) {
  write_run(directory / "run", "", step_lines(3, 2));
  const std::string text = page();
  BOOST_TEST(
      page_has(text, "width:24px;max-width:none"));  // a key as wide as nothing lets a name stand over its neighbour
  BOOST_TEST(!page_has(text, ".runs td:first-child{max-width:45vw;overflow:hidden"));
}

BOOST_AUTO_TEST_CASE(medians_are_those_of_the_steps) {
  write_run(directory / "run", "", step_lines(21, 2));
  const ReportedRun run = read_runs({directory / "run"}).runs.at(0);
  BOOST_TEST(run.samples_per_s == 1000);  // 11 of 21
  BOOST_TEST(run.data_wait_ms == 0.25);
}

// One that diverged leaves the chart; the others' curves are as high as without it.
BOOST_AUTO_TEST_CASE(a_run_that_diverged_does_not_flatten_the_others) {
  std::vector<ChartedLine> runs;
  for (int i = 0; i < 3; ++i) runs.push_back({fmt::to_string(i), {read_curves(step_lines(50, 2))}});
  const std::string tame = run_charts(runs).at(0).by_steps;
  runs.push_back({"wild", {read_curves(step_lines(50, 1e30))}});
  const std::string wild = run_charts(runs).at(0).by_steps;
  const auto least_y = [](const std::string& svg, const std::string& of) {
    const std::regex group("data-run=\"" + of + "\"[^]*?points=\"([^\"]*)\"");
    std::smatch points;
    BOOST_REQUIRE(std::regex_search(svg, points, group));
    const std::string text = points[1];
    const std::regex y(",([0-9.]+)");
    double least = INFINITY;
    for (std::sregex_iterator at(text.begin(), text.end(), y), end; at != end; ++at)
      least = std::min(least, std::stod((*at)[1]));
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
  BOOST_TEST(!page_has(map, "layer1 &amp; more"));  // blank throughout
  BOOST_TEST(page_has(map, ">999</text>"));
  BOOST_TEST(heat_map({"a"}, {{0, {NAN}}}, 100).empty());
  BOOST_TEST(heat_map({}, {}, 100).empty());
}

// The bound of a report, whatever the number of steps: here 20,000 of each of 50 runs, with layers.
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
