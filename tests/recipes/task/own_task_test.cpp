// A recipe whose task is its own, without images: the command line, the run folder and the commands work for it.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <iostream>
#include <numeric>
#include <set>
#include <sstream>

#include "recipes/config/run_task.h"
#include "recipes/task/noise.h"
#include "recipes/tools/commands.h"
#include "recipes/train/train.h"
#include "runtime/input_file.h"
#include "runtime/json_reader.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::own_task_test {
namespace {

using Words = std::vector<std::string>;
using test::run, test::trace, test::lines_of, test::of_kind;

// Reads a file of lines "x0 x1 y"; every fourth line is a test sample.
Task plane(const TaskRequest& request) {
  std::vector<float> x[2], y[2];
  std::istringstream text(read_file(request.data));
  float a = 0, b = 0, c = 0;
  for (int64_t row = 0; text >> a >> b >> c; ++row) {
    const size_t part = row % 4 == 3;
    x[part].insert(x[part].end(), {a, b});
    y[part].push_back(c);
  }
  const auto source = [&](size_t part) {
    return std::make_shared<TableSource>(static_cast<int64_t>(y[part].size()),
                                         std::vector{field_bytes(x[part]), field_bytes(y[part])});
  };
  const auto width = static_cast<int64_t>(request.options.real("width"));
  const auto model = [width](Inputs& in) -> ModelOutput {
    const Tensor hidden = tanh(linear("hidden", in["x"], width));
    const Tensor error = reshape(linear("out", hidden, 1), in["y"].shape()) - in["y"];
    return {error * error, {{"rms", error * error, {.finish = std::sqrt}}}};
  };
  return {.name = "plane",
          .fields = {{.name = "x", .dtype = DType::f32, .shape = {2}, .in_memory = true},
                     {.name = "y", .dtype = DType::f32, .in_memory = true}},
          .model = model,
          .train = source(0),
          .test = source(1)};
}

Recipe plane_recipe() {
  Recipe recipe;
  recipe.name = "plane";
  recipe.summary = "y = x0 - 2 x1 from a file";
  recipe.defaults = {.minibatch = 8, .epochs = 3, .optimizer = "adam", .lr = 0.02};
  recipe.options = {{.name = "width", .value = 8, .doc = "hidden units", .below = 65}};
  recipe.task = plane;
  return recipe;
}

struct OnDisk {
  test::TemporaryDirectory directory;
  const std::string data = (directory / "plane.txt").string();
  const std::filesystem::path out = directory / "run";

  OnDisk() { write(0); }

  void write(int shift) const {
    std::string text;
    for (int i = 0; i < 128; ++i) {
      const double a = std::sin(i + shift), b = std::cos(3 * i);
      text += fmt::format("{} {} {}\n", a, b, a - 2 * b);
    }
    test::write_file(data, text);
  }

  int trained(const std::filesystem::path& folder, Words more = {}) const {
    more.insert(more.end(), {"--data", data, "--threads", "2", "--shards", "2"});
    return run(folder, more, plane_recipe());
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(own_task, OnDisk)

BOOST_AUTO_TEST_CASE(a_run_of_it_leaves_what_any_run_leaves) {
  BOOST_REQUIRE(trained(out, {"--train-metrics"}) == 0);
  const auto evaluations = of_kind(lines_of(out), "eval");
  BOOST_REQUIRE(evaluations.size() == 3u);
  BOOST_TEST(evaluations.back().at("rms").get<double>() < 0.5 * evaluations.front().at("rms").get<double>());
  BOOST_TEST(evaluations.back().at("count") == 32);
  BOOST_TEST(
      evaluations.back().at("train_rms").get<double>() == std::sqrt(evaluations.back().at("train_loss").get<double>()),
      boost::test_tools::tolerance(1e-5));
  const auto manifest = nlohmann::json::parse(test::read_file(out / "manifest.json"));
  BOOST_TEST(manifest.at("data").at("name") == "plane");
  BOOST_TEST(manifest.at("data").at("train") == 96);
  BOOST_TEST(manifest.at("data").at("fingerprint").get<std::string>().size() == 16u);
  BOOST_TEST(!manifest.at("flags").contains("augment"));
  BOOST_TEST(manifest.at("flags").at("width") == 8);
  for (const char* name : {"curves.svg", "metrics.csv", "model.safetensors"})
    BOOST_TEST(std::filesystem::exists(out / name), name);
}

BOOST_AUTO_TEST_CASE(it_goes_on_to_the_same_bits) {
  const std::filesystem::path whole = directory / "whole";
  BOOST_REQUIRE(trained(whole) == 0);
  BOOST_REQUIRE(trained(out, {"--stop-at", "17st"}) == 0);
  BOOST_REQUIRE(run({"--resume", out.string(), "--stop-at", "36st"}, plane_recipe()) == 0);
  BOOST_TEST(trace(out) == trace(whole));
}

BOOST_AUTO_TEST_CASE(other_data_are_refused) {
  BOOST_REQUIRE(trained(out, {"--stop-at", "17st"}) == 0);
  write(1);
  BOOST_TEST(run({"--resume", out.string()}, plane_recipe()) == 1);
  write(0);
  BOOST_TEST(run({"--resume", out.string()}, plane_recipe()) == 0);
}

BOOST_AUTO_TEST_CASE(flags_of_images_are_unknown_to_it) {
  const std::string help = flags_help(plane_recipe(), "plane", HelpScope::all);
  for (const char* flag : {"--augment", "--dataset", "--pad"}) {
    BOOST_TEST(!test::contains(help, flag), flag);
    BOOST_CHECK_EXCEPTION(parse_flags(plane_recipe(), "plane", {flag, "1"}), UsageError,
                          test::says("there is no flag", flag));
  }
  BOOST_TEST(test::contains(help, "--width"));
  RunConfig noise;
  noise.data.path = kNoise;
  BOOST_CHECK_EXCEPTION(load_task(plane_recipe(), noise), Error,
                        test::says("plane reads its data before it is declared", "expected: the data of plane"));
  BOOST_CHECK_EXCEPTION(image_source(plane_recipe(), {}), Error, test::says("expected labelled images"));
}

BOOST_AUTO_TEST_CASE(label_smoothing_is_refused_where_no_loss_reads_it) {
  RunConfig config = *parse_flags(plane_recipe(), "plane", {"--label-smoothing", "0.1"});
  config.data.path = data;
  Observer silent;
  DataFacts facts;
  BOOST_CHECK_EXCEPTION(train(task_to_train(plane_recipe(), config, facts), config, LocalMachine(), silent), Error,
                        test::says("learning.label_smoothing = 0.1", "got plane"));
}

BOOST_AUTO_TEST_CASE(every_command_works_for_it) {
  const auto arguments = [&](const char* tool, Words more) {
    more.insert(more.end(), {"--data", data, "--minibatch", "8", "--threads", "1"});
    return ToolArguments{tool, plane_recipe(), more};
  };
  BOOST_TEST(inspect_command(arguments("inspect", {"--json"})) == 0);
  BOOST_TEST(inspect_command(arguments("inspect", {"--picture", (directory / "step.svg").string()})) == 0);
  BOOST_TEST(std::filesystem::exists(directory / "step.svg"));
  BOOST_TEST(bench_command(arguments("bench", {"--json", "--steps", "3"})) == 0);
  BOOST_TEST(scale_command(arguments("scale", {"--node", "1", "--between", "50us,1GB/s"})) == 0);
}

// Answers `bench --turns`, whose standard input is `lines`.
std::string turns(const Words& flags, const std::string& lines) {
  std::istringstream in(lines);
  std::ostringstream out;
  std::streambuf *const cin = std::cin.rdbuf(in.rdbuf()), *const cout = std::cout.rdbuf(out.rdbuf());
  try {
    bench_command({"bench", plane_recipe(), flags});
  } catch (const Error& error) {
    out << error.what();
  }
  std::cin.rdbuf(cin);
  std::cout.rdbuf(cout);
  return out.str();
}

BOOST_AUTO_TEST_CASE(a_rival_and_bench_step_in_turns) {
  const Words flags = {"--turns", "--steps", "1", "--data", data, "--minibatch", "8", "--threads", "1"};
  std::istringstream answers(turns(flags, "0\n20\n"));
  std::string one, many, end;
  std::getline(std::getline(answers, one), many);
  BOOST_TEST(parse_json(one, "a turn").list<double>().size() == 1);
  const std::vector<double> ms = parse_json(many, "a turn").list<double>();
  BOOST_TEST(std::accumulate(ms.begin(), ms.end(), 0.0) >= 20);
  BOOST_TEST(!std::getline(answers, end));
  BOOST_TEST(turns(flags, "1 s\n").starts_with("--turns: a line of standard input is a turn"));
  BOOST_TEST(turns(flags, "inf\n").ends_with("got:      inf"));
}

BOOST_AUTO_TEST_CASE(noise_has_values_that_the_fields_allow) {
  const std::vector<Field> fields = {{.name = "f", .dtype = DType::f32, .shape = {3}},
                                     {.name = "label", .dtype = DType::i32, .below = 4},
                                     {.name = "partner", .dtype = DType::i32, .below = Field::kRows},
                                     {.name = "byte", .dtype = DType::u8, .shape = {2}},
                                     {.name = "number", .dtype = DType::i32},
                                     ragged_field("words", 7),
                                     length_field("words")};
  const std::shared_ptr<const Source> noise = field_noise(fields, 100);
  BOOST_TEST(noise->count() == 100);
  BOOST_TEST(noise->is_constant());
  constexpr int64_t kRows = 6, kLength = 5;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<float> weights(kRows);
  FieldMemory memory{{}, weights};
  for (const Field& field : fields) bytes.emplace_back(static_cast<size_t>(kRows * field.sample_bytes(kLength)));
  for (std::vector<std::byte>& field : bytes) memory.fields.emplace_back(field);
  noise->gather(Order::training(1, kRows, kRows), 0)(0, memory);
  const auto value = [&](size_t f, int64_t i) { return load_element(fields[f].dtype, bytes[f].data(), i); };
  std::set<double> floats, raw;
  for (int64_t i = 0; i < 3 * kRows; ++i) {
    floats.insert(value(0, i));
    BOOST_TEST((value(0, i) >= -1 && value(0, i) < 1));
  }
  BOOST_TEST(floats.size() > 10u);
  for (int64_t i = 0; i < 2 * kRows; ++i) raw.insert(value(3, i));
  BOOST_TEST(raw.size() > 6u);
  for (int64_t i = 0; i < kRows; ++i) {
    BOOST_TEST(value(1, i) == static_cast<double>(i % 4));
    BOOST_TEST(value(2, i) == static_cast<double>(i));
    BOOST_TEST(value(4, i) == 0.0);
    BOOST_TEST(value(5, i * kLength) == static_cast<double>(i * kLength % 7));
    BOOST_TEST(value(6, i) == static_cast<double>(kLength));
    BOOST_TEST(weights[static_cast<size_t>(i)] == 1.0f / kRows);
  }
  for (size_t f = 0; f < fields.size(); ++f) check_indices(fields[f], bytes[f], kRows);
}

// A message names a row of a minibatch by the number of the sample that the row holds.
BOOST_AUTO_TEST_CASE(a_bad_index_names_its_sample) {
  Field labels{.name = "labels", .dtype = DType::i32};
  labels.below = 3;
  const std::vector<std::byte> bytes = field_bytes(std::vector<int32_t>{0, 5, 1, 2}).bytes;
  const std::vector<int32_t> samples = {10, 77, 3, 4};
  BOOST_CHECK_EXCEPTION(
      check_indices(labels, bytes, 4, samples), Error,
      test::says("field 'labels' of the task's source: expected indices in [0, 3), got 5 of sample 77"));
  BOOST_CHECK_EXCEPTION(check_indices(labels, bytes, 4), Error, test::says("got 5 of sample 1"));
  BOOST_CHECK_EXCEPTION(check_indices(labels, bytes, 4, samples, {"training"}), Error,
                        test::says("got 5 of training sample 77"));
  labels.shape = {2};
  BOOST_CHECK_EXCEPTION(check_indices(labels, bytes, 2, samples), Error, test::says("got 5 as value 1 of sample 10"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::own_task_test
