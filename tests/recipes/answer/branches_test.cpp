// Answers of branches with given losses, their texts and files, and a whole study of a small run.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "recipes/answer/branches_files.h"
#include "recipes/answer/branches_text.h"
#include "recipes/answer/csv.h"
#include "recipes/config/values.h"
#include "runtime/process.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::branches_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Words = std::vector<std::string>;
using test::lines_of, test::of_kind, test::state_sha256;

constexpr BranchPlace kPlace{.step = 500, .checkpoint = 500, .samples = 4000, .minibatch = 8, .window = 32 * 8};
const LossSmoothing kByEma, kByMean{LossSmoothing::Kind::mean, 0.25}, kByHeldOut{LossSmoothing::Kind::held_out, 0};

// A branch whose losses stay at `loss`, but for `wave`, which turns its sign from step to step.
BranchRun level_run(int64_t factor, double loss, double wave = 0) {
  BranchRun run{factor, 8 * factor};
  for (int64_t i = 0; i < kPlace.steps_of(factor); ++i) run.losses.push_back(loss + (i % 2 == 0 ? wave : -wave));
  run.rate = 0.001 * std::sqrt(static_cast<double>(factor));
  run.held_out = loss + 0.5;
  run.part = "valid";
  return run;
}

std::vector<BranchRun> level_runs(const std::vector<double>& losses, double wave = 0) {
  std::vector<BranchRun> runs;
  for (const double loss : losses) runs.push_back(level_run(int64_t{1} << runs.size(), loss, wave));
  runs.front().noise = NoiseScale{.samples = 41.2, .low = 35, .high = 50};
  return runs;
}

PlaceAnswer place_of(const std::vector<double>& losses, const LossSmoothing& smoothing = kByEma) {
  return answer_place(kPlace, level_runs(losses), smoothing, kLocalTolerance);
}

BranchesAnswer some_answer() {
  BranchesAnswer answer{{{{"run", "runs/a"}}, {}}, "runs/a", 8, kByEma, kLocalTolerance, {}};
  answer.places = {place_of({3, 3.2, 3.4}), place_of({2.5, 2.505, 2.6}), place_of({2.2, 2.2, 2.2})};
  for (size_t i = 0; i < 3; ++i) answer.places[i].place.step = 500 << i, answer.places[i].place.samples = 4000 << i;
  answer.context = 64;
  answer.warmup = {{{8, Period::Unit::kilosamples}, 2, "sqrt"}, {{16, Period::Unit::kilosamples}, 2, "sqrt"}};
  answer.command = "./run gpt --config runs/a --minibatch-schedule 8ks:x2:sqrt,16ks:x2:sqrt";
  answer.steps_saved = 0.43;
  return answer;
}

// A run whose rate falls to nothing within a few steps, with checkpoints after 2 and 32 steps; its branches leave it
// where it learns, and where its parameters stay as they are.
struct StudyFixture {
  test::TemporaryDirectory directory;
  const fs::path run = directory / "run", branches = run / "branches";

  StudyFixture() { train(run, {"--save-every", "2", "--keep", "40"}); }
  static void train(const fs::path& out, const Words& more) {
    Words words = {KB_BIN "/mlp_mnist", "--quiet", "--dataset",   "synthetic",  "--depth", "1",
                   "--hidden",          "8",       "--minibatch", "8",          "--steps", "64",
                   "--per-worker",      "4",       "--schedule",  "polynomial", "--power", "200",
                   "--eval-every",      "0",       "--lr",        "0.1",        "--out",   out.string()};
    words.insert(words.end(), more.begin(), more.end());
    BOOST_REQUIRE(Process(words).wait().status == 0);
  }
  ProcessResult study(const Words& more = {}) const {
    Words words = {KB_BIN "/study", "--branches", run.string() + "@2st,32st", "--window", "16st", "--factors", "2"};
    words.insert(words.end(), more.begin(), more.end());
    ProcessResult result = Process(words).wait();
    BOOST_TEST_MESSAGE(result.output);
    return result;
  }
};

std::vector<std::pair<double, double>> losses_and_rates(const fs::path& run, int64_t from, int64_t steps) {
  std::vector<std::pair<double, double>> all;
  for (const Json& line : of_kind(lines_of(run), "step"))
    if (const int64_t step = line.at("step"); step >= from && step < from + steps)
      all.emplace_back(line.at("loss"), line.at("lr"));
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(branches)

BOOST_AUTO_TEST_CASE(a_place_lies_between_two_minibatches) {
  BOOST_TEST(place_of({3, 3.005, 3.1, 3.2}).text() == "16 to 32");
  BOOST_TEST(place_of({3, 3.005, 3.1, 3.2}).text(64) == "1024 to 2048");
  BOOST_TEST(place_of({3, 3.005, 3.001, 2.9}).text() == "at least 64");
  BOOST_TEST(place_of({3, 3.02, 3.1}).text() == "below 16");
  const PlaceAnswer one = place_of({3, 3.005, 3.1});
  BOOST_TEST(one.branches[2].difference.value == 0.1, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(one.branches[1].holds);
  BOOST_TEST(!one.branches[2].holds);
}

BOOST_AUTO_TEST_CASE(every_smoothing_reads_its_losses) {
  std::vector<BranchRun> runs = level_runs({3, 3.2}, 0.3);
  const auto difference = [&](const LossSmoothing& smoothing) {
    return answer_place(kPlace, runs, smoothing, kLocalTolerance).branches[1].difference;
  };
  const auto near = boost::test_tools::tolerance(1e-9);
  BOOST_TEST(difference(kByMean).value == 0.2,
             near);  // pairs of steps of k = 1 have no wave, those of k = 2 a mean of 0
  BOOST_TEST(difference(kByHeldOut).value == 0.2, near);
  BOOST_TEST(!difference(kByHeldOut).error);
  // Averages end with the wave's lower turn, of weight alpha / (2 - alpha) in all.
  BOOST_TEST(answer_place(kPlace, runs, kByEma, 0.01).branches[0].loss == 3 - 0.3 / 3,
             boost::test_tools::tolerance(1e-4));
  BOOST_TEST(difference(kByEma).error.value() > 0.1);
  runs[1].held_out.reset();
  BOOST_CHECK_EXCEPTION(difference(kByHeldOut), Error,
                        test::says("--loss held-out: expected an evaluation after the window of 500st-x2, got none",
                                   "hint:     --loss mean:0.25"));
  for (const LossSmoothing& smoothing : {kByEma, kByMean, kByHeldOut})
    BOOST_TEST(parse_smoothing("--loss", smoothing.text()).text() == smoothing.text());
  for (const char* wrong : {"", "ema", "ema:", "ema:0", "ema:1.5", "mean:x", "median:0.5", "held_out"})
    BOOST_CHECK_EXCEPTION(parse_smoothing("--loss", wrong), UsageError, test::says("--loss: expected ema:ALPHA"));
}

BOOST_AUTO_TEST_CASE(branches_that_diverge_are_told) {
  std::vector<BranchRun> runs = level_runs({3, 3, 3});
  runs[2].diverged = true;
  BOOST_TEST(answer_place(kPlace, runs, kByEma, 0.01).text() == "16 to 32");
  runs[0].diverged = true;
  BranchesAnswer answer = some_answer();
  answer.places = {answer_place(kPlace, runs, kByEma, 0.01)};
  BOOST_TEST(answer.places[0].text() == "-");
  BOOST_TEST(branches_notes(answer).at(0) == "place 500st: the branch with k = 1 diverged, and tells nothing");
  BOOST_TEST(test::contains(branches_text(answer), "diverged"));
  for (const AnswerFigure& figure : branches_figures(answer))
    for (const char* wrong : {"nan", "inf"}) BOOST_TEST(!test::contains(figure.svg, wrong));
}

BOOST_AUTO_TEST_CASE(what_noise_leaves_open_is_told) {
  BranchesAnswer answer = some_answer();
  BOOST_TEST(branches_notes(answer).empty());
  // A wave of +-0.1 has the variance 0.02 about its course; an average with alpha 0.5 has a third, two of them twice
  // that.
  answer.places = {answer_place(kPlace, level_runs({3, 3.02, 3, 9}, 0.1), kByEma, 0.01)};
  BOOST_TEST(answer.places[0].branches[1].difference.error.value() == std::sqrt(2 * 0.02 / 3),
             boost::test_tools::tolerance(0.01));
  const std::vector<std::string> notes = branches_notes(answer);
  BOOST_REQUIRE(notes.size() == 2u);
  BOOST_TEST(
      notes[0] ==
      "place 500st: noise may have decided whether k = 2, 4 lose more than the tolerance (95 %): --loss mean:0.25 "
      "averages over more samples, the same for every k, and trains nothing again");
  BOOST_TEST(notes[1] == "place 500st: k = 2 lost and k = 4 did not, which noise may have done");
}

// No k loses anything, and the losses of two steps of k = 16 are averaged. With two standard errors in place of
// Student's t a k was called lost without a NOTE at 126 of these places.
BOOST_AUTO_TEST_CASE(a_loss_of_noise_is_seldom_told_without_a_note) {
  constexpr int kPlaces = 200;
  constexpr BranchPlace place{.step = 500, .checkpoint = 500, .samples = 4000, .minibatch = 8, .window = 128 * 8};
  std::mt19937_64 bits(1);
  int silent = 0;
  for (int i = 0; i < kPlaces; ++i) {
    std::vector<BranchRun> runs;
    for (const int64_t factor : {1, 2, 4, 8, 16}) {
      std::normal_distribution<double> noise(3, 0.1 * std::sqrt(16.0 / static_cast<double>(factor)));
      runs.push_back({factor, 8 * factor});
      while (std::ssize(runs.back().losses) < place.steps_of(factor)) runs.back().losses.push_back(noise(bits));
    }
    BranchesAnswer answer = some_answer();
    answer.smoothing = kByMean;
    answer.places = {answer_place(place, std::move(runs), kByMean, kLocalTolerance)};
    std::string named;
    for (const std::string& note : branches_notes(answer))
      if (note.find("tolerance") != std::string::npos) named = note;
    const auto is_silent = [&](const SmoothedBranch& branch) {
      const std::string number = fmt::format(" {}", branch.run.factor);
      return !branch.holds && named.find(number + ",") == std::string::npos &&
             named.find(number + " lose") == std::string::npos;
    };
    silent += std::ranges::any_of(answer.places[0].branches, is_silent);
  }
  BOOST_TEST(silent <= 20);
}

BOOST_AUTO_TEST_CASE(the_text_fits_a_terminal) {
  const std::string text = branches_text(some_answer());
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= 80u, line);
  test::golden("branches.txt", text);
}

BOOST_AUTO_TEST_CASE(the_files_hold_every_branch) {
  const BranchesAnswer answer = some_answer();
  const std::vector<CsvRecord> table = parse_csv(branches_csv(answer), "branches.csv");
  BOOST_REQUIRE(table.size() == 1u + 9u);
  for (const CsvRecord& line : table) BOOST_TEST(line.fields.size() == table.front().fields.size());
  BOOST_TEST(table[1].fields[2] == "256000");
  const Json json = Json::parse(branches_json(answer, "./run study"));
  BOOST_TEST(json.at("places").size() == 3u);
  BOOST_TEST(json.at("places").at(1).at("b_local").at("low") == 16);
  BOOST_TEST(json.at("places").at(2).at("b_local").at("high").is_null());
  BOOST_TEST(json.at("places").at(0).at("branches").at(2).at("losses").size() == 8u);
  BOOST_TEST(json.at("warmup").at("minibatch_schedule") == "8ks:x2:sqrt,16ks:x2:sqrt");
  const std::vector<AnswerFigure> figures = branches_figures(answer);
  const std::string page = branches_page(answer, "./run study --branches <a>", figures);
  for (const char* part : {"&lt;a&gt;", "16 to 32", "41 (35 to 50)", "8ks:x2:sqrt"})
    BOOST_TEST(test::contains(page, part));
  for (const char* part : {"https:", "<script", "src=", "href="}) BOOST_TEST(!test::contains(page, part), part);
  BOOST_TEST(test::count_of(figures[0].svg, "<title>place ") == 9u);
}

BOOST_FIXTURE_TEST_CASE(a_study_trains_branches_over_the_runs_samples, StudyFixture) {
  BOOST_REQUIRE(study().status == 0);
  const auto own = losses_and_rates(run, 2, 16), base = losses_and_rates(branches / "2st-x1", 2, 16);
  BOOST_REQUIRE(own.size() == 16u);
  BOOST_TEST((base == own));
  train(directory / "stopped", {"--stop-at", "18st"});
  BOOST_TEST(state_sha256(branches / "2st-x1") == state_sha256(directory / "stopped"));
  // A branch of k = 2 has the rate of the run at its samples, times sqrt(2).
  const auto twice = losses_and_rates(branches / "2st-x2", 2, 8);
  BOOST_REQUIRE(twice.size() == 8u);
  for (size_t i = 0; i < 8; ++i)
    BOOST_TEST(twice[i].second == std::sqrt(2) * own[2 * i].second, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(twice[0].second > 1e-4);
  // The loss of a step of k = 2 is the mean of the two steps that have its samples, since the parameters stay there.
  const auto still = losses_and_rates(run, 32, 16), both = losses_and_rates(branches / "32st-x2", 32, 8);
  BOOST_REQUIRE(both.size() == 8u);
  for (size_t i = 0; i < 8; ++i)
    BOOST_TEST(both[i].first == (still[2 * i].first + still[2 * i + 1].first) / 2, boost::test_tools::tolerance(1e-5));
  BOOST_TEST(still[0].first != still[1].first);
  const Json json = Json::parse(test::read_file(branches / "branches.json"));
  BOOST_TEST(json.at("places").at(0).at("noise_scale").is_object());
  BOOST_TEST(json.at("places").at(1).at("branches").at(1).at("difference").get<double>() != 0);

  // Branches that are done are not trained again, under other flags of the answer either; a missing one is, to its
  // bits.
  const std::string bits = state_sha256(branches / "2st-x2");
  fs::remove_all(branches / "2st-x2");
  const ProcessResult again = study({"--loss", "mean:0.5", "--tolerance", "0.1"});
  BOOST_TEST(again.status == 0);
  BOOST_TEST(test::count_of(again.output, ", before") == 3u);
  BOOST_TEST(state_sha256(branches / "2st-x2") == bits);

  // A branch of another state than the run's own, and one whose metrics were cut or lost a line, tell nothing.
  BranchesRequest request{.window = {16, Period::Unit::steps}, .factors = {2}};
  read_places("--branches", run.string() + "@2st,32st", request);
  const BranchesPlan plan = plan_branches(request);
  const fs::path manifest = branches / "2st-x2" / "manifest.json", metrics = branches / "2st-x1" / "metrics.jsonl";
  const std::string whole = test::read_file(manifest), lines = test::read_file(metrics);
  Json foreign = Json::parse(whole);
  foreign["branch"]["state_sha256"] = "00";
  test::write_file(manifest, foreign.dump());
  BOOST_CHECK_EXCEPTION(answer_branches(plan, branches, kByEma, 0.01), Error,
                        test::says("2st-x2: expected a branch of the state after 2 steps of", "got one of 00"));
  test::write_file(manifest, whole);
  test::write_file(metrics, lines.substr(0, lines.find("\"step\":9")));
  BOOST_CHECK_EXCEPTION(answer_branches(plan, branches, kByEma, 0.01), Error,
                        test::says("2st-x1: expected the steps 2 to 17 in metrics.jsonl, got 7 of them"));
  const size_t begin = lines.rfind('\n', lines.find("\"step\":9")) + 1;
  test::write_file(metrics, lines.substr(0, begin) + lines.substr(lines.find('\n', begin) + 1));
  BOOST_CHECK_EXCEPTION(answer_branches(plan, branches, kByEma, 0.01), Error, test::says("got 15 of them"));
}

BOOST_AUTO_TEST_CASE(flags_belong_together) {
  const auto refused = [](const Words& words, const std::string& why) {
    Words all = {KB_BIN "/study"};
    all.insert(all.end(), words.begin(), words.end());
    const ProcessResult result = Process(all).wait();
    BOOST_TEST(result.status == 2);
    BOOST_TEST(test::contains(result.output, why));
  };
  refused({"--window", "64st", "a.csv"}, "--window: expected beside --branches, got it alone");
  refused({"--branches", "a@5st", "a.csv"}, "--branches: expected no SOURCE beside it, got a.csv");
  refused({"--branches", "a@5st", "--targets", "1,2"}, "--branches: expected no --targets beside it");
  refused({"--branches", "a@5st", "--by-setting"}, "--branches: expected no --by-setting beside it");
  refused({}, "SOURCE or --branches RUN@PLACES: expected one of them, got none");
  refused({"--branches", "a@5st", "--window", "64"}, "--window: expected steps of the run");
  refused({"--branches", "a@5st", "--factors", "x2"}, "--factors: expected factors of the minibatch");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::branches_test
