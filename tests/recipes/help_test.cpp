// The text of --help.
#include <boost/test/unit_test.hpp>
#include <sstream>

#include "recipes/config/flags.h"
#include "recipes/papers/table.h"

BOOST_AUTO_TEST_SUITE(help)

BOOST_AUTO_TEST_CASE(lines_fit_80_columns) {
  for (const kb::Recipe& recipe : kb::all_recipes()) {
    std::istringstream lines(kb::flags_help(recipe, "./run " + recipe.name));
    for (std::string line; std::getline(lines, line);) {
      BOOST_TEST(line.size() <= 80u, line);
      BOOST_TEST(!line.ends_with(' '), line);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_flag_stands_in_it_once) {
  const kb::Recipe recipe = kb::resnet_cifar();
  const std::string text = kb::flags_help(recipe, "x");
  for (const kb::FlagRow& row : kb::flag_table(recipe)) {
    const std::string mark = "\n  " + row.text.name + (row.text.value.empty() ? "" : " " + row.text.value);
    const size_t at = text.find(mark);
    BOOST_TEST(at != std::string::npos, row.text.name);
    BOOST_TEST(text.find(mark + " ", at + 1) == std::string::npos, row.text.name);
  }
}

BOOST_AUTO_TEST_CASE(an_idea_is_a_line) {
  bool given = false;
  const std::string text =
      kb::flags_help(kb::mlp_mnist(), "./run tool mlp_mnist", {{{"--often", "N", "how often; 0: never"}, &given}});
  BOOST_TEST(text.find("usage: ./run tool mlp_mnist [flags]") != std::string::npos);
  BOOST_TEST(text.find("\nThis tool\n"
                       "  --often N              how often;\n"
                       "                         0: never\n") != std::string::npos,
             text);
  BOOST_TEST(text.find("\nMinibatch, workers and processes\n  --minibatch KN         samples of one step [64]\n") !=
                 std::string::npos,
             text);
}

BOOST_AUTO_TEST_SUITE_END()
