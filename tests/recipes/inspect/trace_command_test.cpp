// The files of the command trace, held against plain loops in double over the batches that it writes.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/element.h"
#include "graph/layers.h"
#include "recipes/task/ragged_source.h"
#include "recipes/tools/commands.h"
#include "runtime/safetensors.h"
#include "tests/support/support.h"

namespace kb::trace_command_test {
namespace {

using Words = std::vector<std::string>;

constexpr int64_t kBelow = 50;

// Lengths from 1 to 12; values from 1 to kBelow - 1, so that 0 is padding alone.
RaggedTokens sequences(int64_t count) {
  RaggedTokens all;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int32_t> tokens(static_cast<size_t>(1 + i * i % 12));
    for (size_t t = 0; t < tokens.size(); ++t)
      tokens[t] = static_cast<int32_t>(1 + (i * 7 + static_cast<int64_t>(t) * 11) % (kBelow - 1));
    all.append(tokens);
  }
  return all;
}

// The loss of a token x is (w x / kBelow - 1)^2 / 2; that of padding is 0.
ModelOutput linear_model(Inputs& in) {
  const Tensor tokens = in["x"];
  const Tensor w = parameter(in.graph(), "w", Role::weight, {in.real(), {1}, ""}, {InitKind::constant, 0.5, 0});
  const Tensor x = cast(tokens, in.real()) * (1.0 / kBelow);
  const Tensor error = x * broadcast_axes(reshape(w, {}), x.shape(), {}) - 1.0;
  const Tensor losses = sum(select(tokens > 0.0, 0.5 * error * error, 0.0), {1});
  ModelOutput output;
  output.losses = {{.values = losses, .count = cast(in.length("x"), in.real())}};
  output.metrics = {{"loss_of_tokens", losses}};
  return output;
}

Recipe ragged_recipe() {
  Recipe recipe;
  recipe.name = "ragged";
  recipe.defaults = {.minibatch = 8, .optimizer = "sgd", .lr = 0.3, .schedule = "constant"};
  recipe.is_ragged = true;
  recipe.task = [](const TaskRequest&) -> Task {
    const auto source = std::make_shared<RaggedSource>(std::vector{sequences(90)}, "");
    return {.name = "ragged",
            .fields = {ragged_field("x", kBelow), length_field("x")},
            .model = linear_model,
            .length = 16,
            .train = source,
            .test = source};
  };
  return recipe;
}

// A model over the samples of a worker, of which it needs more than one.
Recipe recipe_over_samples() {
  Recipe recipe;
  recipe.name = "over samples";
  recipe.defaults = {.minibatch = 8, .optimizer = "sgd", .lr = 0.1, .schedule = "constant"};
  recipe.task = [](const TaskRequest&) -> Task {
    const std::vector<float> x = {1, -2, 3, 0, 5, 4, -1, 2};
    const auto source = std::make_shared<TableSource>(8, std::vector{field_bytes(x)});
    return {.name = "over samples",
            .fields = {{"x", DType::f32, {1}}},
            .model = [](Inputs& in) -> ModelOutput {
              const Tensor y = batch_norm("part.bn", in["x"]);
              return {sum(y * y, {1}), {}};
            },
            .train = source,
            .test = source};
  };
  return recipe;
}

struct Traced : test::TemporaryDirectory {
  nlohmann::json facts;
  std::vector<NamedTensor> batches;

  explicit Traced(const Words& more) {
    const std::filesystem::path out = *this / "trace";
    Words words = {"--out", out.string(), "--precision", "f64", "--shards", "2", "--buckets", "3"};
    words.insert(words.end(), more.begin(), more.end());
    BOOST_REQUIRE(trace_steps_command({"trace", ragged_recipe(), words}) == 0);
    facts = nlohmann::json::parse(test::read_file(out / "trace.json"));
    batches = read_safetensors(out / "batches.safetensors").tensors;
  }

  const NamedTensor& field(const std::string& name, size_t step) const {
    const auto found = std::ranges::find(batches, name + "." + std::to_string(step), &NamedTensor::name);
    BOOST_REQUIRE((found != batches.end()));
    return *found;
  }
};

int32_t at(const NamedTensor& tensor, int64_t i) {
  return static_cast<int32_t>(load_element(tensor.type.dtype, tensor.data.data(), i));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(traces)

// Four workers have other numbers of tokens each: the loss is a mean over those of all.
BOOST_AUTO_TEST_CASE(steps_of_buckets_and_workers_follow_from_the_batches) {
  const Traced traced({"--steps", "6", "--per-worker", "2"});
  BOOST_TEST(traced.facts.at("workers").get<int64_t>() == 4);
  std::set<int64_t> lengths;
  double w = 0.5;
  for (size_t step = 0; step < 6; ++step) {
    const int64_t length = traced.facts.at("lengths").at(step).get<int64_t>();
    const int64_t rows = traced.facts.at("minibatches").at(step).get<int64_t>();
    lengths.insert(length);
    const NamedTensor &x = traced.field("x", step), &given = traced.field("x.length", step);
    BOOST_TEST((x.type.shape == Dims{rows, length}));
    BOOST_TEST((given.type.shape == Dims{rows}));
    double loss = 0, slope = 0, count = 0;
    for (int64_t row = 0; row < rows; ++row) {
      count += at(given, row);
      for (int64_t t = 0; t < length; ++t) {
        const double value = at(x, row * length + t) / static_cast<double>(kBelow);
        BOOST_TEST((value > 0) == (t < at(given, row)));
        if (value == 0) continue;
        loss += std::pow(w * value - 1, 2) / 2;
        slope += (w * value - 1) * value;
      }
    }
    BOOST_TEST(traced.facts.at("losses").at(step).get<double>() == loss / count, boost::test_tools::tolerance(1e-12));
    w -= traced.facts.at("learning_rates").at(step).get<double>() * slope / count;
  }
  BOOST_TEST(lengths.size() > 1u);
}

BOOST_AUTO_TEST_CASE(lengths_and_samples_of_steps_are_those_asked_for) {
  const Traced one({"--steps", "2", "--bucket", "12"}), by_tokens({"--steps", "2", "--bucket", "12", "--tokens", "60"});
  BOOST_TEST((one.facts.at("lengths") == nlohmann::json{12, 12}));
  BOOST_TEST((one.facts.at("minibatches") == nlohmann::json{8, 8}));
  BOOST_TEST((by_tokens.facts.at("minibatches") == nlohmann::json{5, 5}));
}

// The mean of (2 (x - mean) / sqrt(var + epsilon))^2 is 4 var / (var + epsilon), where 2 is the weight of the file.
BOOST_AUTO_TEST_CASE(the_steps_begin_with_given_weights) {
  const test::TemporaryDirectory directory;
  NamedTensor weight{"bn.weight", {DType::f64, {1}, ""}, std::vector<std::byte>(sizeof(double))};
  store_element(DType::f64, weight.data.data(), 0, 2);
  write_safetensors(directory / "w", views_of(std::vector{weight}));
  BOOST_REQUIRE(
      trace_steps_command({"trace",
                           recipe_over_samples(),
                           {"--out", (directory / "trace").string(), "--precision", "f64", "--steps", "1", "--init",
                            (directory / "w").string(), "--init-scope", "part", "--init-partial"}}) == 0);
  const auto facts = nlohmann::json::parse(test::read_file(directory / "trace" / "trace.json"));
  const double variance = 60.0 / 8 - 1.5 * 1.5;
  BOOST_TEST(facts.at("losses").at(0).get<double>() == 4 * variance / (variance + 1e-5),
             boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::trace_command_test
