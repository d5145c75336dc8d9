// Tests samples that are held out: the choice of them, that a run judges on them, and that the test part is looked at
// once, at the end.
#include "recipes/task/validation.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "recipes/config/flags.h"
#include "recipes/config/learning.h"
#include "recipes/config/run_task.h"
#include "recipes/task/checked_task.h"
#include "recipes/train/train.h"
#include "runtime/checkpoint.h"
#include "tests/recipes/ranks.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::validation_test {
namespace {

using Json = nlohmann::json;
using test::lines_of, test::of_kind, test::run;

std::shared_ptr<const Source> numbered_samples(int64_t count) {
  std::vector<float> x;
  for (int64_t i = 0; i < count; ++i) x.push_back(static_cast<float>(i) / static_cast<float>(count));
  return std::make_shared<TableSource>(count, std::vector{field_bytes(x)});
}

Task slope() {
  const auto model = [](Inputs& in) -> ModelOutput {
    Tensor error = mean(abs(linear("fc", in["x"], 1) - in["x"] * 3.0), {1});
    return {error, {{"distance", error}}};
  };
  return {.name = "slope",
          .fields = {{.name = "x", .dtype = DType::f32, .shape = {1}, .in_memory = true}},
          .model = model,
          .train = numbered_samples(90),
          .test = numbered_samples(41)};
}

std::vector<float> numbers_of(const Source& source) {
  std::vector<float> x(static_cast<size_t>(source.count()));
  std::memcpy(x.data(), source.table(0).data(), source.table(0).size());
  return x;
}

struct ValidationFixture {
  test::TemporaryDirectory directory;

  Json manifest_of(const std::string& name) { return Json::parse(test::read_file(directory / name / "manifest.json")); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(validation, ValidationFixture)

BOOST_AUTO_TEST_CASE(the_last_of_a_permutation_are_held_out) {
  const Task task = with_validation(checked_task(slope()), 20);
  BOOST_TEST(task.train_count == 70);
  BOOST_TEST(task.valid_count == 20);
  std::set<float> expected_valid, expected_train;
  for (int64_t position = 0; position < 90; ++position)
    (position < 70 ? expected_train : expected_valid).insert(static_cast<float>(Permutation(0, 0, 90)(position)) / 90);
  const std::vector<float> train = numbers_of(*task.train), valid = numbers_of(*task.valid);
  BOOST_TEST((std::set<float>(train.begin(), train.end()) == expected_train));
  BOOST_TEST((std::set<float>(valid.begin(), valid.end()) == expected_valid));
  BOOST_TEST(train.size() == 70u);
  BOOST_TEST(valid.size() == 20u);
  BOOST_TEST(numbers_of(*task.plain) == train);
}

BOOST_AUTO_TEST_CASE(batches_hold_the_samples_that_their_numbers_name) {
  const Task task = with_validation(checked_task(slope()), 20);
  for (const auto& source : {task.train, task.valid}) {
    const std::vector<float> all = numbers_of(*source);
    const Order order = Order::training(7, source->count(), 8);
    const FieldFill fill = source->gather(order, 2);
    std::vector<float> x(4), weights(4);
    std::vector<int32_t> samples(4);
    for (int64_t step = 0; step < 30; ++step) {
      fill(step, {{std::as_writable_bytes(std::span(x))}, weights, samples});
      for (size_t row = 0; row < 4; ++row) {
        BOOST_TEST(samples[row] == order.row(step, 2 + static_cast<int64_t>(row)).sample);
        BOOST_TEST(x[row] == all[static_cast<size_t>(samples[row])]);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_held_out_is_refused) {
  for (const int64_t count : {90, 1000})
    BOOST_CHECK_EXCEPTION(
        with_validation(checked_task(slope()), count), Error,
        test::says("judging.validation: expected less than the 90 training samples of slope", std::to_string(count)));
  BOOST_TEST(with_validation(checked_task(slope()), 89).train_count == 1);
  BOOST_TEST(run(directory / "a", {"--validation", "100"}) == 1);
  BOOST_TEST(run(directory / "a", {"--validation", "10", "--data", "synthetic"}) == 1);
  BOOST_TEST(run(directory / "a", {"--validation", "95"}) == 1);  // less than a minibatch is left
  BOOST_TEST(!std::filesystem::exists(directory / "a"));
}

BOOST_AUTO_TEST_CASE(a_run_judges_on_them_and_tests_at_the_end) {
  BOOST_REQUIRE(run(directory / "run", {"--validation", "30", "--epochs", "5"}) == 0);
  const std::vector<Json> lines = lines_of(directory / "run"), evaluations = of_kind(lines, "eval"),
                          tests = of_kind(lines, "test");
  BOOST_TEST(of_kind(lines, "step").size() == 35u);  // 70 samples / 10, 5 epochs
  BOOST_REQUIRE(evaluations.size() == 5u);
  Json best = evaluations[0];
  for (const Json& line : evaluations) {
    BOOST_TEST(line.at("part") == "valid");
    BOOST_TEST(line.at("count") == 30);
    if (line.at("error") < best.at("error")) best = line;
  }
  BOOST_REQUIRE(tests.size() == 2u);
  BOOST_TEST(tests[0].at("state") == "final");
  BOOST_TEST(tests[0].at("step") == 35);
  BOOST_TEST(tests[0].at("count") == 37);
  BOOST_TEST(tests[1].at("state") == "best");
  BOOST_TEST(tests[1].at("step") == best.at("step"));
  BOOST_TEST(lines.back().at("error") == tests[0].at("error"));
  BOOST_TEST(lines.back().at("part") == "test");

  const Json manifest = manifest_of("run"), result = manifest.at("result");
  BOOST_TEST(manifest.at("data").at("train") == 70);
  BOOST_TEST(manifest.at("data").at("valid") == 30);
  BOOST_TEST(result.at("error") == tests[0].at("error"));
  BOOST_TEST(result.at("best").at("step") == best.at("step"));
  BOOST_TEST(result.at("best").at("chosen_on") == "valid");
  BOOST_TEST(result.at("best").at("valid").at("error") == best.at("error"));
  BOOST_TEST(result.at("best").at("test").at("loss") == tests[1].at("loss"));

  const std::filesystem::path file = directory / "run" / "checkpoints" / kBestCheckpoint;
  BOOST_TEST(read_checkpoint(file).step == best.at("step"));
  BOOST_REQUIRE(run(directory / "again", {"--init", file.string(), "--epochs", "0"}) == 0);
  BOOST_TEST(lines_of(directory / "again").back().at("loss") == tests[1].at("loss"));
}

BOOST_AUTO_TEST_CASE(every_seed_has_the_same_samples_held_out_and_none_is_trained_on) {
  BOOST_REQUIRE(run(directory / "1", {"--validation", "30", "--lr", "0", "--seed", "1"}) == 0);
  BOOST_REQUIRE(run(directory / "2", {"--validation", "30", "--lr", "0", "--seed", "2"}) == 0);
  BOOST_REQUIRE(run(directory / "all", {}) == 0);
  BOOST_TEST(manifest_of("1").at("data") == manifest_of("2").at("data"));
  BOOST_TEST(manifest_of("1").at("data").at("fingerprint") != manifest_of("all").at("data").at("fingerprint"));
}

BOOST_AUTO_TEST_CASE(a_run_that_goes_on_ends_as_one_that_did_not_stop) {
  const std::vector<std::string> words = {"--validation", "30", "--epochs", "5", "--train-metrics"};
  BOOST_REQUIRE(run(directory / "whole", words) == 0);
  for (const char* stop : {"8st", "14st", "23st", "34st"}) {
    std::vector<std::string> first = words;
    first.insert(first.end(), {"--stop-at", stop});
    BOOST_REQUIRE(run(directory / stop, first) == 0);
    BOOST_REQUIRE(run({"--resume", (directory / stop).string(), "--stop-at", "35st"}) == 0);
    BOOST_TEST(test::trace(directory / stop) == test::trace(directory / "whole"));
    BOOST_TEST(manifest_of(stop).at("result") == manifest_of("whole").at("result"));
  }
}

BOOST_AUTO_TEST_CASE(data_on_the_device_give_the_same_figures) {
  std::string expected;
  for (const char* resident : {"off", "on"}) {
    BOOST_REQUIRE(run(directory / resident, {"--validation", "30", "--epochs", "4", "--ema", "0.9", "--eval-ema",
                                             "--resident", resident}) == 0);
    if (expected.empty()) expected = test::trace(directory / resident);
    BOOST_TEST(test::trace(directory / resident) == expected);
  }
}

BOOST_AUTO_TEST_CASE(a_run_without_them_says_that_the_test_part_chose) {
  BOOST_REQUIRE(run(directory / "run", {"--epochs", "5", "--keep", "1"}) == 0);
  const std::vector<Json> lines = lines_of(directory / "run");
  BOOST_TEST(of_kind(lines, "test").empty());
  Json best = of_kind(lines, "eval")[0];
  for (const Json& line : of_kind(lines, "eval")) {
    BOOST_TEST(line.at("part") == "test");
    if (line.at("error") < best.at("error")) best = line;
  }
  const Json result = manifest_of("run").at("result");
  BOOST_TEST(result.at("best").at("chosen_on") == "test");
  BOOST_TEST(result.at("best").at("step") == best.at("step"));
  BOOST_TEST(result.at("best").at("test").at("error") == best.at("error"));
  BOOST_TEST(read_checkpoint(directory / "run" / "checkpoints" / kBestCheckpoint).step == best.at("step"));
}

BOOST_AUTO_TEST_CASE(two_processes_end_as_one) {
  TrainConfig config = config_of({.minibatch = 8, .optimizer = "sgd", .lr = 0.5});
  config.length.steps = 40;
  config.arithmetic.shards = 2;
  config.batch.per_worker = 4;
  config.judging.validation = 20;
  const auto trained = [&](int processes) {
    std::vector<Result> results(static_cast<size_t>(processes));
    test::on_ranks(processes, [&](int rank, Machine machine) {
      Observer silent;
      results[static_cast<size_t>(rank)] = train(slope(), config, machine, silent);
    });
    return results.back();
  };
  const Result one = trained(1), two = trained(2);
  BOOST_REQUIRE(one.loop.best.has_value());
  BOOST_REQUIRE(one.loop.best->test.has_value());
  BOOST_TEST(one.loop.evaluation->count == 41);
  BOOST_TEST(one.loop.best->evaluation.count == 20);
  BOOST_TEST(one.loop.evaluation->loss == two.loop.evaluation->loss);
  BOOST_TEST(one.loop.best->step == two.loop.best->step);
  BOOST_TEST(one.loop.best->test->loss == two.loop.best->test->loss);
  BOOST_TEST(state_sha256(views_of(one.state.tensors)) == state_sha256(views_of(two.state.tensors)));
}

BOOST_AUTO_TEST_CASE(a_folder_without_a_test_part_is_judged_by_what_is_held_out) {
  for (const char* label : {"a", "b"}) {
    std::filesystem::create_directories(directory / "data/train" / label);
    for (int i = 0; i < 30; ++i)
      test::write_file(directory / "data/train" / label / (std::to_string(i) + ".pgm"),
                       "P5 4 4 255\n" + std::string(8, static_cast<char>(i)) + std::string(8, label[0]));
  }
  const std::vector<std::string> words{"--dataset", "folder", "--data", (directory / "data").string()};
  BOOST_TEST(run(directory / "none", words) == 1);
  BOOST_CHECK_EXCEPTION(load_task(test::small_recipe(), *parse_flags(test::small_recipe(), "small", words)), Error,
                        test::says("folder: there are no samples to judge a training by", "60 training samples alone",
                                   "judging.validation = 6"));
  std::vector<std::string> held_out = words;
  held_out.insert(held_out.end(), {"--validation", "20"});
  BOOST_REQUIRE(run(directory / "run", held_out) == 0);
  BOOST_TEST(of_kind(lines_of(directory / "run"), "test").empty());
  const Json manifest = manifest_of("run"), result = manifest.at("result");
  BOOST_TEST(manifest.at("data").at("train") == 40);
  BOOST_TEST(manifest.at("data").at("valid") == 20);
  BOOST_TEST(manifest.at("data").at("test") == 0);
  BOOST_TEST(result.at("part") == "valid");
  BOOST_TEST(result.at("best").at("chosen_on") == "valid");
  BOOST_TEST(!result.at("best").contains("test"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::validation_test
