// The text of --help.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <sstream>

#include "recipes/config/flags.h"
#include "recipes/config/help.h"
#include "recipes/papers/table.h"
#include "tests/support/scoped_variable.h"
#include "tests/support/support.h"

namespace kb::help_test {

BOOST_AUTO_TEST_SUITE(help)

BOOST_AUTO_TEST_CASE(lines_fit_80_columns) {
  for (const kb::Recipe& recipe : kb::all_recipes()) {
    for (const kb::HelpScope scope : {kb::HelpScope::common, kb::HelpScope::all}) {
      std::istringstream lines(kb::flags_help(recipe, "./run " + recipe.name, scope));
      for (std::string line; std::getline(lines, line);) {
        BOOST_TEST(line.size() <= 80u, line);
        BOOST_TEST(!line.ends_with(' '), line);
      }
    }
  }
}

// The short help fits a screen. It has the recipe's own flags and those that are marked as common, each in the words of
// the long help.
BOOST_AUTO_TEST_CASE(the_short_help_has_at_most_60_lines) {
  const test::ScopedVariable data("KB_DATA", std::nullopt);  // a long path would take a line of its own
  for (const kb::Recipe& recipe : kb::all_recipes()) {
    const std::string text = kb::flags_help(recipe, "./run " + recipe.name, kb::HelpScope::common);
    const std::string whole = kb::flags_help(recipe, "./run " + recipe.name, kb::HelpScope::all);
    BOOST_TEST(std::count(text.begin(), text.end(), '\n') <= 60, recipe.name << "\n" << text);
    BOOST_TEST(text.ends_with("\n  --help all             every flag\n"), text);
    for (const kb::FlagRow& row : kb::flag_table(recipe)) {
      const std::string mark = "\n  " + row.text.name + (row.text.value.empty() ? "" : " " + row.text.value);
      const auto holds = [&](const std::string& help) {
        const size_t at = help.find(mark);
        return at != std::string::npos && (help[at + mark.size()] == ' ' || help[at + mark.size()] == '\n');
      };
      BOOST_TEST(holds(text) == row.is_common, recipe.name << " " << row.text.name);
      BOOST_TEST(holds(whole), recipe.name << " " << row.text.name);
    }
    for (const kb::RecipeOption& option : recipe.options) BOOST_TEST(test::contains(text, "--" + option.name));
  }
}

// A heading stands above the first flag of its group that is in the text.
BOOST_AUTO_TEST_CASE(the_short_help_is_grouped) {
  const std::string text = kb::flags_help(kb::lenet_mnist(), "x", kb::HelpScope::common);
  BOOST_TEST(test::contains(text, "\nLoss and augmentation\n  --augment KINDS"));
  BOOST_TEST(!test::contains(text, "\nFeeding the processor\n"), text);
}

BOOST_AUTO_TEST_CASE(every_flag_stands_in_it_once) {
  const kb::Recipe recipe = kb::resnet_cifar();
  const std::string text = kb::flags_help(recipe, "x", kb::HelpScope::all);
  for (const kb::FlagRow& row : kb::flag_table(recipe)) {
    const std::string mark = "\n  " + row.text.name + (row.text.value.empty() ? "" : " " + row.text.value);
    const size_t at = text.find(mark);
    BOOST_TEST(at != std::string::npos, row.text.name);
    BOOST_TEST(text.find(mark + " ", at + 1) == std::string::npos, row.text.name);
  }
}

// The words that an option takes stand in the short help, too, and a default that is a line feed breaks no line.
BOOST_AUTO_TEST_CASE(the_help_names_the_words_of_an_option) {
  const std::string text = kb::flags_help(kb::lenet_mnist(), "x", kb::HelpScope::common);
  BOOST_TEST(test::contains(text, "their bias: none, batch [none]"));
  BOOST_TEST(kb::help_text("t", {{"", {"--prompt", "TEXT", "begin"}, "\n"}}) ==
             "t\n  --prompt TEXT          begin [\\n]\n");
}

BOOST_AUTO_TEST_CASE(an_idea_is_a_line) {
  bool given = false;
  const std::string text = kb::flags_help(kb::mlp_mnist(), "./run tool mlp_mnist", kb::HelpScope::common,
                                          {{{"--often", "N", "how often; 0: never"}, &given}});
  BOOST_TEST(test::contains(text, "usage: ./run tool mlp_mnist [flags]"));
  BOOST_TEST(test::contains(text,
                            "\nThis tool\n"
                            "  --often N              how often;\n"
                            "                         0: never\n"));
  BOOST_TEST(test::contains(text,
                            "\nMinibatch, workers and processes\n"
                            "  --minibatch KN         samples of one step, over all workers [64]\n"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::help_test
