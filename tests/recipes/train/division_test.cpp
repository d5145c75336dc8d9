// Groups into which the parameters of a model with one loss are divided, each with a learning of its own.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>

#include "graph/scope.h"
#include "recipes/config/learning.h"
#include "recipes/train/train.h"
#include "tests/recipes/ranks.h"
#include "tests/recipes/sines.h"
#include "tests/support/says.h"

namespace kb::division_test {
namespace {

using test::says;

constexpr int64_t kTrain = 64, kTest = 16;

// Two layers, "encoder" with a norm and "head"; the loss is of each sample, or has counts.
ModelOutput layers(Inputs& in, bool counted) {
  Tensor x = in["x"];
  {
    const Scope scope("encoder");
    x = tanh(layer_norm("ln", linear("fc", x, 8)));
  }
  const Scope scope("head");
  const Tensor y = linear("fc", x, 3);
  const Tensor loss = mean(softplus(y), {1}), wide = reshape(slice(in["x"], 1, 0, 1), {x.size(0)});
  ModelOutput output;
  output.losses = {{.values = loss}};
  if (counted) output.losses[0].count = 2.0 + wide;
  return output;
}

Task task_of(bool counted = false) {
  return {.name = "layers",
          .fields = {{.name = "x", .shape = {6}, .axes = "C"}},
          .model = [counted](Inputs& in) { return layers(in, counted); },
          .train = test::sine_source(kTrain, 6),
          .test = test::sine_source(kTest, 6)};
}

TrainConfig config_of_run() {
  TrainConfig config = config_of({.minibatch = 16, .optimizer = "adamw", .lr = 0.01, .schedule = "cosine"});
  config.length.steps = 6;
  config.batch.per_worker = 4;
  config.arithmetic.shards = 2;
  return config;
}

Learning by(const std::string& optimizer, const TrainConfig& config) {
  const Optimizer row = find_optimizer({}, optimizer);
  Learning learning = config.learning;
  learning.optimizer = optimizer;
  learning.lr = row.learning_rate;
  learning.hyper = hyper_values(row, {});
  return learning;
}

Learning by_muon(const TrainConfig& config) { return by("muon", config); }

Learning frozen(const TrainConfig& config) {
  Learning learning = config.learning;
  learning.optimizer = kFrozen;
  return learning;
}

TrainConfig with_muon() {
  TrainConfig config = config_of_run();
  config.group_learning = {{"norms", config.learning}, {"matrices", by_muon(config)}};
  config.group_learning[0].learning.lr = 0.003;
  return config;
}

struct Rates : Observer {
  std::vector<std::map<std::string, double>> steps;
  void step(const StepMetrics& metrics) override {
    steps.emplace_back()["lr"] = metrics.lr;
    for (const NamedScalar& rate : metrics.group_rates) steps.back()[rate.name] = rate.value;
  }
};

Result trained(const Task& task, const TrainConfig& config, const TrainingState* from = nullptr) {
  Observer silent;
  LocalMachine machine(2);
  return train(task, config, machine, silent, from);
}

std::map<std::string, std::vector<std::byte>> tensors_of(const TrainingState& state) {
  std::map<std::string, std::vector<std::byte>> tensors;
  for (const NamedTensor& tensor : state.tensors) tensors[tensor.name] = tensor.data;
  return tensors;
}

void refuses(const TrainConfig& config, const std::string& text, const std::string& more = "") {
  BOOST_CHECK_EXCEPTION(trained(task_of(), config), Error, says(text, more));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(division)

// A count divides the gradient of every group.
BOOST_AUTO_TEST_CASE(groups_that_learn_alike_are_the_training_of_one_to_the_bit) {
  for (const bool counted : {false, true}) {
    TrainConfig config = config_of_run();
    const auto whole = tensors_of(trained(task_of(counted), config).state);
    config.group_learning = {{"matrices", config.learning}, {"encoder.ln", config.learning}};
    BOOST_TEST((tensors_of(trained(task_of(counted), config).state) == whole));
  }
}

BOOST_AUTO_TEST_CASE(a_frozen_group_keeps_its_bits_and_the_others_learn_as_beside_it) {
  TrainConfig config = config_of_run();
  config.group_learning = {{"encoder", frozen(config)}};
  const TrainingState end = trained(task_of(), config).state;
  const auto tensors = tensors_of(end);
  config.length.stop_at = parse_stop_at("1st");
  const auto begin = tensors_of(trained(task_of(), config).state);
  for (const char* name : {"encoder.fc.weight", "encoder.ln.bias"}) BOOST_TEST((tensors.at(name) == begin.at(name)));
  for (const char* name : {"head.fc.weight", "head.fc.bias"}) BOOST_TEST((tensors.at(name) != begin.at(name)));
  BOOST_TEST(tensors.contains("exp_avg.head.fc.weight"));
  BOOST_TEST(!tensors.contains("exp_avg.encoder.fc.weight"));
  TrainConfig still = config_of_run();
  still.group_learning = {{"encoder", still.learning}};
  still.group_learning[0].learning.lr = 0;
  const auto beside = tensors_of(trained(task_of(), still).state);
  for (const char* name : {"head.fc.weight", "head.fc.bias"}) BOOST_TEST((tensors.at(name) == beside.at(name)));
}

// A step has four virtual workers of four samples.
BOOST_AUTO_TEST_CASE(every_split_and_a_training_that_is_gone_on_with_have_the_same_bits) {
  TrainConfig config = with_muon();
  config.learning.clip_norm = config.group_learning[0].learning.clip_norm = 0.1;
  config.group_learning.push_back({"biases", frozen(config)});
  config.group_learning[1].group = "matrices-head";
  config.group_learning.push_back({"matrices-encoder", by("shampoo", config)});
  const std::string whole = test::hash(trained(task_of(), config).state);
  for (const int ranks : {2, 4})
    for (const std::string& split : test::hashes_of_ranks(ranks, task_of(), config)) BOOST_TEST(split == whole);
  TrainConfig first = config;
  first.length.stop_at = parse_stop_at("3st");
  const TrainingState middle = trained(task_of(), first).state;
  BOOST_TEST(test::hash(trained(task_of(), config, &middle).state) == whole);
}

BOOST_AUTO_TEST_CASE(a_role_may_leave_out_a_scope) {
  TrainConfig config = config_of_run();
  config.group_learning = {{"matrices-head", by_muon(config)}};
  const auto tensors = tensors_of(trained(task_of(), config).state);
  BOOST_TEST(tensors.contains("momentum_buffer.encoder.fc.weight"));
  BOOST_TEST(tensors.contains("exp_avg.head.fc.weight"));
}

BOOST_AUTO_TEST_CASE(steps_tell_the_rate_of_each_group) {
  Rates seen;
  LocalMachine machine(2);
  train(task_of(), with_muon(), machine, seen);
  BOOST_REQUIRE(seen.steps.size() == 6u);
  for (auto& step : seen.steps) {
    BOOST_TEST(step.at("lr.matrices") == 2 * step.at("lr"), boost::test_tools::tolerance(1e-12));
    BOOST_TEST(step.at("lr.norms") == 0.3 * step.at("lr"), boost::test_tools::tolerance(1e-12));
    BOOST_TEST(!step.contains("lr."));
  }
}

// Under one clip_norm the norm is over all parameters; a group with another one is clipped by its own.
BOOST_AUTO_TEST_CASE(a_norm_that_is_clipped_is_of_all_parameters_or_of_the_group) {
  TrainConfig config = config_of_run();
  config.arithmetic.precision = Precision::f64;
  config.learning.optimizer = "sgd";
  config.learning.hyper = {{"weight_decay", 0}};
  config.learning.clip_norm = 0.05;
  const auto moved = [&](const std::string& name) {
    const auto before = config.length.steps;
    config.length.steps = 1;
    const TrainingState end = trained(task_of(), config).state;
    config.length.steps = before;
    for (const NamedTensor& tensor : end.tensors)
      if (tensor.name == name) return load_element(tensor.type.dtype, tensor.data.data(), 0);
    return 0.0;
  };
  const double whole = moved("encoder.fc.weight"), of_head = moved("head.fc.weight");
  config.group_learning = {{"head", config.learning}};
  BOOST_TEST(moved("encoder.fc.weight") == whole, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(moved("head.fc.weight") == of_head, boost::test_tools::tolerance(1e-12));
  config.group_learning[0].learning.clip_norm = 0.02;
  BOOST_TEST(moved("encoder.fc.weight") == whole, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(std::abs(moved("head.fc.weight") - of_head) > 1e-8);
}

BOOST_AUTO_TEST_CASE(groups_that_do_not_divide_the_parameters_are_refused) {
  const TrainConfig plain = config_of_run();
  const auto with = [&](std::vector<std::string> names) {
    TrainConfig config = plain;
    for (const std::string& name : names) config.group_learning.push_back({name, plain.learning});
    return config;
  };
  refuses(with({"encodre"}), "group_learning: 'encodre' owns none", "did you mean 'encoder'?");
  refuses(with({"matrices-haed"}), "group_learning: 'haed' owns none", "did you mean 'head'?");
  refuses(with({"xylophone"}),
          "'xylophone' owns none of the model's parameters\n  expected: one of matrices, embeddings");
  refuses(with({"embeddings"}), "matrices, embeddings, norms, biases, or a scope such as encoder, head");
  refuses(with({"matrices", "head"}), "two groups own the parameter \"head.fc.weight\"", "'head' and 'matrices'");
  refuses(with({"head", "head"}), "expected at most one row for each group, got 'head'");
  refuses(with({""}), "expected at most one row for each group, got ''");
  TrainConfig config = plain;
  config.learning = by_muon(plain);
  refuses(config, "learning.optimizer = muon: it takes matrices", "\"matrices --optimizer muon\"");
  config = with_muon();
  config.group_learning[0].learning = by_muon(plain);
  refuses(config, "in the group 'norms'", "got:      [8]");
  config = plain;
  config.group_learning = {{"encoder", frozen(plain)}, {"head", frozen(plain)}};
  refuses(config, "group_learning: no parameter learns", "got:      'encoder', 'head' and the rest, all frozen");
  config = with({"encoder"});
  config.group_learning[0].learning.optimizer = "schedule-free";
  config.group_learning[0].learning.hyper = {};
  refuses(config, "learning.optimizer = schedule-free", "got the groups 'encoder' and the rest");
  config = with({"encoder"});
  config.judging.eval_ema = true;
  config.learning.ema = config.group_learning[0].learning.ema = 0.9;
  refuses(config, "judging.eval_ema: expected one group", "'encoder' and the rest");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::division_test
