// The recipes of the papers on ImageNet: sizes of their networks, and settings as the papers have them.
#include <boost/test/unit_test.hpp>
#include <map>

#include "recipes/config/flags.h"
#include "recipes/config/learning.h"
#include "recipes/config/preset.h"
#include "recipes/config/run_plan.h"
#include "recipes/papers/alexnet_net.h"
#include "recipes/papers/table.h"
#include "recipes/task/image_task.h"
#include "tests/support/says.h"

namespace kb::imagenet_recipes_test {

namespace {

using PaperWords = std::vector<std::string>;

RunConfig settings(const Recipe& recipe, const PaperWords& words) { return *parse_flags(recipe, "", words); }

double hyper_of(const RunConfig& config, const std::string& name) {
  for (const NamedScalar& scalar : config.learning.hyper)
    if (scalar.name == name) return scalar.value;
  throw Error("no hyper-parameter " + name);
}

Graph net_of(const Recipe& recipe, const PaperWords& words, const ImageShape& shape = {3, 224, 224},
             int64_t classes = 1000) {
  const InputSpec input = input_spec({"synthetic", {.shape = shape, .classes = classes}});
  const OptionValues options = settings(recipe, words).data.options;
  Graph graph = build_training_graph(image_task(recipe, input, options), 2);
  check_same_parameters(graph, build_inference_graph(image_task(recipe, input, options), 2));
  return graph;
}

int64_t size_of(const Recipe& recipe, const PaperWords& words) { return parameter_count(net_of(recipe, words)); }

bool notes_say(const Recipe& recipe, const PaperWords& words, const std::string& part) {
  for (const std::string& note : preset_notes(recipe, settings(recipe, words)))
    if (note.find(part) != std::string::npos) return true;
  return false;
}

// Returns the rate after the warmup and that of step 0, in a run on ImageNet.
std::pair<double, double> rates(const Recipe& recipe, const PaperWords& words) {
  const RunConfig config = settings(recipe, words);
  const RunPlan plan = make_plan(config, 1281167);
  return {make_rate({}, config.learning, plan).spec().learning_rate, make_rate({}, config.learning, plan).at(0)};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(imagenet_recipes)

// These are the numbers of parameters of torchvision's networks.
BOOST_AUTO_TEST_CASE(networks_have_the_published_sizes) {
  BOOST_TEST(size_of(imagenet_1h(), {}) == 25557032);
  BOOST_TEST(size_of(imagenet_1h(), {"--depth", "101"}) == 44549160);
  BOOST_TEST(size_of(alexnet(), {}) == 61100840);
  BOOST_TEST(size_of(imagenet_lars(), {}) == 25557032);
  BOOST_TEST(size_of(imagenet_lars(), {"--model", "alexnet"}) == 61100840);
  BOOST_TEST(size_of(imagenet_records(), {}) == 25557032);
  // Batch norm adds a scale and a shift for each of 1,152 maps, whose biases are gone.
  BOOST_TEST(size_of(alexnet(), {"--norm", "batch"}) == 61100840 + 64 + 192 + 384 + 256 + 256);
  BOOST_TEST(size_of(imagenet_lars(), {"--model", "alexnet_bn"}) == 61100840 + 1152);
}

BOOST_AUTO_TEST_CASE(alexnet_has_torchvisions_names) {
  const Graph plain = net_of(alexnet(), {});
  const std::map<std::string, std::string> shapes = {
      {"features.0.weight", "[O=64, I=3, H=11, W=11]"},  {"features.0.bias", "[C=64]"},
      {"features.3.weight", "[O=192, I=64, H=5, W=5]"},  {"features.6.weight", "[O=384, I=192, H=3, W=3]"},
      {"features.8.weight", "[O=256, I=384, H=3, W=3]"}, {"features.10.weight", "[O=256, I=256, H=3, W=3]"},
      {"classifier.1.weight", "[O=4096, I=9216]"},       {"classifier.4.weight", "[O=4096, I=4096]"},
      {"classifier.6.weight", "[O=1000, I=4096]"}};
  for (const auto& [name, shape] : shapes) {
    const Variable* variable = plain.find_variable(name);
    BOOST_REQUIRE_MESSAGE(variable, name);
    BOOST_TEST(shape_text(variable->type) == shape, name);
  }
  const Graph normed = net_of(alexnet(), {"--norm", "batch"});
  for (const char* name : {"features.0.weight", "features.1.running_mean", "features.4.weight", "features.5.bias",
                           "features.8.weight", "features.11.weight", "features.14.weight", "features.15.weight"})
    BOOST_TEST(normed.find_variable(name) != nullptr, name);
  BOOST_TEST(normed.find_variable("features.0.bias") == nullptr);
}

BOOST_AUTO_TEST_CASE(alexnet_has_a_small_form) {
  const Graph small = net_of(alexnet(), {"--hidden", "512"}, {3, 32, 32}, 10);
  BOOST_TEST(shape_text(small.find_variable("features.0.weight")->type) == "[O=64, I=3, H=5, W=5]");
  BOOST_TEST(shape_text(small.find_variable("classifier.1.weight")->type) == "[O=512, I=256]");
  BOOST_TEST(shape_text(small.find_variable("classifier.6.weight")->type) == "[O=10, I=512]");
}

// Goyal et al. 2017, sections 3 and 5.1: the rate is 0.1 at minibatch 256 and in proportion to the minibatch; a warmup,
// from 0.1, is taken above 256 alone.
BOOST_AUTO_TEST_CASE(the_hour_has_the_papers_rates) {
  const Recipe recipe = imagenet_1h();
  for (const int64_t kn : {64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536}) {
    const auto [rate, first] = rates(recipe, {"--minibatch", std::to_string(kn)});
    const double expected = 0.1 * static_cast<double>(kn) / 256;
    BOOST_TEST(rate == expected, boost::test_tools::tolerance(1e-14));
    BOOST_TEST(first == (kn > 256 ? 0.1 : expected), boost::test_tools::tolerance(1e-14));
  }
  BOOST_TEST(settings(recipe, {}).batch.minibatch == 8192);
  const RunConfig config = settings(recipe, {"--baseline"});
  BOOST_TEST(config.batch.per_worker == 32);
  BOOST_TEST(config.length.epochs == 90);
  BOOST_TEST((config.learning.milestones == std::vector<double>{30, 60, 80}));
  BOOST_TEST(config.learning.optimizer == "nesterov");
  BOOST_TEST(hyper_of(config, "momentum") == 0.9);
  BOOST_TEST(hyper_of(config, "weight_decay") == 1e-4);
  BOOST_TEST((config.learning.no_decay == std::vector<Role>{Role::norm_scale, Role::norm_shift}));
  BOOST_TEST(notes_say(recipe, {"--baseline"}, "23.60 % +- 0.12"));
  BOOST_TEST(notes_say(recipe, {"--depth", "101"}, "22.36 % +- 0.09"));
  // The paper has a graph alone for kn 64.
  BOOST_TEST(preset_notes(recipe, settings(recipe, {"--minibatch", "64"})).size() == 1u);
  BOOST_TEST(notes_say(recipe, {"--minibatch", "64"}, "crops are torchvision's, bilinear"));
}

BOOST_AUTO_TEST_CASE(images_of_imagenet_are_cropped_and_mirrored) {
  for (const Recipe& recipe : {imagenet_1h(), imagenet_lars(), imagenet_records(), alexnet()}) {
    BOOST_TEST(settings(recipe, {}).data.dataset == "imagenet");
    BOOST_CHECK(
        (settings(recipe, {}).data.augment == std::vector<AugmentKind>{AugmentKind::resized_crop, AugmentKind::flip}));
    BOOST_TEST(settings(recipe, {"--dataset", "cifar10"}).data.augment.empty());
    BOOST_TEST(settings(recipe, {"--augment", "flip"}).data.augment.size() == 1u);
  }
}

// The points have the rate gamma_0 and the epochs of warmup of the tables of You et al. 2017.
BOOST_AUTO_TEST_CASE(lars_has_the_papers_tables) {
  struct Point {
    const char *net, *minibatch;
    double rate, warmup;
  };
  const Point points[] = {{"alexnet", "512", 2, 2},       {"alexnet", "4096", 10, 2},    {"alexnet", "8192", 10, 2},
                          {"alexnet", "16384", 14, 2},    {"alexnet", "32768", 14, 2},   {"alexnet_bn", "512", 2, 5},
                          {"alexnet_bn", "4096", 10, 5},  {"alexnet_bn", "8192", 14, 5}, {"alexnet_bn", "16384", 23, 5},
                          {"alexnet_bn", "32768", 22, 5}, {"resnet50", "256", 4, 0},     {"resnet50", "1024", 9, 5},
                          {"resnet50", "8192", 30, 5},    {"resnet50", "16384", 33, 12}, {"resnet50", "32768", 40, 12}};
  for (const Point& point : points) {
    const RunConfig config = settings(imagenet_lars(), {"--model", point.net, "--minibatch", point.minibatch});
    BOOST_TEST_CONTEXT(point.net << " " << point.minibatch) {
      BOOST_TEST(config.learning.lr == point.rate);
      BOOST_TEST(config.learning.warmup_epochs == point.warmup);
      BOOST_TEST(config.learning.optimizer == "lars");
      BOOST_TEST(config.length.epochs == 100);
      BOOST_TEST(config.learning.schedule == "polynomial");
      BOOST_TEST(config.learning.power == 2);
      BOOST_TEST(hyper_of(config, "momentum") == 0.9);
      BOOST_TEST(hyper_of(config, "weight_decay") == 5e-4);
      BOOST_TEST(hyper_of(config, "trust") == 0.001);
    }
  }
  BOOST_TEST(settings(imagenet_lars(), {"--minibatch", "10240"}).learning.lr == 30);
  BOOST_TEST(settings(imagenet_lars(), {"--minibatch", "64"}).learning.lr == 4);
  BOOST_TEST(notes_say(imagenet_lars(), {"--minibatch", "10240"},
                       "the row of kn 8192, the largest that does not exceed kn 10240"));
  BOOST_TEST(notes_say(imagenet_lars(), {"--minibatch", "64"}, "the row of kn 256, the least; it exceeds kn 64"));
}

// Batch norm takes its statistics from a worker's samples, so that one worker of 8192 samples would be another network.
BOOST_AUTO_TEST_CASE(workers_of_lars_have_32_samples) {
  const Recipe recipe = imagenet_lars();
  for (const PaperWords& words : std::vector<PaperWords>{{},
                                                         {"--mlperf", "v0.5", "--minibatch", "16640"},
                                                         {"--mlperf", "v0.6"},
                                                         {"--mlperf", "v0.7", "--minibatch", "34560"}}) {
    BOOST_TEST(settings(recipe, words).batch.per_worker == 32);
    BOOST_TEST(notes_say(recipe, words, "not confirmed in a source: the samples a worker; 32 stand in"));
  }
  BOOST_TEST(settings(recipe, {"--per-worker", "64"}).batch.per_worker == 64);
  BOOST_TEST(notes_say(recipe, {"--minibatch", "1000"}, "32 do not divide kn 1000"));
}

// LARS has rates about a thousand times those of SGD. Layers that it does not adapt would take them too if they had no
// rate of their own.
BOOST_AUTO_TEST_CASE(layers_that_lars_does_not_adapt_have_a_rate_of_sgd) {
  const Recipe recipe = imagenet_lars();
  BOOST_TEST(hyper_of(settings(recipe, {"--model", "alexnet"}), "skip_lr") == 0.02);
  BOOST_TEST(hyper_of(settings(recipe, {}), "skip_lr") == 0.1);
  BOOST_TEST(notes_say(recipe, {}, "not as in the paper, which adapts weights and biases as layers of their own"));
}

BOOST_AUTO_TEST_CASE(rounds_of_mlperf_are_settings) {
  const Recipe recipe = imagenet_lars();
  const RunConfig v05 = settings(recipe, {"--mlperf", "v0.5", "--minibatch", "16640"});
  BOOST_TEST(v05.learning.optimizer == "momentum");
  BOOST_TEST(v05.learning.lr == 4.1);
  BOOST_TEST(v05.learning.warmup_epochs == 15);
  BOOST_TEST(v05.learning.schedule == "step");
  const RunConfig v06 = settings(recipe, {"--mlperf", "v0.6", "--minibatch", "32768"});
  BOOST_TEST(v06.learning.optimizer == "lars-mlperf");
  BOOST_TEST(v06.learning.lr == 31.2);
  BOOST_TEST(v06.learning.warmup_epochs == 25);
  BOOST_TEST(v06.learning.end_lr == 1e-4);
  BOOST_TEST(hyper_of(v06, "weight_decay") == 1e-4);
  BOOST_TEST(rates(recipe, {"--mlperf", "v0.6", "--minibatch", "32768"}).second == 0);  // the warmup begins at 0
  const RunConfig v07 = settings(recipe, {"--mlperf", "v0.7", "--minibatch", "34560"});
  BOOST_TEST(hyper_of(v07, "momentum") == 0.94);
  BOOST_TEST(hyper_of(v07, "weight_decay") == 2.5e-5);
  // MLPerf's reference convergence points: the schedule after the warmup is as long as the published one, rounded to
  // whole epochs.
  for (const auto& [kn, decay, span] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
           {1632, 27476, 204}, {4096, 13137, 64}, {32768, 2267, 128}, {67840, 1133, 424}}) {
    const RunConfig config = settings(recipe, {"--mlperf", "rcp", "--minibatch", std::to_string(kn)});
    const double published = static_cast<double>(decay) * static_cast<double>(kn) / 1281167;
    BOOST_TEST(std::abs(static_cast<double>(config.length.epochs) - config.learning.warmup_epochs - published) < 0.6);
    BOOST_TEST(config.batch.per_worker == span);
  }
  BOOST_TEST(notes_say(recipe, {"--mlperf", "v0.6", "--minibatch", "4096"},
                       "not confirmed in a source: the row's weight decay"));
  BOOST_TEST(notes_say(recipe, {"--mlperf", "rcp"}, "not confirmed in a source: the row's label smoothing (0)"));
  BOOST_TEST(notes_say(recipe, {"--mlperf", "v0.5"}, "target 74.9 %"));
  // Confirmed settings are not named among those that stand in.
  BOOST_TEST(notes_say(recipe, {"--mlperf", "v0.5", "--minibatch", "1664"},
                       "the row's weight decay (0.0001), length of the schedule (90 epochs), label smoothing (0);"));
  BOOST_TEST(
      notes_say(recipe, {"--mlperf", "v0.5", "--minibatch", "4096"},
                "momentum (0.9), length of the schedule (90 epochs), drops of the rate (at epochs 30, 60 and 80"));
  BOOST_TEST(notes_say(
      recipe, {"--mlperf", "v0.7", "--minibatch", "34560"},
      "the row's length of the schedule (59 epochs, what its logs took to the target), label smoothing (0);"));
  for (const auto& [kn, epsilon] : std::map<int64_t, double>{{4096, 1e-5}, {16384, 1e-5}, {32768, 1e-5}, {86016, 1e-9}})
    BOOST_TEST(hyper_of(settings(recipe, {"--mlperf", "v0.6", "--minibatch", std::to_string(kn)}), "epsilon") ==
               epsilon);
  BOOST_CHECK_EXCEPTION(
      settings(recipe, {"--mlperf", "v0.7", "--model", "alexnet"}), UsageError,
      kb::test::says("--mlperf: expected none beside --model alexnet, or --model resnet50, got 'v0.7'"));
}

BOOST_AUTO_TEST_CASE(records_are_set_as_far_as_they_are_confirmed) {
  const Recipe recipe = imagenet_records();
  const std::map<std::string, std::pair<int64_t, int64_t>> shares = {{"akiba", {32768, 32}},
                                                                     {"jia", {65536, 32}},
                                                                     {"mikami", {55296, 16}},
                                                                     {"ying", {32768, 32}},
                                                                     {"yamazaki", {81920, 40}}};
  for (const auto& [paper, share] : shares) {
    const RunConfig config = settings(recipe, {"--paper", paper});
    BOOST_TEST(config.batch.minibatch == share.first, paper);
    BOOST_TEST(config.batch.per_worker == share.second, paper);
    BOOST_TEST(notes_say(recipe, {"--paper", paper}, "not confirmed in a source: "), paper);
  }
  const RunConfig akiba = settings(recipe, {"--paper", "akiba"});
  BOOST_TEST(akiba.learning.optimizer == "rmsprop-warmup");
  BOOST_TEST(akiba.learning.schedule == "slow-start");
  BOOST_TEST(hyper_of(akiba, "center_epoch") == 10);
  BOOST_TEST(hyper_of(akiba, "period_epochs") == 5);
  BOOST_TEST(hyper_of(akiba, "rms_lr") == 3e-4);
  BOOST_TEST(rates(recipe, {"--paper", "akiba"}).first == 12.8, boost::test_tools::tolerance(1e-14));
  BOOST_TEST(rates(recipe, {"--paper", "akiba"}).second == 6.4, boost::test_tools::tolerance(1e-14));
  BOOST_CHECK(akiba.arithmetic.reduce_precision == DType::f16);
  BOOST_TEST(settings(recipe, {"--paper", "mikami"}).learning.label_smoothing == 0.1);
  BOOST_CHECK(settings(recipe, {"--paper", "jia"}).arithmetic.precision == Precision::f16);
  BOOST_TEST(settings(recipe, {"--paper", "yamazaki"}).learning.lr == 13);
  BOOST_TEST(notes_say(recipe, {"--minibatch", "64"}, "kn 64 is not the paper's"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::imagenet_recipes_test
