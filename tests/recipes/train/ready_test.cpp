// Tests a run up to its first step: refusals before anything is compiled, and the console's lines about memory.
#include "recipes/train/train.h"

#include <boost/test/unit_test.hpp>

#include "recipes/config/flags.h"
#include "recipes/config/run_task.h"
#include "recipes/perf/memory_answer.h"
#include "recipes/run/process_memory.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::ready_test {

BOOST_AUTO_TEST_SUITE(ready)

namespace {

int models = 0;  // number of models that were asked for

Recipe counting_recipe() {
  Recipe recipe = test::small_recipe();
  recipe.model = [](Batch& batch) {
    ++models;
    return classification(batch, linear("fc", flatten(batch.images), batch.classes));
  };
  return recipe;
}

// All of a run up to its first step, and what its console would be told of memory then.
struct Setup : Observer {
  explicit Setup(const std::vector<std::string>& words, const ProcessMemory* other = nullptr) : other_(other) {
    const Recipe recipe = counting_recipe();
    const RunConfig config = *parse_flags(recipe, "small", words);
    is_whole_ = config.looking.memory_report || config.looking.dry_run;
    DataFacts data;
    train(task_to_train(recipe, config, data), config, LocalMachine(), *this);
  }
  bool ready(const Ready& ready, LoopStart&) override {
    memory = process_memory(ready);
    lines = memory_lines(ready, other_ ? *other_ : memory, is_whole_);
    return false;
  }

  ProcessMemory memory;
  std::vector<std::string> lines;

 private:
  const ProcessMemory* other_;  // is told in place of the process's own
  bool is_whole_ = false;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_plan_that_the_data_do_not_have_is_refused_before_anything_is_compiled) {
  models = 0;
  const auto refused = [](const std::vector<std::string>& words, const std::string& expected) {
    BOOST_CHECK_EXCEPTION(Setup{words}, Error, test::says(expected));
    BOOST_TEST(models == 0, words.back());
  };
  const std::string expected = "batch.minibatch: expected at most the 100 training samples, got 100000";
  refused({"--minibatch", "100000"}, expected);
  refused({"--minibatch", "100000", "--dry-run"}, expected);
  refused({"--minibatch", "100000", "--fit"}, expected);
  const std::string left = "expected at most the 50 training samples, got 60";
  refused({"--minibatch", "60", "--validation", "50"}, left);
  refused({"--minibatch", "60", "--validation", "50", "--fit"}, left);
  refused({"--minibatch", "10", "--epochs", "2", "--minibatch-schedule", "1ep:x20"}, "expected minibatches of at most");
  refused({"--recompute-bn", "11"}, "judging.recompute_bn: expected at most 10 minibatches of 10");
  BOOST_CHECK_NO_THROW(Setup({"--minibatch", "100"}));
  BOOST_TEST(models > 0);
}

// A teacher behind stop_gradient is named, unless a flag freezes it.
BOOST_AUTO_TEST_CASE(parameters_that_never_learn_are_told_unless_they_are_frozen) {
  struct : Observer {
    bool ready(const Ready& ready, LoopStart&) override {
      unused = ready.programs.unused;
      return false;
    }
    std::vector<std::string> unused;
  } seen;
  Recipe recipe = test::small_recipe();
  recipe.model = [](Batch& batch) {
    const Tensor x = flatten(batch.images);
    return classification(batch, linear("fc", x, batch.classes) + stop_gradient(linear("teacher", x, batch.classes)));
  };
  const auto unused_with = [&](const std::vector<std::string>& words) {
    const RunConfig config = *parse_flags(recipe, "small", words);
    DataFacts data;
    train(task_to_train(recipe, config, data), config, LocalMachine(), seen);
    return seen.unused;
  };
  BOOST_TEST(unused_with({}) == (std::vector<std::string>{"teacher.weight", "teacher.bias"}));
  BOOST_TEST(unused_with({"--optimizer.teacher", "none"}).empty());
}

BOOST_AUTO_TEST_CASE(programs_larger_than_the_memory_are_refused) {
  BOOST_CHECK_EXCEPTION(Setup({"--memory", "0.000001"}), Error,
                        test::says("arithmetic.memory = 1e-06: expected programs of at most 1 kB, got "));
}

BOOST_AUTO_TEST_CASE(a_process_beyond_the_memory_that_its_programs_keep_to_is_told) {
  const Setup tight({"--memory", "0.01"});
  const ProcessMemory& memory = tight.memory;
  BOOST_REQUIRE(memory.programs > 0);
  BOOST_REQUIRE(memory.programs < 10'000'000);
  BOOST_REQUIRE(tight.lines.size() == 2u);
  BOOST_TEST(tight.lines[1] == "NOTE: --memory 0.01 holds the programs, which take " + bytes_text(memory.programs) +
                                   ", but not this process, which takes " + bytes_text(memory.total()));
  const auto count = [](const ProcessMemory& taken) { return Setup({"--memory", "0.01"}, &taken).lines.size(); };
  BOOST_TEST(count({.programs = 4'000'000, .itself = 5'000'000}) == 1u);
  BOOST_TEST(count({.programs = 4'000'000, .itself = 7'000'000}) == 2u);
  BOOST_TEST(count({.itself = 60'000'000}) == 1u);  // the limit is of a GPU's memory, where the programs are
  BOOST_TEST(Setup({"--memory", "1000"}).lines.size() == 1u);
  BOOST_TEST(Setup({"--memory", "0.01", "--dry-run"}).lines.size() == 5u);
}

BOOST_AUTO_TEST_CASE(memory_is_one_line_unless_it_is_asked_for) {
  const std::vector<std::string> brief = Setup({}).lines;
  BOOST_REQUIRE(brief.size() == 1u);
  BOOST_TEST(brief[0].find("memory: this process takes ") == 0u, brief[0]);
  BOOST_TEST(test::contains(brief[0], ", of which programs "));
  BOOST_TEST(!test::contains(brief[0], "\n"), brief[0]);
  for (const char* flag : {"--memory-report", "--dry-run"}) {
    const std::vector<std::string> all = Setup({flag}).lines;
    BOOST_REQUIRE(all.size() == 4u);
    BOOST_TEST(test::contains(all[0], "parameters "));
    BOOST_TEST(all[1].find("evaluation takes ") == 0u, all[1]);
    BOOST_TEST(all[2].find("all programs together take ") == 0u, all[2]);
    BOOST_TEST(all[3].find("this process takes ") == 0u, all[3]);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::ready_test
