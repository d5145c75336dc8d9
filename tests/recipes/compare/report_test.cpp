// One page about runs: whose runs, what of them differs, what is drawn, and that nothing else is needed to read it.
#include "tests/recipes/compare/report_fixture.h"
#include "tests/support/matches.h"

#include <boost/test/unit_test.hpp>

namespace kb::report_test {

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
  BOOST_TEST(reported.runs[0].reason ==
             test::lines_of(directory / "study/deep/diverged").back().at("reason").get<std::string>());
  const std::string text = report_page(reported);
  check_self_contained(text);
  for (const char* part : {"<th>lr</th><th>seed</th><th>ended</th>", ">diverged</b>", ">finished<", "test error, %",
                           "training loss", "learning rate", "samples/s", "wait for data", "seed-10"})
    BOOST_TEST(page_has(text, part), part);
  BOOST_TEST(!page_has(text, "<th>minibatch</th>"));
  BOOST_TEST(page_has(text, "<td>minibatch</td><td>10</td>"));  // all runs have it in common
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
  const std::string name = "<script>\"a\" & b</script>";  // its slash makes it a folder in a folder
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

// Every metric has a column of its own for each part (test, valid) and each state (final, best) of a run.
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
    const std::string line = text.substr(row, text.find("</tr>", row) - row);
    std::vector<std::string> words = {run};
    for (const test::Match& match : test::all_matches(line, "<td( data-order=\"[^\"]*\")?>([^<]*)"))
      words.push_back(match[2]);
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

// The manifest of a hopeless trial only says that it was interrupted; the sweep knows that it is hopeless.
BOOST_AUTO_TEST_CASE(a_hopeless_trial_is_called_so) {
  SweepDefinition definition;
  definition.recipe = "small";
  definition.words = {"--target", "error=0.1"};
  definition.minibatches = {10};
  definition.ranges = {{parse_search("lr=0.1,0.2,0.4,0.8"), false, false}};
  definition.trials = 4;
  const fs::path store = directory / "store";
  open_sweep(store, definition);
  const auto ended = [](const char* how, int64_t step, const char* more) {
    return fmt::format(R"(, "ended": {{"how": "{}", "step": {}}}, "result": {{"error": 0.05{}}})", how, step, more);
  };
  SweepView view(store);
  view.refresh();
  const std::vector<PlannedTrial> trials = view.plan().minibatches.at(0).trials;
  BOOST_REQUIRE(trials.size() == 4u);
  const auto rate = [](const PlannedTrial& trial) { return ", \"lr\": " + trial.values.at("lr"); };
  write_run(store / trials[0].name, rate(trials[0]), step_lines(20, 2),
            ended("target", 20, R"(, "target_step": 20, "target_samples": 200)"));
  write_run(store / trials[1].name, rate(trials[1]), step_lines(30, 2), ended("interrupted", 30, ""));
  write_run(store / trials[2].name, rate(trials[2]), step_lines(22, 2), ended("interrupted", 22, ""));
  write_run(store / trials[3].name, rate(trials[3]), step_lines(40, 2), ended("diverged", 40, R"(, "diverged": true)"));
  const std::string text = report_page(read_runs({store}));
  BOOST_TEST(page_has(text, "hopeless: stopped after 30 steps"));
  BOOST_TEST(count_of(text, "hopeless: ") == 1u);
  BOOST_TEST(page_has(text, ">diverged</b>"));         // it was not stopped, though the plan calls it hopeless
  BOOST_TEST(page_has(text, "<td>interrupted</td>"));  // it goes on once the sweep does
  // A trial that is given alone is looked up in its sweep all the same; a sweep that cannot be read is reported.
  BOOST_TEST(page_has(report_page(read_runs({store / trials[1].name})), "hopeless: "));
  test::write_file(store / "sweep.json", "{");
  const ReportedRuns damaged = read_runs({store});
  BOOST_TEST(damaged.runs.size() == 4u);
  BOOST_REQUIRE(damaged.left_out.size() == 1u);
  BOOST_TEST(page_has(damaged.left_out[0], "which trials are hopeless is not told"), damaged.left_out[0]);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::report_test
