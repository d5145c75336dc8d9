#include "recipes/config/learning.h"
#include "recipes/config/flags.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "recipes/papers/table.h"
#include "recipes/train/programs.h"
#include "recipes/train/run_schedule.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::learning_test {
namespace {

RunConfig parse(const Recipe& recipe, const std::vector<std::string>& words) { return *parse_flags(recipe, "", words); }

std::string derivation(const Recipe& recipe, const std::vector<std::string>& words, int64_t samples) {
  const RunConfig config = parse(recipe, words);
  return rate_derivation({}, config.learning, make_plan(config, samples));
}

std::string chosen(const Recipe& recipe, const std::vector<std::string>& words) {
  const RunConfig config = parse(recipe, words);
  return fmt::format("lr {}, {}", config.learning.lr, optimizer_text(config.learning, config.batch.minibatch));
}

std::string usage_error(const std::vector<std::string>& words) {
  return test::error_of<UsageError>([&] { parse(lenet_mnist(), words); });
}

Programs compiled(const Recipe& recipe, const RunConfig& config) {
  return compile_programs(declared_task(recipe, config),
                          settle_for_one_step(config, generic_cpu_target(), config.machine.processes));
}

Tensor fading(UpdateContext& c) { return (1.0 - c.scalar("rate_of_fading")) * c.parameter; }

// Returns a recipe with an optimizer of its own.
Recipe faded() {
  Recipe recipe = mlp_mnist();
  recipe.defaults.optimizer = "fading";
  recipe.defaults.hyper = {{"rate_of_fading", 0.25}};
  recipe.defaults.lr = 7;
  recipe.optimizers = {{"fading", "for tests", fading, 5, {{"rate_of_fading", 0.5, "how fast"}}}};
  return recipe;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(learning)

BOOST_AUTO_TEST_CASE(derivations_of_the_learning_rate) {
  const Recipe lenet = lenet_mnist(), resnet = resnet50();
  const std::vector<std::string> scaled = {"--base-lr", "0.1", "--minibatch", "1024", "--base-minibatch", "256"};
  auto with = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  std::string text;
  auto add = [&](const Recipe& recipe, const std::vector<std::string>& words, int64_t samples) {
    text += fmt::format("{} {}\n  {}\n", recipe.name, fmt::join(words, " "), derivation(recipe, words, samples));
  };
  add(lenet, {}, 60000);
  add(lenet, {"--warmup-epochs", "1"}, 60000);
  add(lenet, {"--schedule", "one-cycle"}, 60000);
  add(lenet, scaled, 60000);
  add(lenet, with(scaled, {"--warmup-epochs", "5"}), 160000);
  add(lenet, with(scaled, {"--warmup-epochs", "5", "--warmup", "constant"}), 160000);
  add(lenet, with(scaled, {"--warmup", "none"}), 160000);
  add(lenet, with(scaled, {"--scaling", "sqrt", "--schedule", "polynomial"}), 60000);
  add(lenet, with(scaled, {"--scaling", "none", "--warmup-epochs", "1"}), 60000);
  add(resnet, {}, 1281167);
  add(resnet, {"--minibatch", "256"}, 1281167);
  add(resnet, {"--minibatch", "8192"}, 1281167);
  add(resnet, {"--minibatch", "8192", "--lr", "3.2"}, 1281167);
  add(resnet, {"--minibatch", "256", "--warmup-from", "0.01"}, 1281167);
  add(resnet, {"--minibatch", "8192", "--lr", "10", "--warmup-from", "0", "--schedule", "mlperf", "--end-lr", "0.0001"},
      1281167);
  add(lenet, {"--schedule", "wsd", "--warmup-epochs", "1", "--decay-share", "0.1", "--end-lr", "0.001"}, 60000);
  add(resnet, {"--minibatch", "8192", "--schedule", "inverse-sqrt"}, 1281167);
  add(resnet, {"--minibatch", "8192", "--warmup-steps", "100"}, 1281167);
  test::golden("learning_rates.txt", text);
}

// Goyal et al. 2017, figure 2: at minibatch kn = 8192 the rate rises from 0.1 to 3.2 over 5 epochs of 156 steps.
BOOST_AUTO_TEST_CASE(resnet50_warms_up_as_the_paper) {
  const RunConfig config = parse(resnet50(), {"--minibatch", "8192"});
  const LearningRate rate = make_rate({}, config.learning, make_plan(config, 1281167));
  BOOST_TEST(rate.at(0) == 0.1);
  BOOST_TEST(rate.at(390) == 0.1 + 3.1 / 2, boost::test_tools::tolerance(1e-15));
  const RunConfig by_steps = parse(resnet50(), {"--minibatch", "8192", "--warmup-steps", "780"});
  const LearningRate same = make_rate({}, by_steps.learning, make_plan(by_steps, 1281167));
  for (const int64_t step : {0, 390, 780, 5000})
    BOOST_TEST(same.at(step) == rate.at(step), boost::test_tools::tolerance(1e-15));
  BOOST_TEST(rate.at(780) == 3.2);
  BOOST_TEST(rate.at(30 * 156) == 0.32, boost::test_tools::tolerance(1e-15));
}

// Three conventions of a warmup's start: Goyal et al. 2017 begin at the rate of kn = 256, 0.1, and only above it; the
// MLPerf reference of LARS begins at 0; a start of eta / K, the rate of one of K workers, is lower than the first.
BOOST_AUTO_TEST_CASE(a_warmup_starts_at_the_base_at_zero_or_where_it_is_told) {
  const auto first = [](const std::vector<std::string>& words) {
    const RunConfig config = parse(resnet50(), words);
    return make_rate({}, config.learning, make_plan(config, 1281167)).at(0);
  };
  BOOST_TEST(first({"--minibatch", "8192"}) == 0.1);
  BOOST_TEST(first({"--minibatch", "256"}) == 0.1);
  BOOST_TEST(first({"--minibatch", "128"}) == 0.05);
  BOOST_TEST(first({"--minibatch", "8192", "--warmup-from", "0"}) == 0);
  BOOST_TEST(first({"--minibatch", "8192", "--warmup-from", "0.0125"}) == 0.0125);
  BOOST_TEST(first({"--minibatch", "8192", "--optimizer", "lars-mlperf", "--lr", "10"}) == 0);
}

// The rate of a run of 10 steps, an epoch of them, from 1 to 0.2.
BOOST_AUTO_TEST_CASE(the_numbers_of_a_schedule_reach_its_rate) {
  Learning learning;
  learning.scaling = learning.warmup = "none";
  learning.lr = 1;
  learning.end_lr = 0.2;
  learning.decay_share = 0.25;
  const auto rate_at = [&](const char* schedule, int64_t step) {
    learning.schedule = schedule;
    return make_rate({}, learning, {100, 10, 10, 10}).at(step);
  };
  const auto near = boost::test_tools::tolerance(1e-12);
  for (const double power : {1.0, 2.5}) {
    learning.power = power;
    BOOST_TEST(rate_at("polynomial", 5) == 0.2 + 0.8 * std::pow(0.5, power), near);
  }
  BOOST_TEST(rate_at("wsd", 7) == 1, near);
  BOOST_TEST(rate_at("wsd", 9) == 0.2 + 0.8 * 0.4, near);
  learning.end_lr = 0;
  learning.milestones = {0.3, 0.6};
  for (const auto& [step, rate] : {std::pair(2, 1.0), {3, 0.1}, {6, 0.01}})
    BOOST_TEST(rate_at("step", step) == rate, near);
}

BOOST_AUTO_TEST_CASE(inverse_sqrt_needs_a_warmup) {
  const auto error = [](const std::vector<std::string>& words) {
    return test::error_of([&] { derivation(resnet50(), words, 1281167); });
  };
  BOOST_TEST(error({"--schedule", "inverse-sqrt", "--minibatch", "8192"}) == "(nothing thrown)");
  BOOST_TEST(error({"--schedule", "inverse-sqrt", "--minibatch", "128", "--warmup-from", "0"}) == "(nothing thrown)");
  for (const char* minibatch : {"128", "256"})
    BOOST_TEST(error({"--schedule", "inverse-sqrt", "--minibatch", minibatch})
                   .starts_with("schedule: inverse-sqrt: expected a warmup"));
}

BOOST_AUTO_TEST_CASE(below_the_base_minibatch_there_is_no_warmup) {
  const RunConfig config = parse(resnet50(), {});
  const LearningRate rate = make_rate({}, config.learning, make_plan(config, 1281167));
  BOOST_TEST(rate.at(0) == 0.0125);
  BOOST_TEST(rate.at(40000) == 0.0125);
}

BOOST_AUTO_TEST_CASE(an_optimizer_brings_its_defaults) {
  const Recipe lenet = lenet_mnist();
  BOOST_TEST(chosen(lenet, {}) == "lr 0.05, optimizer momentum: momentum 0.9, weight decay 0.0005");
  BOOST_TEST(chosen(lenet, {"--optimizer", "sgd"}) == "lr 0.05, optimizer sgd: weight decay 0.0005");
  BOOST_TEST(chosen(lenet, {"--optimizer", "adamw"}) ==
             "lr 0.001, optimizer adamw: beta1 0.9, beta2 0.999, epsilon 1e-08, weight decay 0.01");
  BOOST_TEST(chosen(lenet, {"--lr", "0.01", "--beta2", "0.95", "--optimizer", "adam"}) ==
             "lr 0.01, optimizer adam: beta1 0.9, beta2 0.95, epsilon 1e-08, weight decay 0");
}

BOOST_AUTO_TEST_CASE(a_recipe_has_optimizers_of_its_own) {
  const Recipe recipe = faded();
  BOOST_TEST(chosen(recipe, {}) == "lr 7, optimizer fading: rate of fading 0.25");
  BOOST_TEST(chosen(recipe, {"--rate-of-fading", "0.125"}) == "lr 7, optimizer fading: rate of fading 0.125");
  BOOST_TEST(chosen(recipe, {"--optimizer", "sgd"}) == "lr 0.1, optimizer sgd: weight decay 0");
  const RunConfig config = parse(recipe, {});
  BOOST_TEST(make_scalars(rules_of(recipe), config.learning, make_plan(config, 60000)).at(0)[3].name ==
             "rate_of_fading");
}

// Marek et al. 2025: a squared gradient's share of its mean after K samples is the same for every minibatch.
BOOST_AUTO_TEST_CASE(a_half_life_in_samples_sets_beta2) {
  for (const int minibatch : {16, 64, 512}) {
    const RunConfig config =
        parse(lenet_mnist(), {"--optimizer", "adamw", "--half-life", "6400", "--minibatch", fmt::to_string(minibatch)});
    StepScalars scalars = make_scalars({}, config.learning, make_plan(config, 60000));
    const auto step = scalars.at(0);
    const auto beta2 =
        std::find_if(step.begin(), step.end(), [](const NamedScalar& scalar) { return scalar.name == "beta2"; });
    BOOST_REQUIRE(beta2 != step.end());
    BOOST_TEST(std::pow(beta2->value, 6400.0 / minibatch) == 0.5, boost::test_tools::tolerance(1e-12));
  }
  BOOST_TEST(chosen(lenet_mnist(), {"--optimizer", "lion", "--half-life", "640", "--minibatch", "640"}) ==
             "lr 0.0001, optimizer lion: beta1 0.9, beta2 0.5 (half-life 640 samples), weight decay 0");
  BOOST_TEST(usage_error({"--half-life", "100"}) ==
             "--half-life: it has no effect here\n  expected: an optimizer with a beta2 beside it\n  got:      "
             "--optimizer momentum");
  BOOST_TEST(usage_error({"--optimizer", "adam", "--half-life", "100", "--beta2", "0.9"})
                 .starts_with("--half-life, --beta2: expected one of them, got both"));
  BOOST_TEST(usage_error({"--optimizer", "adam", "--half-life", "100", "--minibatch-schedule", "1ep:x2"})
                 .starts_with("--half-life, --minibatch-schedule: expected one of them"));
  TrainConfig config = parse(lenet_mnist(), {"--minibatch-schedule", "1ep:x2"});
  config.group_learning = {{"biases", {.half_life = 100}}};
  BOOST_CHECK_EXCEPTION(make_plan(config, batch_plan(config.batch, 1), 60000), Error,
                        test::says("learning.half_life, batch.growths: expected one of them"));
}

// A schedule-free optimizer wants a constant rate, although the recipe's own schedule falls.
BOOST_AUTO_TEST_CASE(a_schedule_free_optimizer_keeps_its_rate_unless_asked) {
  Recipe falling = lenet_mnist();
  falling.defaults.schedule = "cosine";
  BOOST_TEST(parse(falling, {}).learning.schedule == "cosine");
  BOOST_TEST(parse(falling, {"--optimizer", "schedule-free"}).learning.schedule == "constant");
  BOOST_TEST(parse(falling, {"--schedule", "step", "--milestones", "1", "--optimizer", "schedule-free-adamw"})
                 .learning.schedule == "step");
}

BOOST_AUTO_TEST_CASE(a_schedule_free_optimizer_needs_rates_that_are_known) {
  const RunConfig config =
      parse(lenet_mnist(), {"--optimizer", "schedule-free", "--base-lr", "0.1", "--base-minibatch", "64", "--minibatch",
                            "256", "--per-worker", "64", "--scaling", "adascale"});
  BOOST_TEST(test::error_of([&] {
               make_run_schedule({}, {{"", config.learning}}, batch_plan(config), make_plan(config, 60000));
             }) ==
             "learning.scaling: expected learning rates that are known before the run beside learning.optimizer = "
             "schedule-free, whose "
             "mean weighs steps by them, got adascale\n  hint: learning.scaling = linear");
}

BOOST_AUTO_TEST_CASE(a_schedule_free_optimizer_needs_running_statistics_of_its_parameters) {
  const auto compile_with = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--optimizer", "schedule-free", "--depth", "8", "--minibatch", "8"});
    const RunConfig config = parse(resnet_cifar(), words);
    return compiled(resnet_cifar(), config).find(Use::estimate) != nullptr;
  };
  BOOST_TEST(compile_with({"--recompute-bn", "2"}));
  BOOST_TEST(
      test::error_of([&] { compile_with({}); }) ==
      "judging.recompute_bn: expected a number above 0 beside learning.optimizer = schedule-free and batch norm, got "
      "0: training "
      "gathers running statistics at another point than the one that is evaluated\n  hint: judging.recompute_bn = 20");
}

BOOST_AUTO_TEST_CASE(a_flag_that_the_optimizer_does_not_read_is_refused) {
  BOOST_TEST(usage_error({"--beta1", "0.5"}) ==
             "--beta1: momentum does not read it; those that do: adam, adamw, nadamw, lion, shampoo, lamb");
  BOOST_TEST(usage_error({"--optimizer", "adam", "--momentum", "0.5"}) ==
             "--momentum: adam does not read it; those that do: momentum, scaled-momentum, uncorrected-momentum, "
             "nesterov, muon, lars, lars-mlperf, lars-unscaled, lars-plain, larc, rmsprop-warmup");
  BOOST_TEST(
      usage_error({"--optimizer", "adm"}) ==
      "--optimizer: expected one of sgd, momentum, scaled-momentum, uncorrected-momentum, nesterov, adam, adamw, "
      "nadamw, lion, muon, shampoo, schedule-free, schedule-free-adamw, lars, lars-mlperf, lars-unscaled, lars-plain, "
      "larc, lamb, rmsprop-warmup, got 'adm'; did you mean 'adam'?");
  BOOST_TEST(usage_error({"--optimizer", "shampoo", "--ridge", "1e-7"}) ==
             "--ridge: expected a number in [1e-06, 1), got '1e-7'");
  BOOST_TEST(usage_error({"--milestones", "1,x"}) ==
             "--milestones: expected numbers >= 0, separated by commas, got 'x'");
}

// A trial of a sweep reads the words of its run, which have to keep the half-life.
BOOST_AUTO_TEST_CASE(the_words_of_a_run_keep_its_half_life) {
  const Recipe recipe = lenet_mnist();
  const RunConfig config = parse(recipe, {"--optimizer", "nadamw", "--half-life", "44000", "--minibatch", "128"});
  const RunConfig again = parse(recipe, flag_words(recipe, config));
  BOOST_TEST(again.learning.half_life == 44000);
  BOOST_TEST(optimizer_text(again.learning, again.batch.minibatch) ==
             optimizer_text(config.learning, config.batch.minibatch));
}

BOOST_AUTO_TEST_CASE(the_words_of_a_run_keep_its_optimizer) {
  const Recipe recipe = faded();
  for (const char* optimizer : {"fading", "adamw", "sgd"}) {
    const RunConfig config =
        parse(recipe, {"--optimizer", optimizer, "--lr", "0.3", "--schedule", "step", "--milestones", "1,2"});
    const RunConfig again = parse(recipe, flag_words(recipe, config));
    BOOST_TEST((flag_values(recipe, again) == flag_values(recipe, config)));
  }
}

BOOST_AUTO_TEST_CASE(every_recipe_has_an_optimizer_and_a_schedule) {
  for (const Recipe& recipe : all_recipes()) {
    const RunConfig config = default_config(recipe);
    BOOST_CHECK_NO_THROW(make_scalars(rules_of(recipe), config.learning, make_plan(config, 1000000)));
  }
}

// The kernels do not depend on the numbers that a sweep varies, so that its trials share them.
BOOST_AUTO_TEST_CASE(other_numbers_make_the_same_program) {
  const Recipe recipe = mlp_mnist();
  auto programs = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--optimizer", "adamw"});
    return compiled(recipe, parse(recipe, words));
  };
  const Programs a = programs({});
  const Programs b = programs({"--lr", "0.5", "--schedule", "constant", "--warmup-epochs", "1", "--beta1", "0",
                               "--beta2", "0.5", "--epsilon", "1", "--weight-decay", "0"});
  BOOST_TEST(to_text(a.update().program.at(PartRole::final)) == to_text(b.update().program.at(PartRole::final)));
  BOOST_TEST(to_text(a.update().program.at(PartRole::prepare)) == to_text(b.update().program.at(PartRole::prepare)));
}

BOOST_AUTO_TEST_CASE(all_updates_of_resnet50_are_one_launch) {
  for (const char* optimizer : {"nesterov", "adamw"}) {
    const RunConfig config = parse(resnet50(), {"--minibatch", "2", "--optimizer", optimizer});
    const Schedule schedule = compiled(resnet50(), config).update().program.at(PartRole::final);
    int launches = 0;
    for (const Step& step : schedule.steps)
      launches += std::any_of(step.operands.begin() + step.inputs, step.operands.end(), [&](View view) {
        return schedule.buffers[static_cast<size_t>(view.buffer)].name.starts_with("flat.");
      });
    BOOST_TEST(launches == 1, optimizer);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::learning_test
