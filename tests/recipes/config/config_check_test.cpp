// A program may ask train() and a machine for no more than flags take: switches that have no effect and numbers of
// threads are refused as on a command line.
#include "recipes/config/check_recipe.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "recipes/config/learning.h"
#include "recipes/config/values.h"
#include "recipes/train/train.h"
#include "runtime/backend.h"
#include "tests/support/says.h"

namespace kb::config_check_test {

// So choices() does not compile for an enumeration of which a value has no word, or a word no value.
static_assert(is_enumerator<Policy::backup>() && !is_enumerator<static_cast<Policy>(5)>());

BOOST_AUTO_TEST_SUITE(config_check)

namespace {

constexpr int64_t kSamples = 16;

// `models` counts how often its model was asked for.
Task counted(int& models) {
  const auto model = [&models](Inputs& in) -> ModelOutput {
    ++models;
    const Tensor error = linear("fc", in["x"], 1) - 3.0;
    return {mean(error * error, {1}), {}};
  };
  const auto source = std::make_shared<TableSource>(kSamples, std::vector{field_bytes(std::vector<float>(kSamples))});
  return {.name = "counted", .fields = {{"x", DType::f32, {1}}}, .model = model, .train = source, .test = source};
}

TrainConfig two_steps() {
  TrainConfig config = config_of({.minibatch = 8, .optimizer = "sgd", .lr = 0.01});
  config.length.steps = 2;
  config.arithmetic.shards = 1;
  return config;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_switch_that_has_no_effect_is_refused_before_anything_is_compiled) {
  int models = 0;
  const Task task = counted(models);
  LocalMachine machine(1);
  Observer silent;
  TrainConfig config = two_steps();
  config.judging.eval_ema = true;
  BOOST_CHECK_EXCEPTION(train(task, config, machine, silent), UsageError,
                        test::says("judging.eval_ema: it has no effect here\n"
                                   "  expected: learning.ema D, which averages the parameters, beside it\n"
                                   "  got:      learning.ema 0"));
  BOOST_TEST(models == 0);
  config.learning.ema = 0.5;
  BOOST_CHECK_NO_THROW(train(task, config, machine, silent));
  BOOST_TEST(models > 0);
}

BOOST_AUTO_TEST_CASE(every_switch_is_checked_and_no_other_value_is_taken_for_one) {
  TrainConfig config = two_steps();
  BOOST_CHECK_NO_THROW(check_values(config, {}));  // members that other flags would need have their defaults
  config.judging.eval_ema = true;
  BOOST_CHECK_EXCEPTION(check_values(config, {}), UsageError, test::says("judging.eval_ema: it has no effect here"));
  config.learning.ema = 0.9;
  BOOST_CHECK_NO_THROW(check_values(config, {}));
}

BOOST_AUTO_TEST_CASE(threads_of_a_machine_have_the_bounds_of_their_flag) {
  for (const int threads : {-1, 4097, 1'000'000}) {
    const std::string expected =
        fmt::format("threads of a CPU backend: expected a whole number in [0, 4096], got {}\n  hint: 0 ", threads);
    BOOST_CHECK_EXCEPTION(LocalMachine{threads}, Error, test::says(expected));
    BOOST_CHECK_EXCEPTION(make_cpu_backend({.threads = threads, .cache_directory = ""}), Error, test::says(expected));
  }
  BOOST_CHECK_NO_THROW(LocalMachine{2});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::config_check_test
