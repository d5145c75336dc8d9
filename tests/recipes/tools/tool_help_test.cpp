// The help of tools over recipes: the first line says what the tool does, with a recipe and without one.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "runtime/process.h"

namespace kb::tool_help_test {

namespace {

std::string output_of(const std::vector<std::string>& words) { return Process(words).wait().output; }

}  // namespace

BOOST_AUTO_TEST_SUITE(tool_help)

BOOST_AUTO_TEST_CASE(it_begins_with_what_the_tool_does) {
  for (const std::string tool : {"inspect", "bench", "bench_update", "scale", "sweep", "trace_steps"}) {
    const std::string program = std::string(KB_BIN "/") + tool;
    const std::string alone = output_of({program, "--help"});
    const std::string doc = alone.substr(0, alone.find("\n\nusage: ./run " + tool + " RECIPE [flags]\nrecipes: "));
    BOOST_TEST(doc.size() > 20u, alone);
    BOOST_TEST(doc.size() < alone.size(), alone);
    BOOST_TEST(output_of({program, "mlp_mnist", "--help"}).starts_with(doc + "\n\nmlp_mnist: "), tool);
  }
}

BOOST_AUTO_TEST_CASE(a_first_word_that_is_no_command_is_refused_with_the_commands) {
  const ProcessResult result = Process({KB_BIN "/mlp_mnist", "inspct", "--quiet"}).wait();
  BOOST_TEST(result.status == 2);
  BOOST_TEST(result.output.starts_with("mlp_mnist: the first word: expected a flag, or one of the commands inspect, "),
             result.output);
  BOOST_TEST(result.output.find("got 'inspct'; did you mean 'inspect'?\n  hint:     --help") != std::string::npos);
  BOOST_TEST(result.output.find("trial") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::tool_help_test
