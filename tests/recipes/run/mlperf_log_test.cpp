// MLPerf's log of a run, read by a parser of its own and held against the rules of the compliance checker
// (mlcommons/logging, compliance_checker/training_3.0.0): keys, how often, and in which order.
#include "recipes/run/mlperf_log.h"
#include "recipes/config/run_plan.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <sstream>

#include "data/sets/synthetic.h"
#include "recipes/papers/table.h"
#include "tests/recipes/small_run.h"
#include "tests/support/matches.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::mlperf_log_test {

namespace {

using LogJson = nlohmann::json;

struct LogLine {
  int64_t time_ms = 0;
  std::string type, key;
  LogJson value, metadata;
};

// Parses lines whose keys stand in exactly the order of the format; another line is reported as an error and left out.
std::vector<LogLine> parse_log(const std::string& text) {
  const std::string form =
      R"re(:::MLLOG \{"namespace": "", "time_ms": (\d{13}), "event_type": "(\w+)", "key": "(\w+)", "value": (.+), "metadata": (\{"file": "[^"]+", "lineno": \d+.*\})\})re";
  std::vector<LogLine> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const test::Match match = test::whole_match(line, form);
    if (match.empty()) {
      BOOST_ERROR("no line of the log: " + line);
      continue;
    }
    lines.push_back({std::stoll(match[1]), match[2], match[3], LogJson::parse(match[4]), LogJson::parse(match[5])});
  }
  return lines;
}

std::vector<LogLine> log_of(std::vector<std::string> words) {
  test::TemporaryDirectory directory;
  const std::string file = (directory / "mlperf.log").string();
  words.insert(words.end(), {"--mllog", file});
  BOOST_REQUIRE(test::run(directory / "run", words) == 0);
  return parse_log(test::read_file(file));
}

std::vector<LogLine> of_key(const std::vector<LogLine>& lines, const std::string& key) {
  std::vector<LogLine> found;
  for (const LogLine& line : lines)
    if (line.key == key) found.push_back(line);
  return found;
}

LogJson one(const std::vector<LogLine>& lines, const std::string& key) {
  const std::vector<LogLine> found = of_key(lines, key);
  BOOST_REQUIRE_MESSAGE(found.size() == 1, key << ": " << found.size() << " lines");
  return found.front().value;
}

size_t place_of(const std::vector<LogLine>& lines, const std::string& key) {
  for (size_t i = 0; i < lines.size(); ++i)
    if (lines[i].key == key) return i;
  BOOST_ERROR("no line of " + key);
  return 0;
}

// Checks the rules that hold for a run by any optimizer.
void check_rules(const std::vector<LogLine>& lines) {
  for (const char* key : {"submission_benchmark", "submission_org", "submission_platform", "init_stop", "run_start",
                          "run_stop", "train_samples", "eval_samples", "global_batch_size", "opt_name",
                          "gradient_accumulation_steps", "model_bn_span", "seed"})
    BOOST_TEST(of_key(lines, key).size() == 1u, key);
  BOOST_TEST((one(lines, "submission_division") == "open" || one(lines, "submission_division") == "closed"));
  BOOST_TEST((one(lines, "submission_status") == "research"));
  BOOST_TEST(of_key(lines, "cache_clear").size() == 1u);
  BOOST_TEST(place_of(lines, "init_start") < place_of(lines, "init_stop"));
  BOOST_TEST(place_of(lines, "init_stop") < place_of(lines, "run_start"));
  BOOST_TEST(lines.back().key == "run_stop");
  int64_t last = 0;
  std::string open;  // the block or the evaluation that is under way
  for (const LogLine& line : lines) {
    BOOST_TEST(line.time_ms >= last);
    last = line.time_ms;
    const bool starts = line.key.ends_with("_start"), stops = line.key.ends_with("_stop");
    BOOST_TEST(line.type == (starts ? "INTERVAL_START" : stops ? "INTERVAL_END" : "POINT_IN_TIME"), line.key);
    if (line.key == "block_start" || line.key == "eval_start") {
      BOOST_TEST(open.empty());
      open = line.key.substr(0, line.key.find('_'));
    }
    if (line.key == "block_stop" || line.key == "eval_stop") {
      BOOST_TEST(open == line.key.substr(0, line.key.find('_')));
      open.clear();
    }
    if (line.key.starts_with("eval_") && line.key != "eval_samples")
      BOOST_TEST(line.metadata.at("epoch_num").is_number_integer());
    if (line.key == "block_start") BOOST_TEST(line.metadata.at("epoch_count").get<int64_t>() > 0);
    if (line.key.starts_with("block_")) BOOST_TEST(line.metadata.at("first_epoch_num").is_number_integer());
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mlperf_log)

// The run has 2 epochs of 10 steps of 10 samples, and 37 samples to test.
BOOST_AUTO_TEST_CASE(a_run_by_sgd_keeps_the_rules) {
  const std::vector<LogLine> lines = log_of({"--schedule", "step", "--milestones", "1", "--weight-decay", "0.25"});
  check_rules(lines);
  BOOST_TEST((one(lines, "opt_name") == "sgd"));
  BOOST_TEST((one(lines, "sgd_opt_base_learning_rate") == 0.1));
  BOOST_TEST((one(lines, "sgd_opt_momentum") == 0.9));
  BOOST_TEST((one(lines, "sgd_opt_weight_decay") == 0.25));
  BOOST_TEST((one(lines, "opt_learning_rate_decay_boundary_epochs") == LogJson::array({1})));
  BOOST_TEST((one(lines, "global_batch_size") == 10));
  BOOST_TEST((one(lines, "train_samples") == 100));
  BOOST_TEST((one(lines, "eval_samples") == 37));
  const std::vector<LogLine> blocks = of_key(lines, "block_start"), accuracies = of_key(lines, "eval_accuracy");
  BOOST_REQUIRE(blocks.size() == 2u);
  BOOST_TEST(blocks[1].metadata.at("first_epoch_num") == 2);
  BOOST_TEST(blocks[1].metadata.at("epoch_count") == 1);
  BOOST_REQUIRE(accuracies.size() == 2u);
  BOOST_TEST(accuracies[0].metadata.at("epoch_num") == 1);
  BOOST_TEST(accuracies[1].metadata.at("epoch_num") == 2);
  BOOST_TEST(of_key(lines, "run_stop").front().metadata.at("status") == "success");
}

BOOST_AUTO_TEST_CASE(a_run_by_lars_has_its_keys) {
  const std::vector<LogLine> lines =
      log_of({"--optimizer", "lars-mlperf", "--schedule", "mlperf", "--power", "2", "--end-lr", "1e-4", "--lr", "3",
              "--warmup-epochs", "0.5", "--per-worker", "5", "--eval-every", "2"});
  check_rules(lines);
  const std::map<std::string, LogJson> expected = {{"opt_name", "lars"},
                                                   {"lars_opt_base_learning_rate", 3.0},
                                                   {"lars_opt_end_learning_rate", 1e-4},
                                                   {"lars_opt_learning_rate_decay_poly_power", 2.0},
                                                   {"lars_opt_learning_rate_decay_steps", 16},  // 20 - 5 of warmup + 1
                                                   {"lars_epsilon", 0.0},
                                                   {"lars_opt_learning_rate_warmup_epochs", 0.5},
                                                   {"lars_opt_momentum", 0.9},
                                                   {"lars_opt_weight_decay", 2e-4},
                                                   {"model_bn_span", 5},
                                                   {"gradient_accumulation_steps", 2}};
  for (const auto& [key, value] : expected) BOOST_TEST((one(lines, key) == value), key << ": " << one(lines, key));
  const std::vector<LogLine> blocks = of_key(lines, "block_start");
  BOOST_REQUIRE(blocks.size() == 1u);
  BOOST_TEST(blocks[0].metadata.at("epoch_count") == 2);
}

// The evaluations of metrics.jsonl are those of the log.
BOOST_AUTO_TEST_CASE(accuracies_are_those_of_the_run) {
  test::TemporaryDirectory directory;
  const std::string file = (directory / "mlperf.log").string();
  BOOST_REQUIRE(test::run(directory / "run", {"--mllog", file}) == 0);
  const std::vector<LogLine> accuracies = of_key(parse_log(test::read_file(file)), "eval_accuracy");
  const std::vector<LogJson> evaluations = test::of_kind(test::lines_of(directory / "run"), "eval");
  BOOST_REQUIRE(accuracies.size() == evaluations.size());
  for (size_t i = 0; i < accuracies.size(); ++i)
    BOOST_TEST(accuracies[i].value.get<double>() == 1 - evaluations[i].at("error").get<double>(),
               boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(a_target_that_is_not_reached_is_no_success) {
  const auto status = [](const char* target) {
    return of_key(log_of({"--stop-at", target}), "run_stop").front().metadata.at("status").get<std::string>();
  };
  BOOST_TEST(status("0.001%") == "aborted");
  BOOST_TEST(status("100%") == "success");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_there_is_refused) {
  test::TemporaryDirectory directory;
  RunConfig config;
  config.out.mllog = (directory / "a.log").string();
  for (const bool goes_on : {false, true}) BOOST_CHECK_NO_THROW(check_mlperf_file(config, goes_on));
  test::write_file(config.out.mllog, "mine\n");
  BOOST_CHECK_EXCEPTION(check_mlperf_file(config, false), Error, test::says("expected a file that is not there yet"));
  BOOST_CHECK_EXCEPTION(check_mlperf_file(config, true), Error, test::says("expected a log of the run that goes on"));
  config.out.mllog = (directory / "no" / "a.log").string();
  BOOST_CHECK_EXCEPTION(check_mlperf_file(config, true), Error, test::says("there is no folder"));
  config.out.mllog = "-";
  BOOST_CHECK_NO_THROW(check_mlperf_file(config, false));
}

BOOST_AUTO_TEST_CASE(a_run_that_goes_on_writes_behind_its_lines) {
  test::TemporaryDirectory directory;
  const std::string file = (directory / "mlperf.log").string();
  std::vector<std::string> words = {"--mllog", file, "--resume", "auto", "--stop-at", "10st"};
  BOOST_REQUIRE(test::run(directory / "run", words) == 0);
  const std::string first = test::read_file(file);
  words.resize(4);
  BOOST_REQUIRE(test::run(directory / "run", words) == 0);
  const std::string both = test::read_file(file);
  BOOST_TEST(both.starts_with(first));
  BOOST_TEST(both.size() > first.size());
  check_rules(parse_log(first));
  check_rules(parse_log(both.substr(first.size())));
}

BOOST_AUTO_TEST_CASE(a_run_that_diverges_ends_once) {
  test::TemporaryDirectory directory;
  const std::string file = (directory / "mlperf.log").string();
  BOOST_REQUIRE(test::run(directory / "run", {"--lr", "1e30", "--mllog", file}) == 4);
  const std::vector<LogLine> lines = parse_log(test::read_file(file));
  check_rules(lines);
  BOOST_TEST(of_key(lines, "run_stop").front().metadata.at("status") == "aborted");
}

BOOST_AUTO_TEST_CASE(an_evaluation_that_is_interrupted_ends) {
  test::TemporaryDirectory directory;
  RunConfig config;
  config.out.mllog = (directory / "a.log").string();
  const RunPlan plan{100, 10, 10, 20};
  MlperfLog log({"small", "none", config, plan, make_batch_plan(10, 0, 1, {}), {}, 37});
  log.run_begins(0);
  log.evaluation_begins(1);
  log.run_ends(false);
  const std::vector<LogLine> lines = parse_log(test::read_file(config.out.mllog));
  check_rules(lines);
  BOOST_TEST(of_key(lines, "eval_stop").size() == 1u);
}

BOOST_AUTO_TEST_CASE(settings_are_those_that_are_taken) {
  const auto lars = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--optimizer", "lars", "--schedule", "polynomial", "--warmup-epochs", "0.5"});
    return log_of(std::move(words));
  };
  // A run at the base minibatch takes no warmup, whatever --warmup-epochs says.
  const std::vector<LogLine> plain = lars({"--base-minibatch", "10", "--base-lr", "1"});
  BOOST_TEST((one(plain, "lars_opt_learning_rate_warmup_epochs") == 0));
  BOOST_TEST((one(plain, "lars_opt_learning_rate_decay_steps") == 20));
  const std::vector<LogLine> warm = lars({"--lr", "1"});
  BOOST_TEST((one(warm, "lars_opt_learning_rate_warmup_epochs") == 0.5));
  BOOST_TEST((one(warm, "lars_opt_learning_rate_decay_steps") == 15));
}

BOOST_AUTO_TEST_CASE(samples_are_those_of_the_part_that_is_judged) {
  test::TemporaryDirectory directory;
  const std::string file = (directory / "mlperf.log").string();
  Recipe recipe = test::small_recipe();
  recipe.load = [](const std::filesystem::path&) { return synthetic_dataset({{2, 4, 4}, 3, 100, 37, 1}); };
  recipe.defaults.dataset = "own";
  BOOST_REQUIRE(test::run(directory / "run", {"--validation", "20", "--mllog", file}, recipe) == 0);
  const std::vector<LogLine> lines = parse_log(test::read_file(file));
  BOOST_TEST((one(lines, "eval_samples") == 20));
  BOOST_TEST((one(lines, "train_samples") == 80));
}

BOOST_AUTO_TEST_CASE(blocks_count_the_epochs_behind_a_growth) {
  const std::vector<LogLine> lines = log_of({"--epochs", "4", "--minibatch-schedule", "1ep:x2", "--eval-every", "2"});
  check_rules(lines);
  const std::vector<LogLine> blocks = of_key(lines, "block_start");
  BOOST_REQUIRE(blocks.size() == 2u);
  for (const LogLine& block : blocks) BOOST_TEST(block.metadata.at("epoch_count") == 2);
  BOOST_TEST(blocks[1].metadata.at("first_epoch_num") == 3);
}

BOOST_AUTO_TEST_CASE(a_benchmark_has_its_name) {
  BOOST_TEST((one(log_of({}), "submission_benchmark") == "small"));
  for (const char* name : {"imagenet_1h", "imagenet_lars", "imagenet_records", "resnet50"})
    BOOST_TEST(find_recipe(name).benchmark == "resnet");
  test::TemporaryDirectory directory;
  const std::string file = (directory / "mlperf.log").string();
  Recipe recipe = test::small_recipe();
  recipe.benchmark = "resnet";
  BOOST_REQUIRE(test::run(directory / "run", {"--mllog", file}, recipe) == 0);
  BOOST_TEST((one(parse_log(test::read_file(file)), "submission_benchmark") == "resnet"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::mlperf_log_test
