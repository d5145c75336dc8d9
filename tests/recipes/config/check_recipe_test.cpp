// Mistakes in what a program says of its recipe are told in words, and before its flags are read.
#include "recipes/config/check_recipe.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "optim/optimizer.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"

namespace kb::check_recipe_test {

BOOST_AUTO_TEST_SUITE(check_recipe)

BOOST_AUTO_TEST_CASE(names_are_words_that_nothing_else_has) {
  Optimizer sgd = optimizers()[0];
  const auto refused = [](auto change, const std::string& why) {
    Recipe recipe = test::small_recipe();
    change(recipe);
    BOOST_CHECK_EXCEPTION(kb::check_recipe(recipe), Error, test::says(why));
  };
  kb::check_recipe(test::small_recipe());
  refused([](Recipe& r) { r.model = nullptr; }, "recipe small has no model");
  for (const char* flag : {"net", "lr", "minibatch", "help"})
    refused([&](Recipe& r) { r.options = {switch_option(flag, "for tests")}; },
            "is the name of one that every recipe has");
  for (const char* name : {"", "a b", "--depth", "=", "1x"})
    refused([&](Recipe& r) { r.options = {switch_option(name, "for tests")}; }, "' is no word");
  refused(
      [](Recipe& r) {
        r.options = {switch_option("a", "one"), switch_option("a", "two")};
      },
      "'a' stands there twice");
  sgd.name = "own";
  refused([&](Recipe& r) { r.optimizers = {sgd, sgd}; }, "its optimizer 'own' stands there twice");
  sgd.hyper[0].name = "warmup_from";
  refused([&](Recipe& r) { r.optimizers = {sgd}; },
          "its optimizer's number 'warmup-from' is the name of one that every recipe has");
  sgd.update = nullptr;
  refused([&](Recipe& r) { r.optimizers = {sgd}; }, "optimizer own has no update rule");
  refused([](Recipe& r) { r.schedules = {{"own", "for tests", nullptr}}; }, "schedule own has no multiplier");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::check_recipe_test
