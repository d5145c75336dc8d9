// Several targets out of one sweep: laws that are known are found again, verdicts, files, profiles.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "recipes/answer/answer_files.h"
#include "recipes/answer/csv.h"
#include "recipes/answer/performance_profile.h"
#include "recipes/answer/targets_files.h"
#include "recipes/answer/targets_text.h"
#include "recipes/config/values.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::targets_test {
namespace {

// The law of B_crit against the loss, B* / L^(1 / alpha), and the steps S_min to a loss.
constexpr double kStar = 100, kAlpha = 0.2;
double critical_at(double loss) { return kStar / std::pow(loss, 1 / kAlpha); }
double least_steps_to(double loss) { return 300 / (loss * loss); }

// Returns runs to a loss L at the minibatches 8, 16, .., 1024. A run takes S_min(L) (1 + B_crit / B) steps at the best
// rate, and 20 % more at half or twice that rate; chance makes them some 2 % more or less. The best rate is 0.1 L, so
// that each target has another one.
StoreResults results_at(double loss, double b_crit, double factor = 1) {
  StoreResults results{{"loss", loss}};
  std::mt19937 random(1);
  std::normal_distribution<double> chance(0, 0.02);
  for (int i = 0; i < 8; ++i)
    for (int octave = -1; octave <= 1; ++octave)
      for (int seed = 1; seed <= 3; ++seed) {
        const double minibatch = std::exp2(3 + i);
        Measurement run{static_cast<int64_t>(minibatch), 0.1 * loss * std::exp2(octave), seed, {}};
        run.steps = factor * least_steps_to(loss) * (1 + b_crit / minibatch) * (1 + 0.2 * std::abs(octave));
        *run.steps *= std::exp(chance(random));
        results.measurements.push_back(run);
      }
  return results;
}

TargetsAnswer asked(const std::string& name = "curve") {
  return {name, {"loss", 1}, false, 64, {{{"target", "loss=1"}, {"data", "text 01"}}, {}}, {}};
}

// Returns the answer for the losses 1.4, 1.3, .., 1.0 by the law above, and for 0.8, which no run reaches.
TargetsAnswer law_answer() {
  std::vector<StoreResults> results;
  for (const double loss : {1.0, 1.2, 1.4, 1.3, 1.1}) results.push_back(results_at(loss, critical_at(loss)));
  results.push_back(results_at(0.8, 1));
  for (Measurement& run : results.back().measurements) run.samples = 1000, run.steps.reset();
  return answer_targets(asked(), std::move(results));
}

Verdict growth_of(const std::vector<double>& critical) {
  std::vector<StoreResults> results;
  for (size_t i = 0; i < critical.size(); ++i)
    results.push_back(results_at(1.4 - 0.1 * static_cast<double>(i), critical[i]));
  return answer_targets(asked(), std::move(results)).growth();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(several_targets)

BOOST_AUTO_TEST_CASE(the_law_of_each_target_and_that_of_all_are_found_again) {
  const TargetsAnswer answer = law_answer();
  BOOST_REQUIRE(answer.targets.size() == 6u);
  for (size_t i = 0; i < 5; ++i) {
    const TargetAnswer& one = answer.targets[i];
    const double loss = 1.4 - 0.1 * static_cast<double>(i);  // from the easiest to the hardest
    BOOST_TEST(one.target.value == loss, boost::test_tools::tolerance(1e-9));
    const ScalingFit& fit = *one.fit();
    BOOST_TEST(fit.b_crit.value == critical_at(loss), boost::test_tools::tolerance(0.08));
    BOOST_TEST(fit.b_crit.interval.low < critical_at(loss));
    BOOST_TEST(fit.b_crit.interval.high > critical_at(loss));
    BOOST_TEST(fit.s_min.value == least_steps_to(loss), boost::test_tools::tolerance(0.05));
    for (const BestResult& best : one.answer->best)
      BOOST_TEST(best.best.rate.value() == 0.1 * loss, boost::test_tools::tolerance(1e-9));
  }
  const PowerLaw law = answer.law().value();
  BOOST_TEST(law.factor == kStar, boost::test_tools::tolerance(0.05));
  BOOST_TEST(-1 / law.exponent == kAlpha, boost::test_tools::tolerance(0.1));
  BOOST_TEST(text_of(answer.growth()) == "held");
}

// One target is a list of one: its answer is that of a study of these runs.
BOOST_AUTO_TEST_CASE(one_target_has_the_answer_of_a_study) {
  const TargetsAnswer answer = answer_targets(asked(), {results_at(1, 100)});
  const StudyAnswer alone = answer_study(results_at(1, 100).measurements, {});
  BOOST_TEST(answer_members(*answer.targets.at(0).answer).dump() == answer_members(alone).dump());
  BOOST_TEST(text_of(answer.growth()) == "undecided");
  BOOST_TEST(!answer.law());
}

BOOST_AUTO_TEST_CASE(a_verdict_needs_intervals_that_are_apart) {
  BOOST_TEST(text_of(growth_of({50, 100, 200})) == "held");
  BOOST_TEST(text_of(growth_of({200, 100, 50})) == "not held");
  BOOST_TEST(text_of(growth_of({100, 101, 102})) == "undecided");
  BOOST_TEST(text_of(growth_of({50, 300, 200})) == "undecided");  // it is not greater at each than before
  BOOST_TEST(text_of(growth_of({50})) == "undecided");
  TargetsAnswer falling = answer_targets(asked(), {results_at(1.4, 200), results_at(1, 50)});
  BOOST_TEST(test::contains(targets_sentences(falling).at(1), "B_crit does not grow as the loss L falls"));
  // Shares that are the better the greater they are have an order, but no law.
  std::vector<StoreResults> results = {results_at(0.9, 100), results_at(0.7, 20)};
  for (StoreResults& one : results) one.target.metric = "top5";
  TargetsAnswer shares = asked();
  shares.own = {"top5", 0.9}, shares.higher_is_better = true;
  shares = answer_targets(std::move(shares), std::move(results));
  BOOST_TEST(shares.targets.front().target.value == 0.7);
  BOOST_TEST(text_of(shares.growth()) == "held");
  BOOST_TEST(!shares.law());
}

BOOST_AUTO_TEST_CASE(a_target_that_no_run_reaches_is_told) {
  const std::vector<std::string> notes = target_notes(law_answer());
  BOOST_REQUIRE(notes.size() == 1u);
  BOOST_TEST(notes.front() == "loss=0.8: 0 of 72 runs reach it, 0 minibatches of 8; the runs end at loss=1");
  StoreResults few = results_at(1.2, 100);
  for (Measurement& run : few.measurements)
    if (run.minibatch > 16) run.steps.reset();
  const TargetsAnswer answer = answer_targets(asked(), {few});
  BOOST_TEST(target_notes(answer).front() == "loss=1.2: 18 of 72 runs reach it, 2 minibatches of 8");
  BOOST_TEST(answer.targets.front().fit() == nullptr);
  const TargetsAnswer none = answer_targets(asked(), {StoreResults{{"loss", 2}}});
  BOOST_TEST(targets_figures(none).empty());
  BOOST_TEST(targets_sentences(none).front() ==
             "Does B_crit grow as the loss falls? undecided: of 0 targets the runs tell a B_crit, and two are needed.");
  BOOST_TEST(test::contains(targets_page(none, "./run study", {}), "loss=2"));
}

BOOST_AUTO_TEST_CASE(the_text_fits_a_terminal) {
  const std::string text = targets_text(law_answer());
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= 80u, line);
  test::golden("targets.txt", text);
}

BOOST_AUTO_TEST_CASE(the_files_hold_every_target) {
  const TargetsAnswer answer = law_answer();
  const std::vector<CsvRecord> table = parse_csv(targets_csv(answer), "targets.csv");
  BOOST_REQUIRE(table.size() == 7u);
  for (const CsvRecord& line : table) BOOST_TEST(line.fields.size() == table.front().fields.size());
  BOOST_TEST(table[1].fields[0] == "loss=1.4");
  BOOST_TEST(table[1].fields.back() == "64");
  BOOST_TEST(table[6].fields[6] == "");  // no minibatch reaches the last target
  const std::vector<CsvRecord> steps = parse_csv(targets_steps_csv(answer), "targets_steps.csv");
  BOOST_TEST(steps.size() == 1u + 5 * 8);
  for (const CsvRecord& line : steps) BOOST_TEST(line.fields.size() == steps.front().fields.size());
  const nlohmann::json json = nlohmann::json::parse(targets_json(answer, "./run study"));
  BOOST_TEST(json.at("b_crit_grows") == "held");
  BOOST_TEST(json.at("b_crit_over_loss").at("alpha").get<double>() == kAlpha, boost::test_tools::tolerance(0.1));
  const nlohmann::json& first = json.at("targets").at(0);
  const double samples = first.at("answer").at("fit").at("b_crit").at("value").get<double>();
  BOOST_TEST(first.at("in_tokens").at("b_crit").at("value").get<double>() == 64 * samples);
  BOOST_TEST(first.at("answer").at("minibatches").size() == 8u);
  BOOST_TEST(json.at("targets").at(5).at("answer").is_null());
}

BOOST_AUTO_TEST_CASE(the_page_has_all_figures_and_loads_nothing) {
  const TargetsAnswer answer = law_answer();
  const std::vector<AnswerFigure> figures = targets_figures(answer);
  std::vector<std::string> names;
  for (const AnswerFigure& figure : figures) {
    names.push_back(figure.name);
    for (const char* word : {"nan", "inf"}) BOOST_TEST(!test::contains(figure.svg, word), figure.name);
  }
  BOOST_TEST(names == (std::vector<std::string>{"targets_steps", "targets_rates", "targets_critical"}));
  const std::string page = targets_page(answer, "./run study <1>", figures);
  for (const char* part : {"./run study &lt;1&gt;", "NOTE: loss=0.8: 0 of 72 runs", "B* / L^(1 / alpha)",
                           "B_crit, tokens", "Does B_crit grow as the loss falls? held", "text 01"})
    BOOST_TEST(test::contains(page, part));
  for (const char* part : {"https:", "<script", "<link", "src=", "href="})
    BOOST_TEST(!test::contains(page, part), part);
}

// The noise scale is that of the evaluation which reached the target, of every run that has one.
BOOST_AUTO_TEST_CASE(the_noise_scale_stands_beside_b_crit) {
  const auto run = [](int64_t reached, double before, double at) {
    RunReport report;
    report.target_step = reached;
    report.evaluations = {{.step = reached - 1, .noise_scale = before}, {.step = reached, .noise_scale = at}};
    return report;
  };
  std::vector<RunReport> runs = {run(20, 1, 40), run(10, 1, 8), run(30, 1, std::nan("")), run(40, 1, 10)};
  runs.push_back(run(50, 1, 99));
  runs.back().target_step.reset();
  const GradientNoise noise = gradient_noise(runs).value();
  BOOST_TEST((noise.runs == 3 && noise.median == 10 && noise.least == 8 && noise.greatest == 40));
  BOOST_TEST(gradient_noise(std::span(runs).first(2))->median == 24);
  BOOST_TEST(!gradient_noise(std::span(runs).subspan(2, 1)));

  // An estimate of |G|^2 below 0 has no upper end: its noise scale is no small one.
  runs = {run(10, 1, -500), run(20, 1, 8), run(30, 1, 40)};
  BOOST_TEST((gradient_noise(runs)->median == 40 && gradient_noise(runs)->least == 8));
  BOOST_TEST(std::isinf(gradient_noise(runs)->greatest));

  std::vector<StoreResults> results = {results_at(1.4, 50), results_at(1.2, 100)};
  results[0].gradient_noise = gradient_noise(std::span(runs).first(2));
  BOOST_TEST(
      test::contains(targets_text(answer_targets(asked(), results)), "loss=1.4      unbounded (8 to unbounded)  "));
  results[0].gradient_noise.reset();
  results[1].gradient_noise = noise;
  const TargetsAnswer answer = answer_targets(asked(), std::move(results));
  const double over = answer.targets[1].fit()->b_crit.value / 10;
  const std::string line = fmt::format("{:<12}  {:<40}  {:.3g}\n", "loss=1.2", "10 (8 to 40)", over);
  BOOST_TEST(test::contains(targets_text(answer), line));
  BOOST_TEST(test::contains(targets_text(answer), "loss=1.4      -  "));
  BOOST_TEST(test::contains(targets_page(answer, "", {}), "<td>10 (8 to 40)</td>"));
  const std::vector<CsvRecord> table = parse_csv(targets_csv(answer), "targets.csv");
  BOOST_TEST(table[2].fields[table[2].fields.size() - 4] == "10");
  BOOST_TEST(table[1].fields.size() == table[2].fields.size());
  const nlohmann::json json = nlohmann::json::parse(targets_json(answer, ""));
  BOOST_TEST(json.at("targets").at(0).at("noise_scale_samples").is_null());
  BOOST_TEST(json.at("targets").at(1).at("noise_scale_samples").at("greatest") == 40);
}

BOOST_AUTO_TEST_CASE(malformed_lists_are_refused) {
  BOOST_TEST(parse_target_values("--targets", "1.2,5%,1e-3") == (std::vector<double>{1.2, 0.05, 1e-3}));
  for (const char* text : {"", "1.2,", "1.2;1.1", "loss=1.2", "1.2,nan", "1,2,3,4,5,6,7,8,9,10,11"})
    BOOST_CHECK_EXCEPTION(
        parse_target_values("--targets", text), UsageError,
        test::says("--targets: expected 1 to 10 values of the sweep's figure", fmt::format("got '{}'", text)));
  BOOST_CHECK_EXCEPTION(parse_target_values("--targets", "1.2,1.1,1.20"), UsageError,
                        test::says("expected values that differ, got '1.2,1.1,1.20'"));
}

// The first sweep is fastest at one of two targets, the second, which takes 1.8 times its steps there, at the other;
// the third takes three times the fewest and solves one target alone.
BOOST_AUTO_TEST_CASE(profiles_count_pairs_within_a_factor_of_the_fewest_steps) {
  const auto sweep = [](const char* name, std::vector<StoreResults> results) {
    return answer_targets(asked(name), std::move(results));
  };
  StoreResults missed = results_at(1, 100);
  for (Measurement& run : missed.measurements) run.steps.reset();
  std::vector<TargetsAnswer> sweeps = {sweep("a", {results_at(1.2, 100), results_at(1, 100, 1.2)}),
                                       sweep("b", {results_at(1.2, 100, 1.8), results_at(1, 100)}),
                                       sweep("c, d", {results_at(1.2, 100, 3), missed})};
  const PerformanceProfile profile = performance_profile(sweeps);
  BOOST_TEST(profile.pairs == 16u);
  BOOST_TEST(profile.untrained.empty());
  const std::vector<std::vector<double>> shares = {{0.5, 1, 1, 1}, {0.5, 0.5, 1, 1}, {0, 0, 0, 0.5}};
  for (size_t i = 0; i < shares.size(); ++i) BOOST_TEST(profile.rows[i].shares == shares[i]);
  BOOST_TEST(profile.rows[2].solved == 8u);
  std::istringstream lines(profile_text(profile));
  for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= 80u, line);
  BOOST_TEST(test::contains(profile_csv(profile), "\"c, d\",8,16,0,0,0,0.5\n"));
  BOOST_TEST(nlohmann::json::parse(profile_json(profile, "./run study")).at("sweeps").size() == 3u);
  sweeps[1].head.rows[1].second = "text 02";
  BOOST_CHECK_EXCEPTION(performance_profile(sweeps), Error,
                        test::says("a and b differ in their data", "expected: text 01", "got:      text 02"));
  sweeps[1].own.metric = "error";
  BOOST_CHECK_EXCEPTION(performance_profile(sweeps), Error, test::says("a and b differ in their figure"));
}

// A sweep does not fail at what it never tried: the second one has the minibatches 8 to 256 alone, and the third one's
// runs ended at an easier target.
BOOST_AUTO_TEST_CASE(profiles_leave_out_what_a_sweep_did_not_train) {
  StoreResults few = results_at(1.2, 100, 0.9);
  std::erase_if(few.measurements, [](const Measurement& run) { return run.minibatch > 256; });
  const std::vector<TargetsAnswer> sweeps = {answer_targets(asked("a"), {results_at(1.2, 100)}),
                                             answer_targets(asked("b"), {few})};
  const PerformanceProfile profile = performance_profile(sweeps);
  BOOST_TEST(profile.pairs == 6u);
  BOOST_TEST(profile.rows[1].shares.front() == 1);
  BOOST_TEST(profile.untrained == std::vector<std::string>{"b: minibatch 512, 1024 to loss=1.2"});
  StoreResults missed = results_at(1.2, 100);
  for (Measurement& run : missed.measurements) run.steps.reset();
  TargetsAnswer easier = asked("c");
  easier.own.value = 1.3;
  const PerformanceProfile none = performance_profile(
      std::vector<TargetsAnswer>{sweeps[0], answer_targets(std::move(easier), {std::move(missed)})});
  BOOST_TEST(none.pairs == 0u);
  BOOST_TEST(none.rows[0].shares.front() == 0);
  BOOST_TEST(none.untrained.front().starts_with("c: minibatch 8, 16, "));
  BOOST_TEST(test::contains(profile_text(profile), "did not train it: b: minibatch 512, 1024 to loss=1.2."));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::targets_test
