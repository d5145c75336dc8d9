// Tests the running statistics of batch norm that --recompute-bn estimates as means over minibatches of the training
// set.
#include "recipes/config/flags.h"
#include "recipes/config/run_task.h"
#include "recipes/train/instruments.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/interpreter.h"
#include "recipes/config/run_plan.h"
#include "recipes/train/loaded_programs.h"
#include "runtime/backend.h"
#include "runtime/safetensors.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::batch_norm_estimate_test {
namespace {

using test::run, test::small_recipe, test::state_sha256, test::trace;
using Words = std::vector<std::string>;
using Values = std::map<std::string, std::vector<double>>;

constexpr int64_t kMinibatches = 4, kSamples = 20;  // 4 minibatches of 20 samples

ModelOutput two_norms(Batch& batch) {
  Tensor x = conv2d("conv", batch_norm("bn0", batch.images), 5, {.kernel = 3, .padding = 1});
  x = relu(batch_norm("bn1", x, {.momentum = 0.25}));
  return classification(batch, linear("fc", flatten(x), batch.classes));
}

ModelOutput no_norm(Batch& batch) { return classification(batch, linear("fc", flatten(batch.images), batch.classes)); }

Recipe with_model(Model model) {
  Recipe recipe = small_recipe();
  recipe.model = model;
  return recipe;
}

Values values_of(const std::vector<NamedTensor>& tensors) {
  Values values;
  for (const NamedTensor& tensor : tensors)
    for (int64_t i = 0; i < tensor.type.elements(); ++i)
      values[tensor.name].push_back(load_element(tensor.type.dtype, tensor.data.data(), i));
  return values;
}

// A run's programs at their initial values, and its data.
struct Prepared {
  explicit Prepared(const Recipe& recipe, Words words = {})
      : config(*parse_flags(recipe, "", all(std::move(words)))),
        input(load_input(image_source(recipe, config))),
        backend(make_cpu_backend({2, 2, ""})),
        task(with_sources(recipe, config, input)),
        programs(*backend,
                 compile_programs(task, settle_for_one_step(config, backend->target(), config.machine.processes)), 1),
        estimate(make_batch_norm_estimate(*programs.find(Use::estimate), task.fields, *task.plain,
                                          config.arithmetic.seed, kMinibatches)) {}

  static Task with_sources(const Recipe& recipe, const RunConfig& config, const Input& input) {
    Task task = task_of(recipe, config, input.spec);
    set_image_sources(task, input.spec, std::make_shared<const Dataset>(input.data), {});
    return task;
  }

  static Words all(Words words) {
    words.insert(words.end(), {"--minibatch", "20", "--recompute-bn", "4"});
    return words;
  }
  Order order() const {
    return Order::training(static_cast<uint64_t>(config.arithmetic.seed), input.data.train.count(), kSamples);
  }

  RunConfig config;
  Input input;
  std::unique_ptr<Backend> backend;
  Task task;
  LoadedPrograms programs;
  std::unique_ptr<Instrument> estimate;
};

// Returns the running statistics after a training step on minibatch `number`, which the interpreter takes in f64.
std::map<std::string, Array> writes_of_step(const Prepared& prepared, const Graph& training, int64_t number) {
  const Split& split = prepared.input.data.train;
  Bindings bindings = random_bindings(training, 1);
  for (const auto& [name, values] : values_of(prepared.programs.store.canonical(false)))
    bindings.at(name).data = values;
  std::vector<double>&images = bindings.at("images").data, &labels = bindings.at("labels").data;
  images.clear();
  labels.clear();
  for (int64_t row = 0; row < kSamples; ++row) {
    const int64_t sample = prepared.order().row(number, row).sample;
    for (const uint8_t pixel : split.image(sample)) images.push_back(pixel);
    labels.push_back(split.labels[static_cast<size_t>(sample)]);
  }
  return interpret(training, bindings).writes;
}

// Returns the mean batch statistics over minibatches, read from steps: running = (1 - m) initial + m batch.
Values mean_over_minibatches(const Prepared& prepared, const Recipe& recipe) {
  const Graph training = build_training_graph(image_task(recipe, prepared.input.spec, {}), kSamples, DType::f64);
  Values means;
  for (int64_t number = 0; number < kMinibatches; ++number)
    for (const auto& [name, after] : writes_of_step(prepared, training, number)) {
      const double momentum = name.starts_with("bn1") ? 0.25 : 0.1, before = name.ends_with("var") ? 1 : 0;
      std::vector<double>& mean = means[name];
      mean.resize(after.data.size());
      for (size_t i = 0; i < mean.size(); ++i)
        mean[i] += (after.data[i] - (1 - momentum) * before) / momentum / kMinibatches;
    }
  return means;
}

std::string complaint(const Recipe& recipe, const Words& words) {
  return test::error_of([&] {
    const RunConfig config = *parse_flags(recipe, "", words);
    const InputSpec input = input_spec(image_source(recipe, config));
    make_plan(config, input.train_count);
    compile_programs(task_of(recipe, config, input),
                     settle_for_one_step(config, generic_cpu_target(), config.machine.processes));
  });
}

struct Fixture : test::TemporaryDirectory {
  std::filesystem::path trained(const std::string& name, Words words, const Recipe& recipe = small_recipe()) const {
    BOOST_REQUIRE(run(*this / name, std::move(words), recipe) == 0);
    return *this / name;
  }
  static Values model(const std::filesystem::path& out) {
    return values_of(read_safetensors(out / "model.safetensors").tensors);
  }
};

std::vector<double> losses(const std::filesystem::path& out) {
  std::vector<double> losses;
  for (const nlohmann::json& line : test::of_kind(test::lines_of(out), "step")) losses.push_back(line.at("loss"));
  return losses;
}

bool is_running(const std::string& name) { return name.find(".running_") != std::string::npos; }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(batch_norm_estimate, Fixture)

BOOST_AUTO_TEST_CASE(it_is_the_mean_over_minibatches) {
  const Recipe recipe = with_model(two_norms);
  Prepared prepared(recipe, {"--precision", "f64"});
  const Values expected = mean_over_minibatches(prepared, recipe);
  BOOST_TEST(expected.size() == 4u);
  prepared.estimate->evaluation_begins();
  Values got = values_of(prepared.programs.store.canonical());
  for (const auto& [name, values] : expected)
    for (size_t i = 0; i < values.size(); ++i)
      BOOST_TEST(got.at(name)[i] == values[i], boost::test_tools::tolerance(1e-11));
}

// The estimate for a norm of the images themselves equals the mean and variance computed here by hand.
BOOST_AUTO_TEST_CASE(of_the_images_it_is_what_the_data_are) {
  Prepared prepared(with_model(two_norms), {"--precision", "f64"});
  prepared.estimate->evaluation_begins();
  const Values got = values_of(prepared.programs.store.canonical());
  const InputSpec& spec = prepared.input.spec;
  const int64_t area = spec.shape.height * spec.shape.width;
  for (int64_t channel = 0; channel < spec.shape.channels; ++channel) {
    const auto c = static_cast<size_t>(channel);
    double mean = 0, variance = 0;
    for (int64_t number = 0; number < kMinibatches; ++number) {
      std::vector<double> pixels;
      for (int64_t row = 0; row < kSamples; ++row) {
        const auto image = prepared.input.data.train.image(prepared.order().row(number, row).sample);
        for (int64_t i = 0; i < area; ++i)
          pixels.push_back((image[static_cast<size_t>(channel * area + i)] / 255.0 - spec.mean[c]) / spec.stddev[c]);
      }
      double sum = 0, squares = 0;
      for (const double pixel : pixels) sum += pixel;
      const double own = sum / static_cast<double>(pixels.size());
      for (const double pixel : pixels) squares += (pixel - own) * (pixel - own);
      mean += own / kMinibatches;
      variance += squares / static_cast<double>(pixels.size() - 1) / kMinibatches;
    }
    BOOST_TEST(got.at("bn0.running_mean")[c] == mean, boost::test_tools::tolerance(1e-11));
    BOOST_TEST(got.at("bn0.running_var")[c] == variance, boost::test_tools::tolerance(1e-11));
  }
}

// It therefore does not matter how often a run evaluates, or whether it evaluates anew when it goes on.
BOOST_AUTO_TEST_CASE(it_depends_on_nothing_that_was_there) {
  Prepared prepared(small_recipe());
  const std::string initial = prepared.programs.store.state_sha256();
  prepared.estimate->evaluation_begins();
  const std::string once = prepared.programs.store.state_sha256();
  BOOST_TEST(once != initial);
  prepared.estimate->evaluation_begins();
  BOOST_TEST(prepared.programs.store.state_sha256() == once);
  std::vector<NamedTensor> spoilt = prepared.programs.store.canonical();
  for (NamedTensor& tensor : spoilt)
    if (is_running(tensor.name))
      for (int64_t i = 0; i < tensor.type.elements(); ++i)
        store_element(tensor.type.dtype, tensor.data.data(), i, std::nan(""));
  prepared.programs.store.load(spoilt);
  prepared.estimate->evaluation_begins();
  BOOST_TEST(prepared.programs.store.state_sha256() == once);
}

// The program that gathers statistics computes nothing that only the loss needs, no gradient and no update.
BOOST_AUTO_TEST_CASE(its_program_ends_at_the_last_norm) {
  const Prepared prepared(with_model(two_norms));
  const auto ops = [](const Session& session, Op op) {
    int64_t count = 0;
    for (const Schedule* part : session.compiled().program.all())
      for (const Node& node : part->graph->nodes) count += node.op == op;
    return count;
  };
  const Session& statistics = *prepared.programs.find(Use::estimate);
  BOOST_TEST(ops(prepared.programs.update(), Op::matmul) == 3);
  BOOST_TEST(ops(statistics, Op::matmul) == 0);
  BOOST_TEST(ops(statistics, Op::conv2d) == 1);
  BOOST_TEST(ops(statistics, Op::moments) == 2);
  BOOST_TEST(!statistics.has_input("labels"));
}

BOOST_AUTO_TEST_CASE(off_it_is_not_there) {
  const Recipe recipe = small_recipe();
  const RunConfig off = *parse_flags(recipe, "", {}), on = *parse_flags(recipe, "", {"--recompute-bn", "3"});
  const InputSpec input = input_spec(image_source(recipe, off));
  const Programs without = compile_programs(task_of(recipe, off, input),
                                            settle_for_one_step(off, generic_cpu_target(), off.machine.processes)),
                 with = compile_programs(task_of(recipe, on, input),
                                         settle_for_one_step(on, generic_cpu_target(), on.machine.processes));
  BOOST_TEST(!(without.find(Use::estimate) != nullptr));
  BOOST_TEST((with.find(Use::estimate) != nullptr));
  BOOST_TEST(with.update().graph_hash == without.update().graph_hash);
  BOOST_TEST(with.evaluate().graph_hash == without.evaluate().graph_hash);
}

// The estimate moves running statistics alone, which training does not read; at the end they follow from the
// parameters.
BOOST_AUTO_TEST_CASE(training_goes_on_as_before) {
  const std::filesystem::path off = trained("off", {}), on = trained("on", {"--recompute-bn", "10"}),
                              once = trained("once", {"--recompute-bn", "10", "--eval-every", "0"});
  const Values without = model(off), with = model(on);
  for (const auto& [name, values] : without) BOOST_TEST((values == with.at(name)) == !is_running(name), name);
  BOOST_TEST(state_sha256(on) != state_sha256(off));
  BOOST_TEST(state_sha256(once) == state_sha256(on));
  BOOST_TEST(losses(on) == losses(off));
  const auto manifest = nlohmann::json::parse(test::read_file(on / "manifest.json"));
  BOOST_TEST(manifest.at("flags").at("recompute-bn") == 10);
}

// The 10 minibatches of 10 samples are the whole set, so that the precisions differ in their rounding alone.
BOOST_AUTO_TEST_CASE(every_precision_sees_the_same) {
  const Words words = {"--epochs", "0", "--recompute-bn", "10", "--precision"};
  const auto in = [&](const char* precision) {
    Words all = words;
    all.push_back(precision);
    return model(trained(precision, all));
  };
  const Values expected = in("f64");
  for (const auto& [precision, bound] : {std::pair{"f32", 1e-5}, {"bf16", 2e-2}, {"f16", 2e-3}}) {
    const Values got = in(precision);
    for (const auto& [name, values] : expected)
      if (is_running(name))
        for (size_t i = 0; i < values.size(); ++i)
          BOOST_TEST(std::fabs(got.at(name)[i] - values[i]) <= bound, precision << " " << name);
  }
}

BOOST_AUTO_TEST_CASE(noise_has_statistics_too) {
  const Words words = {"--data", "synthetic", "--epochs", "0", "--recompute-bn"};
  const auto of = [&](const char* minibatches) {
    Words all = words;
    all.push_back(minibatches);
    return model(trained(minibatches, all));
  };
  const Values one = of("1"), three = of("3");
  for (const auto& [name, values] : one)
    for (size_t i = 0; i < values.size(); ++i)
      BOOST_TEST(std::fabs(three.at(name)[i] - values[i]) <= 1e-6 * std::max(1.0, std::fabs(values[i])), name);
  BOOST_TEST(one.at("bn.running_mean")[0] != 0);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_estimated_is_refused) {
  BOOST_TEST(
      complaint(small_recipe(), {"--recompute-bn", "11"}) ==
      "judging.recompute_bn: expected at most 10 minibatches of 10, which the 100 training samples hold, got 11");
  BOOST_TEST(test::contains(complaint(small_recipe(), {"--recompute-bn", "21", "--batch-norm", "ghost(5)"}),
                            "at most 20 minib"));
  BOOST_TEST(complaint(with_model(no_norm), {"--recompute-bn", "1"}) ==
             "judging.recompute_bn: expected a model with batch norm, got small, which has none");
  BOOST_TEST(complaint(with_model(no_norm), {}) == "(nothing thrown)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::batch_norm_estimate_test
