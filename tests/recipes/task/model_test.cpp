#include "recipes/task/model.h"
#include "recipes/config/run_task.h"
#include "recipes/run/command_words.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/error.h"
#include "graph/interpreter.h"
#include "graph/text.h"
#include "recipes/config/flags.h"
#include "recipes/papers/table.h"
#include "recipes/task/suggest.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::model_test {
namespace {

InputSpec tiny_input() { return {"synthetic", {1, 2, 2}, 3, {0.5}, {0.25}, 8}; }

ModelOutput linear_model(Batch& batch) {
  return classification(batch, linear("fc", flatten(batch.images), batch.classes));
}

ModelOutput reduced_loss(Batch& batch) {
  ModelOutput out = linear_model(batch);
  return {mean(out.losses[0].values), {}};
}

ModelOutput reduced_metric(Batch& batch) {
  ModelOutput out = linear_model(batch);
  return {out.losses, {{"error", mean(out.metrics[0].outputs[0].values, {}, true)}}};
}

ModelOutput no_loss(Batch&) { return {}; }

constexpr int kNarrowLine = __LINE__ + 2;
ModelOutput narrow_head(Batch& batch) {
  return classification(batch, linear("fc", flatten(batch.images), batch.classes - 1));
}

ModelOutput two_faced(Batch& batch) {
  bool training = batch.images.graph().mode == Mode::training;
  Tensor x = linear("fc", flatten(batch.images), batch.classes);
  return classification(batch, training ? x : linear("extra", x, batch.classes));
}

Recipe recipe(Model model) { return {.name = "tiny", .summary = "", .paper = "", .model = model}; }

Array array(Type type, std::vector<double> data) { return {std::move(type), std::move(data)}; }

// Returns the recipe's task without its data; `augment` is for recipes of labelled images.
Task task_with(const Recipe& recipe, const std::string& augment) {
  std::vector<std::string> words;
  if (!recipe.task) words = {"--augment", augment};
  return declared_task(recipe, *parse_flags(recipe, "", words));
}

OptionValues with(const Recipe& recipe, const std::vector<std::pair<std::string, double>>& values) {
  OptionValues options(recipe.options);
  for (const auto& [name, value] : values) options.set(name, value);
  return options;
}

int64_t parameters_of(const Recipe& recipe, const std::string& dataset,
                      const std::vector<std::pair<std::string, double>>& values) {
  const InputSpec input = input_spec({dataset, recipe.synthetic});
  return parameter_count(build_training_graph(image_task(recipe, input, with(recipe, values)), 2));
}

// Two samples and weights by hand: the logits of a sample are its first three normalised pixels.
Bindings two_samples(const std::vector<double>& weights) {
  return {{"images", array({DType::u8, {2, 1, 2, 2}, ""}, {0, 255, 51, 102, 255, 255, 0, 0})},
          {"labels", array({DType::i32, {2}, ""}, {0, 2})},
          {"weights", array({DType::f32, {2}, ""}, weights)},
          {"label_smoothing", array({DType::f32, {}, ""}, {0})},
          {"fc.weight", array({DType::f32, {3, 4}, ""}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0})},
          {"fc.bias", array({DType::f32, {3}, ""}, {0, 0, 0})}};
}

// Returns the cross-entropy of a row of logits. Pixels x become (x / 255 - 0.5) / 0.25, so that the logits of the two
// samples are (-2, 2, -1.2) and (2, 2, -2).
double loss_of(const std::vector<double>& logits, size_t label) {
  double total = 0;
  for (double z : logits) total += std::exp(z);
  return std::log(total) - logits[label];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(model)

BOOST_AUTO_TEST_CASE(commands_that_are_printed_can_be_copied) {
  Recipe recipe = mlp_mnist();
  BOOST_TEST(start_words(recipe) == "./run mlp_mnist");
  recipe.program = "/my programs/it's";
  BOOST_TEST(start_words(recipe) == "'/my programs/it'\\''s'");
}

BOOST_AUTO_TEST_CASE(training_loss_is_the_weighted_sum_over_normalised_images) {
  Graph graph = build_training_graph(image_task(recipe(linear_model), tiny_input(), {}), 2);
  verify(graph);
  double loss = interpret(graph, two_samples({0.5, 0.5})).outputs.at("loss").data.at(0);
  double expected = 0.5 * (loss_of({-2, 2, -1.2}, 0) + loss_of({2, 2, -2}, 2));
  BOOST_TEST(loss == expected, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(evaluation_counts_each_row_by_its_weight) {
  Graph graph = build_inference_graph(image_task(recipe(linear_model), tiny_input(), {}), 2);
  verify(graph);
  auto outputs = interpret(graph, two_samples({1, 0})).outputs;
  BOOST_TEST(outputs.at("count").data[0] == 1.0);
  BOOST_TEST(outputs.at("error").data[0] == 1.0);
  BOOST_TEST(outputs.at("loss").data[0] == loss_of({-2, 2, -1.2}, 0), boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(a_model_that_reduces_over_samples_is_refused) {
  std::string loss =
      test::error_of([] { build_training_graph(image_task(recipe(reduced_loss), tiny_input(), {}), 2); });
  test::golden("reduced_loss.txt", loss + "\n");
  std::string metric =
      test::error_of([] { build_inference_graph(image_task(recipe(reduced_metric), tiny_input(), {}), 2); });
  test::golden("reduced_metric.txt", metric + "\n");
  BOOST_TEST(test::error_of([] { build_training_graph(image_task(recipe(no_loss), tiny_input(), {}), 2); }) ==
             "recipe tiny: losses of the model\n  expected: one, or several with different names\n  got:      none\n"
             "  hint:     the model function sets them in the ModelOutput that it returns; classification() makes one");
}

// Returns the error of a model whose metric has this name.
std::string error_of_metric(const char* wrong) {
  static const char* name = nullptr;  // a model is a plain function
  name = wrong;
  const auto model = [](Batch& batch) {
    ModelOutput output = linear_model(batch);
    output.metrics.push_back({name, output.losses[0].values});
    return output;
  };
  return test::error_of([&] { build_training_graph(image_task(recipe(model), tiny_input(), {}), 2); });
}

// Lines of metrics.jsonl have these keys already.
BOOST_AUTO_TEST_CASE(a_metric_has_no_name_that_lines_have) {
  for (const char* key : {"lr", "lr.generator", "part", "seconds", "gain", "noise_scale", "gradient2", "state"})
    BOOST_TEST(test::contains(error_of_metric(key),
                              std::string("a metric is called '") + key + "'\n  expected: another name"));
}

BOOST_AUTO_TEST_CASE(a_metric_has_a_name_that_lines_can_have) {
  for (const char* wrong : {"top \"5\"", "a\\b", "a=b", "a,b", "a\nb", "\xe4", ""})
    BOOST_TEST(test::contains(error_of_metric(wrong), "'\n  expected: a name without quotes, backslashes, commas"));
}

// A label without an output of its own would be learnt as no class at all, and the loss would look better for it.
BOOST_AUTO_TEST_CASE(a_head_of_another_width_than_the_classes_is_refused) {
  AugmentSpec mixup;
  mixup.mixup = 1;
  for (const AugmentSpec& augment : {AugmentSpec{}, mixup}) {
    const std::string text =
        test::error_of([&] { build_training_graph(image_task(recipe(narrow_head), tiny_input(), {}, augment), 4); });
    BOOST_TEST(text == "cross_entropy: the number of logits is not that of the classes\n  at model_test.cpp:" +
                           std::to_string(kNarrowLine) +
                           "\n  expected: logits [N=4, 3]: the labels are 0 to 2\n  got:      logits [N=4, C=2]\n"
                           "  hint:     the last layer has as many outputs as the data have classes");
  }
}

BOOST_AUTO_TEST_CASE(both_declarations_must_own_the_same) {
  auto check = [](Model model) {
    check_same_parameters(build_training_graph(image_task(recipe(model), tiny_input(), {}), 2),
                          build_inference_graph(image_task(recipe(model), tiny_input(), {}), 2));
  };
  BOOST_TEST(test::error_of([&] { check(linear_model); }) == "(nothing thrown)");
  test::golden("other_parameters.txt", test::error_of([&] { check(two_faced); }) + "\n");
}

BOOST_AUTO_TEST_CASE(resnet50_is_torchvisions) {
  Recipe resnet = find_recipe("resnet50");
  InputSpec input = input_spec({"synthetic", resnet.synthetic});
  Graph graph = build_training_graph(image_task(resnet, input, {}), 2);
  check_same_parameters(graph, build_inference_graph(image_task(resnet, input, {}), 2));
  BOOST_TEST(parameter_count(graph) == 25557032);
  auto shape = [&](const std::string& name) {
    const Variable* variable = graph.find_variable(name);
    return variable ? shape_text(variable->type) : "(absent)";
  };
  BOOST_TEST(shape("conv1.weight") == "[O=64, I=3, H=7, W=7]");
  BOOST_TEST(shape("layer1.0.downsample.0.weight") == "[O=256, I=64, H=1, W=1]");
  BOOST_TEST(shape("layer2.0.conv2.weight") == "[O=128, I=128, H=3, W=3]");
  BOOST_TEST(shape("layer4.2.bn3.running_var") == "[C=2048]");
  BOOST_TEST(shape("layer1.1.downsample.0.weight") == "(absent)");
  BOOST_TEST(shape("fc.weight") == "[O=1000, I=2048]");
  int64_t parameters = 0;
  for (const Variable& v : graph.variables) parameters += v.kind == VariableKind::parameter;
  BOOST_TEST(parameters == 161);
  const Variable* gamma = graph.find_variable("layer3.5.bn3.weight");
  BOOST_REQUIRE(gamma);
  BOOST_CHECK(gamma->init == (Init{InitKind::constant, 0, 0}));
  BOOST_CHECK(graph.find_variable("layer3.5.bn2.weight")->init == (Init{InitKind::constant, 1, 0}));
  BOOST_CHECK(graph.find_variable("fc.weight")->init == (Init{InitKind::normal, 0, 0.01}));
}

// He et al. 2016, table 6, in millions: 0.27, 0.46, 0.66, 0.85, 1.7. Exactly, for n blocks a stage: one 3x3 convolution
// of 3 to 16 channels, stages of 2n convolutions with their norms, a matrix of 64 x 10 with 10 biases.
BOOST_AUTO_TEST_CASE(resnets_for_cifar_have_the_papers_sizes) {
  const Recipe recipe = resnet_cifar();
  const std::pair<int64_t, int64_t> sizes[] = {{8, 75290},   {20, 269722}, {32, 464154},
                                               {44, 658586}, {56, 853018}, {110, 1727962}};
  for (const auto& [depth, parameters] : sizes) {
    const int64_t n = (depth - 2) / 6;
    int64_t expected = 3 * 16 * 9 + 2 * 16 + 64 * 10 + 10;
    for (int64_t c : {16, 32, 64}) expected += 2 * n * (9 * c * c + 2 * c) - (c == 16 ? 0 : 9 * c * c / 2);
    BOOST_TEST(expected == parameters);
    BOOST_TEST(parameters_of(recipe, "synthetic", {{"depth", static_cast<double>(depth)}}) == parameters);
  }
}

BOOST_AUTO_TEST_CASE(resnets_for_cifar_have_the_names_pytorch_users_know) {
  const Recipe recipe = resnet_cifar();
  const InputSpec input = input_spec({"synthetic", recipe.synthetic});
  const Graph graph = build_training_graph(image_task(recipe, input, with(recipe, {{"depth", 8}, {"width", 2}})), 2);
  std::string text;
  for (const Variable& v : graph.variables)
    if (v.kind == VariableKind::parameter) text += v.name + " " + shape_text(v.type) + "\n";
  test::golden("resnet_cifar_8_width_2.txt", text);
}

BOOST_AUTO_TEST_CASE(options_change_the_net) {
  BOOST_TEST(parameters_of(mlp_mnist(), "mnist", {}) == 784 * 256 + 256 + 256 * 256 + 256 + 256 * 10 + 10);
  BOOST_TEST(parameters_of(mlp_mnist(), "mnist", {{"depth", 0}}) == 784 * 10 + 10);
  BOOST_TEST(parameters_of(mlp_mnist(), "mnist", {{"depth", 1}, {"hidden", 7}}) == 784 * 7 + 7 + 7 * 10 + 10);
  // Scale and shift of batch norm stand in place of the biases of both hidden layers.
  OptionValues normed(mlp_mnist().options);
  normed.set("norm", "batch");
  BOOST_TEST(parameter_count(build_training_graph(image_task(mlp_mnist(), input_spec({"mnist"}), normed), 2)) -
                 parameters_of(mlp_mnist(), "mnist", {}) ==
             2 * 256);
  const Recipe lenet = lenet_mnist();
  const InputSpec input = input_spec({"mnist"});
  const Graph wide = build_training_graph(image_task(lenet, input, with(lenet, {{"width", 3}})), 2);
  BOOST_TEST(shape_text(wide.find_variable("conv2.weight")->type) == "[O=96, I=48, H=5, W=5]");
}

// Batch norm follows the convolutions and replaces their biases.
BOOST_AUTO_TEST_CASE(lenet_takes_batch_norm) {
  const Recipe lenet = lenet_mnist();
  OptionValues options(lenet.options);
  options.set("norm", "batch");
  const Graph graph = build_training_graph(image_task(lenet, input_spec({"mnist"}), options), 2);
  check_same_parameters(graph, build_inference_graph(image_task(lenet, input_spec({"mnist"}), options), 2));
  std::string text;
  for (const Variable& v : graph.variables)
    if (v.kind == VariableKind::parameter)
      text += v.name + " " + shape_text(v.type) + " " + std::string(v.init.rule) + "\n";
  test::golden("lenet_norm.txt", text);
  BOOST_TEST(parameters_of(lenet, "mnist", {}) - parameter_count(graph) == -(16 + 32));
}

BOOST_AUTO_TEST_CASE(every_recipe_builds_and_is_listed_by_its_summary) {
  for (const Recipe& recipe : all_recipes()) {
    BOOST_TEST_CONTEXT(recipe.name) {
      const Task task = task_with(recipe, "none");
      const Graph training = build_training_graph(task, 2);
      verify(training);
      check_same_parameters(training, build_inference_graph(task, 2));
      // The summary stands alone on its line, where ./run list finds it.
      const std::string source = test::read_file(test::source_dir() / "recipes" / "papers" / (recipe.name + ".cpp"));
      BOOST_TEST(test::contains(source, " .summary = \"" + recipe.summary + "\",\n"));
      BOOST_TEST(!recipe.paper.empty());
    }
  }
}

// A constant that was f32 once stays rounded in f64.
BOOST_AUTO_TEST_CASE(nothing_of_a_training_step_in_f64_is_f32) {
  for (const Recipe& recipe : all_recipes()) {
    const Task task = task_with(recipe, "mixup");
    const Graph training = build_training_graph(task, 2, DType::f64);
    std::vector<bool> needed(training.nodes.size());  // nodes that the loss needs; metrics may be in f32
    for (const Output& output : training.outputs) needed[static_cast<size_t>(output.value.node)] = true;
    for (size_t n = training.nodes.size(); n-- > 0;) {
      if (!needed[n]) continue;
      const Node& node = training.nodes[n];
      for (const Value input : node.inputs) needed[static_cast<size_t>(input.node)] = true;
      BOOST_TEST((node.type().dtype != DType::f32),
                 recipe.name << ": " << name(node.op) << " at " << training.place(node));
    }
    BOOST_CHECK_NO_THROW(build_inference_graph(task, 2, DType::f64));
  }
}

BOOST_AUTO_TEST_CASE(normalisation_is_that_of_the_data) {
  for (const std::string& name : input_names(nullptr)) {
    if (name == "folder") continue;  // its normalisation is not known without the data
    InputSpec spec = input_spec({name});
    std::filesystem::path dir;
    if (name != "glyphs" && name != "synthetic") {
      auto found = test::data_dir(name);
      if (!found || (name == "cifar10" && !std::filesystem::exists(*found / "test_batch.bin"))) continue;
      dir = *found;
    }
    Dataset data = load_input({name, {}, dir}).data;
    BOOST_TEST_CONTEXT(name) {
      double tolerance = name == "synthetic" ? 1e-3 : 1e-9;
      for (size_t c = 0; c < spec.mean.size(); ++c) {
        BOOST_TEST(std::abs(data.statistics.mean[c] - spec.mean[c]) < tolerance);
        BOOST_TEST(std::abs(data.statistics.stddev[c] - spec.stddev[c]) < tolerance);
      }
      BOOST_TEST(data.train.count() == spec.train_count);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_nearest_word) {
  BOOST_TEST(edit_distance("", "abc") == 3);
  BOOST_TEST(edit_distance("kitten", "sitting") == 3);
  std::vector<std::string> words = {"minibatch", "epochs", "steps"};
  BOOST_TEST(nearest("minbatch", words) == "minibatch");
  BOOST_TEST(nearest("epoch", words) == "epochs");
  BOOST_TEST(nearest("zzzzzzzz", words) == "");
  BOOST_TEST(nearest("batch", words) == "minibatch");
  BOOST_TEST(suggestion("minbatch", words) == "; did you mean 'minibatch'?");
  BOOST_TEST(test::error_of([] { find_recipe("lenet_mnits"); }) ==
             "there is no recipe 'lenet_mnits'; did you mean 'lenet_mnist'?");
}

ModelOutput with_a_spare(Batch& batch) {
  linear("spare", flatten(batch.images), 3);
  return classification(batch, linear("fc", flatten(batch.images), batch.classes));
}

ModelOutput with_a_teacher(Batch& batch) {
  Tensor taught = linear("fc", flatten(batch.images), batch.classes);
  return classification(batch, taught + stop_gradient(linear("teacher", flatten(batch.images), batch.classes)));
}

BOOST_AUTO_TEST_CASE(parameters_that_never_learn_are_named) {
  const std::vector<std::string> expected = {"spare.weight", "spare.bias"};
  BOOST_TEST(unused_parameters(build_training_graph(image_task(recipe(with_a_spare), tiny_input(), {}), 2)) ==
             expected);
  const std::vector<std::string> of_teacher = {"teacher.weight", "teacher.bias"};
  BOOST_TEST(unused_parameters(build_training_graph(image_task(recipe(with_a_teacher), tiny_input(), {}), 2)) ==
             of_teacher);
  BOOST_TEST(unused_parameters(build_training_graph(image_task(recipe(linear_model), tiny_input(), {}), 2)).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::model_test
