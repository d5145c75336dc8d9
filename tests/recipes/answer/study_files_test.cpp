// Files, pages and figures of a study's answer.
#include "tests/recipes/answer/study_cases.h"
#include "tests/support/matches.h"

#include <boost/test/unit_test.hpp>

namespace kb::study_answer_test {

BOOST_AUTO_TEST_SUITE(study_files)

BOOST_AUTO_TEST_CASE(the_files_are_read_again) {
  const std::string csv = answer_csv(law_answer());
  const Measurements again = parse_measurement_table(csv, "study.csv");
  BOOST_TEST(again.runs.size() == 9u);
  const StudyAnswer answer = answer_study(again.runs, {});
  BOOST_TEST(answer.fit.value().of_one.value().b_crit.value == kLawCritical, boost::test_tools::tolerance(1e-6));

  const nlohmann::json json = nlohmann::json::parse(answer_json(law_answer(), kSource));
  BOOST_TEST(json.at("fit").at("b_crit").at("value").get<double>() == kLawCritical, boost::test_tools::tolerance(1e-4));
  BOOST_TEST(json.at("fit").at("b_crit").at("low").get<double>() < kLawCritical);
  BOOST_TEST(json.at("fit").at("gain_ends").at("value").get<double>() == 600, boost::test_tools::tolerance(1e-4));
  BOOST_TEST(json.at("fit_with_k_1").at("k").at("value") == 1);
  BOOST_TEST(json.at("law_test").at("rejected") == false);
  BOOST_TEST(json.at("minibatches").size() == 9u);
  BOOST_TEST(json.at("minibatches").at(0).at("rates").size() == 7u);
  BOOST_TEST(json.at("minibatches").at(0).at("best").at("region") == "perfect scaling");
}

BOOST_AUTO_TEST_CASE(measurements_are_written_as_they_are_read) {
  std::vector<Measurement> runs = law_runs();
  for (Measurement& run : runs) run.samples = 1000;
  runs[0].setting = "a, \"b\"";
  runs[1].seed.reset();
  runs[2].rate.reset();
  runs[3].eval_every = 12.5;
  const std::vector<Measurement> again = table_runs(measurement_table(runs));
  BOOST_REQUIRE(again.size() == runs.size());
  const auto near = boost::test_tools::tolerance(1e-8);
  for (size_t i = 0; i < runs.size(); ++i) {
    BOOST_TEST(again[i].minibatch == runs[i].minibatch);
    BOOST_TEST(again[i].setting == runs[i].setting);
    BOOST_TEST(again[i].diverged == runs[i].diverged);
    BOOST_TEST((again[i].seed == runs[i].seed));
    BOOST_TEST(again[i].rate.has_value() == runs[i].rate.has_value());
    BOOST_TEST(again[i].rate.value_or(0) == runs[i].rate.value_or(0), near);
    BOOST_TEST((again[i].eval_every == runs[i].eval_every));
    BOOST_TEST(again[i].steps.has_value() == runs[i].steps.has_value());
    BOOST_TEST(again[i].steps.value_or(0) == runs[i].steps.value_or(0), near);
    if (!runs[i].steps) BOOST_TEST(again[i].samples.value() == 1000, near);
  }
}

BOOST_AUTO_TEST_CASE(the_page_holds_all_and_loads_nothing) {
  const std::vector<AnswerFigure> figures = answer_figures(law_answer());
  BOOST_REQUIRE(figures.size() == 5u);
  const std::string page = answer_page(law_answer(), kSource, figures);
  for (const char* part : {"runs &lt;1&gt;.csv", "name=\"viewport\"", "width=device-width", "max-width:100%", "B_crit",
                           "Best learning rate", "diminishing returns", "E(B) = E_min + S_min B"})
    BOOST_TEST(test::contains(page, part));
  for (const char* part : {"https:", "<script", "<link", "@import", "src=", "href=", "url("})
    BOOST_TEST(!test::contains(page, part), part);
  // SVG's namespace looks like an address, but no browser fetches it.
  BOOST_TEST(count_of(page, "http:") == figures.size());
  BOOST_TEST(count_of(page, "xmlns=\"http://www.w3.org/2000/svg\"") == figures.size());
}

BOOST_AUTO_TEST_CASE(figures_show_every_minibatch_and_rate) {
  const std::vector<AnswerFigure> figures = answer_figures(law_answer());
  const auto svg = [&](const std::string& name) {
    for (const AnswerFigure& figure : figures)
      if (figure.name == name) return figure.svg;
    throw Error("no figure " + name);
  };
  for (const char* name : {"steps", "samples", "efficiency", "rates"})
    BOOST_TEST(count_of(svg(name), "<title>minibatch ") == 9u);
  BOOST_TEST(count_of(svg("rate_map"), "<title>rate ") == 63u);
  BOOST_TEST(count_of(svg("rate_map"), "1 diverged</title>") == 9u);
  for (const char* region : {"perfect scaling<", "diminishing returns<", "no gain<"})
    BOOST_TEST(test::contains(svg("steps"), region));
  for (const AnswerFigure& figure : figures) {
    BOOST_TEST(!test::contains(figure.svg, "nan"));
    BOOST_TEST(!test::contains(figure.svg, "inf"));
  }
}

// The fit at the left end of the axis, and the interval of a lucky set of seeds, lie above 100 %.
BOOST_AUTO_TEST_CASE(efficiency_beyond_a_hundred_per_cent_is_drawn) {
  std::vector<Measurement> runs = law_runs();
  for (Measurement& run : runs)
    if (run.minibatch == 16 && run.steps && run.seed != 1) *run.steps *= 0.6;
  const StudyAnswer answer = answer_study(runs, {});
  const std::string svg = figure_of(answer, "efficiency");
  double most = 0;
  for (const test::Match& tick : test::all_matches(svg, R"RE(text-anchor="end"[^>]*>([0-9.]+)</text>)RE"))
    most = std::max(most, std::stod(tick[1]));
  const BestResult& lucky = answer.best[1];
  const double upper = 100 * answer.base_result().samples / (16 * lucky.interval.value().low);
  BOOST_TEST(upper > 100);
  BOOST_TEST(most >= upper);
  BOOST_TEST(most >= 100 * answer.base_result().samples / answer.fit->answer.samples_at(8 / 1.3));
  const test::Match fit = test::first_match(svg, R"RE(points="([0-9.]+),([0-9.]+) [^"]*" stroke="#0072b2")RE");
  BOOST_REQUIRE(!fit.empty());
  BOOST_TEST(std::stod(fit[1]) == 66);  // the line of the fit begins at the left end of the axis
}

// The best rate has further seeds; its cell in the map counts only those that all other rates have too.
BOOST_AUTO_TEST_CASE(a_map_compares_runs_of_the_same_seeds) {
  const std::string table =
      "minibatch,rate,seed,steps,diverged\n"
      "8,0.1,1,100,0\n8,0.1,2,160,0\n8,0.1,3,170,0\n8,0.2,1,110,0\n8,0.4,1,,1\n";
  const StudyAnswer answer = answer_study(table_runs(table), {});
  BOOST_TEST(answer.best[0].best.runs == 3u);
  const MinibatchResults alike = of_common_seeds(answer.all[0]);
  BOOST_TEST((alike.rates[0].steps == std::vector<double>{100}));
  BOOST_TEST(alike.rates[0].runs == 1u);
  BOOST_TEST(alike.rates[2].diverged == 1u);
  const std::string map = figure_of(answer, "rate_map");
  BOOST_TEST(test::contains(map, "1 of 1 runs reached the target, 0 diverged; 100 steps"));
  BOOST_TEST(test::contains(map, ">100</text>"));
  BOOST_TEST(test::contains(map, "same seeds"));
  // Every run counts if no seed is common to all.
  const StudyAnswer apart =
      answer_study(table_runs("minibatch,rate,seed,steps\n8,0.1,1,100\n8,0.1,2,160\n8,0.2,3,110\n"), {});
  BOOST_TEST(of_common_seeds(apart.all[0]).rates[0].runs == 2u);
}

// The legend is as long as that of a sweep over many minibatches.
BOOST_AUTO_TEST_CASE(no_entry_of_a_legend_passes_the_edge) {
  constexpr double kRight = 520, kLetters = 12;
  std::vector<ChartEntry> entries = {{"target"}};
  for (int minibatch = 8; minibatch <= 65536; minibatch *= 2) entries.push_back({fmt::to_string(minibatch)});
  Svg svg(kRight, 100);
  draw_entries(svg, 16, 46, kRight, entries);
  const std::string text = svg.str();
  const std::string words = R"RE(<text x="([0-9.]+)" y="([0-9.]+)"[^>]*>([^<]*)</text>)RE";
  size_t found = 0;
  std::map<double, double> end_of_line;  // the key is the y of the line
  for (const test::Match& match : test::all_matches(text, words)) {
    BOOST_TEST(match[3] == entries[found++].words);
    double& last = end_of_line[std::stod(match[2])];
    BOOST_TEST(std::stod(match[1]) > last);
    last = std::stod(match[1]) + text_width(match[3], kLetters);
    BOOST_TEST(last < kRight);
  }
  BOOST_TEST(found == entries.size());
  BOOST_TEST(end_of_line.size() == 3u);
}

BOOST_AUTO_TEST_CASE(the_tool_leaves_a_folder) {
  const test::TemporaryDirectory directory;
  std::string table = "minibatch,rate,seed,steps,diverged,host\n";
  for (const Measurement& run : law_runs())
    table += fmt::format("{},{},{},{},{:d},a\n", run.minibatch, *run.rate, *run.seed,
                         run.steps ? fmt::to_string(*run.steps) : "", run.diverged);
  test::write_file(directory / "runs.csv", table);
  const auto study = [](const std::vector<std::string>& words) {
    std::vector<std::string> argv = {std::string(KB_BIN) + "/study"};
    argv.insert(argv.end(), words.begin(), words.end());
    return Process(argv).wait();
  };
  const ProcessResult result = study({(directory / "runs.csv").string()});
  BOOST_REQUIRE(result.status == 0);
  for (const char* part : {"81 runs", "columns that are not read: host", "B_crit, samples       150", "runs-study"})
    BOOST_TEST(test::contains(result.output, part));
  for (const char* name : {"study.csv", "runs.csv", "study.json", "study.html", "steps.svg", "samples.svg",
                           "efficiency.svg", "rates.svg", "rate_map.svg"})
    BOOST_TEST(std::filesystem::exists(directory / "runs-study" / name), name);
  if (RuntimeOptions::from_environment().rsvg_convert.empty()) {
    BOOST_TEST_MESSAGE("SKIPPED: PNG and PDF, for want of rsvg-convert");
    BOOST_TEST(test::contains(result.output, "no PNG and no PDF: rsvg-convert is not installed"));
  } else {
    for (const std::string name : {"steps", "samples", "rates", "rate_map"}) {
      BOOST_TEST(test::read_file(directory / "runs-study" / (name + ".png")).starts_with("\x89PNG"));
      BOOST_TEST(test::read_file(directory / "runs-study" / (name + ".pdf")).starts_with("%PDF"));
    }
    BOOST_TEST(!std::filesystem::exists(directory / "runs-study" / "steps.png.tmp"));
  }
  const ProcessResult no_folder =
      study({(directory / "runs.csv").string(), "--out", (directory / "runs.csv/a").string()});
  BOOST_TEST(no_folder.status == 1);
  BOOST_TEST(test::contains(no_folder.output, "--out: cannot make the folder"));
  BOOST_TEST(study({"/nowhere.csv"}).status == 1);
  test::write_file(directory / "bad.csv", "minibatch,steps\n8,many\n");
  const ProcessResult bad = study({(directory / "bad.csv").string()});
  BOOST_TEST(bad.status == 1);
  BOOST_TEST(test::contains(bad.output, "bad.csv:2: steps\n  expected: "));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::study_answer_test
