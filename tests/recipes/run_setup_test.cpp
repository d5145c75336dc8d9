// All of a run before its first step: what is refused before anything is compiled, and what its console is told of
// memory.
#include "recipes/run/run_setup.h"

#include <boost/test/unit_test.hpp>

#include "recipes/config/flags.h"
#include "recipes/run/process_memory.h"
#include "tests/recipes/small_run.h"
#include "tests/says.h"

namespace kb::run_setup_test {

BOOST_AUTO_TEST_SUITE(run_setup)

namespace {

int models = 0;  // that were asked for

Recipe counting_recipe() {
  Recipe recipe = test::small_recipe();
  recipe.model = [](Batch& batch) {
    ++models;
    return classification(batch, linear("fc", flatten(batch.images), batch.classes));
  };
  return recipe;
}

struct Setup {
  const Recipe recipe = counting_recipe();
  World world{make_local_communicator()};
  Console console{true};
  const RunConfig config;
  RunSetup setup{recipe, config, world, console, nullptr};

  explicit Setup(const std::vector<std::string>& words) : config(*parse_flags(recipe, "small", words)) {}
  std::vector<std::string> memory() const { return memory_lines(setup, process_memory(setup)); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_plan_that_the_data_do_not_have_is_refused_before_anything_is_compiled) {
  models = 0;
  const auto refused = [](const std::vector<std::string>& words, const std::string& expected) {
    BOOST_CHECK_EXCEPTION(Setup{words}, Error, test::says(expected));
    BOOST_TEST(models == 0, words.back());
  };
  const std::string expected = "--minibatch: expected at most the 100 samples of synthetic, got 100000";
  refused({"--minibatch", "100000"}, expected);
  refused({"--minibatch", "100000", "--dry-run"}, expected);
  refused({"--minibatch", "100000", "--fit"}, expected);
  const std::string left = "expected at most the 50 samples of synthetic, got 60";
  refused({"--minibatch", "60", "--validation", "50"}, left);
  refused({"--minibatch", "60", "--validation", "50", "--fit"}, left);
  refused({"--minibatch", "10", "--epochs", "2", "--minibatch-schedule", "1ep:x20"}, "expected minibatches of at most");
  refused({"--recompute-bn", "11"}, "--recompute-bn: expected at most 10 minibatches of 10");
  BOOST_CHECK_NO_THROW(Setup({"--minibatch", "100"}));
  BOOST_TEST(models > 0);
}

BOOST_AUTO_TEST_CASE(programs_larger_than_the_memory_are_refused) {
  BOOST_CHECK_EXCEPTION(Setup({"--memory", "0.000001"}), Error,
                        test::says("--memory 1e-06: expected programs of at most 1 kB, got "));
}

BOOST_AUTO_TEST_CASE(a_process_beyond_the_memory_that_its_programs_keep_to_is_told) {
  const Setup tight({"--memory", "0.01"});
  const ProcessMemory memory = process_memory(tight.setup);
  BOOST_REQUIRE(memory.programs > 0);
  BOOST_REQUIRE(memory.programs < 10'000'000);
  const std::vector<std::string> lines = memory_lines(tight.setup, memory);
  BOOST_REQUIRE(lines.size() == 2u);
  BOOST_TEST(lines[1] == "NOTE: --memory 0.01 holds the programs, which take " + bytes_text(memory.programs) +
                             ", but not this process, which takes " + bytes_text(memory.total()));
  const auto count = [&](const ProcessMemory& taken) { return memory_lines(tight.setup, taken).size(); };
  BOOST_TEST(count({.programs = 4'000'000, .itself = 5'000'000}) == 1u);
  BOOST_TEST(count({.programs = 4'000'000, .itself = 7'000'000}) == 2u);
  BOOST_TEST(count({.itself = 60'000'000}) == 1u);  // of a GPU's programs
  BOOST_TEST(Setup({"--memory", "1000"}).memory().size() == 1u);
  BOOST_TEST(Setup({"--memory", "0.01", "--dry-run"}).memory().size() == 5u);
}

BOOST_AUTO_TEST_CASE(memory_is_one_line_unless_it_is_asked_for) {
  const std::vector<std::string> brief = Setup({}).memory();
  BOOST_REQUIRE(brief.size() == 1u);
  BOOST_TEST(brief[0].find("memory: this process takes ") == 0u, brief[0]);
  BOOST_TEST(brief[0].find(", of which programs ") != std::string::npos, brief[0]);
  BOOST_TEST(brief[0].find('\n') == std::string::npos, brief[0]);
  for (const char* flag : {"--memory-report", "--dry-run"}) {
    const std::vector<std::string> all = Setup({flag}).memory();
    BOOST_REQUIRE(all.size() == 4u);
    BOOST_TEST(all[0].find("parameters ") != std::string::npos, all[0]);
    BOOST_TEST(all[1].find("evaluation takes ") == 0u, all[1]);
    BOOST_TEST(all[2].find("all programs together take ") == 0u, all[2]);
    BOOST_TEST(all[3].find("this process takes ") == 0u, all[3]);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::run_setup_test
