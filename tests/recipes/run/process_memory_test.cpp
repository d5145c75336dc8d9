// The memory that a run says it will take, beside the most that its process took.
#include "recipes/run/process_memory.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "recipes/config/flags.h"
#include "recipes/config/run_task.h"
#include "runtime/input_file.h"
#include "tests/recipes/small_run.h"
#include "tests/support/matches.h"
#include "tests/support/support.h"

namespace kb::process_memory_test {
namespace {

namespace fs = std::filesystem;

// Returns the most bytes of memory that a program took; the file `output` gets what it printed.
int64_t peak_of(std::vector<std::string> words, const fs::path& output) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  BOOST_REQUIRE(WIFEXITED(status));
  BOOST_REQUIRE_EQUAL(WEXITSTATUS(status), 0);
  return usage.ru_maxrss * int64_t{1024};
}

// Returns the bytes of a text such as "1.25 GB".
double bytes_in(const std::string& number, const std::string& unit) {
  return std::stod(number) * (unit == "GB" ? 1e9 : unit == "MB" ? 1e6 : unit == "kB" ? 1e3 : 1);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(process_memory_of_a_run)

BOOST_AUTO_TEST_CASE(a_line_names_each_part) {
  const ProcessMemory memory{3'000'000'000, 60'000'000, 15'000'000, 180'000'000};
  BOOST_TEST(memory.total() == 3'255'000'000);
  BOOST_TEST(to_text(memory) ==
             "this process takes 3.25 GB: programs 3 GB, code and data 60 MB,\n"
             "  minibatches ahead 15 MB, the checkpoint's copy of the state 180 MB");
  BOOST_TEST(to_text(ProcessMemory{0, 60'000'000, 15'000'000, 0}) ==
             "this process takes 75 MB: code and data 60 MB,\n  minibatches ahead 15 MB");
  BOOST_TEST(to_text(ProcessMemory{.itself = 60'000'000, .minibatches = 15'000'000, .decoding = 700'000'000}) ==
             "this process takes 775 MB: code and data 60 MB,\n  minibatches ahead 15 MB, images that are held whole "
             "while they are decoded 700 MB");
}

BOOST_AUTO_TEST_CASE(more_than_the_machine_has_is_noted) {
  BOOST_TEST(over_machine_note(3'000'000'000, 8, 24'000'000'000).empty());
  BOOST_TEST(over_machine_note(3'100'000'000, 8, 24'000'000'000) ==
             "NOTE: the machine has 24 GB, and the run's processes on it (8) take 24.8 GB: the system may end them");
}

// Copies of the parameters and programs of growths are among the parts.
BOOST_AUTO_TEST_CASE(the_parts_of_programs_add_up) {
  struct Lines : Observer {
    bool ready(const Ready& ready, LoopStart&) override {
      lines = memory_lines(ready, process_memory(ready), true);
      all = static_cast<double>(ready.programs.bytes);
      return false;
    }
    std::vector<std::string> lines;
    double all = 0;
  };
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--policy", "local", "--replicas", "0", "--per-worker", "5"},
        {"--minibatch-schedule", "1ep:x2", "--ema", "0.9", "--eval-ema"}}) {
    const Recipe recipe = test::small_recipe();
    const RunConfig config = *parse_flags(recipe, "", words);
    LocalMachine machine(1);
    Lines said;
    train(load_task(recipe, config).task, config, machine, said);
    double sum = 0;
    for (const std::string& line : said.lines)
      if (const test::Match part = test::first_match(line, "^memory ([0-9.]+) (.B):|takes? ([0-9.]+) (.?B) more$");
          !part.empty())
        sum += part[1].empty() ? bytes_in(part[3], part[4]) : bytes_in(part[1], part[2]);
    BOOST_TEST(sum == said.all, boost::test_tools::tolerance(0.01));
  }
}

BOOST_AUTO_TEST_CASE(a_process_takes_what_it_said) {
#if defined(__SANITIZE_ADDRESS__)
  BOOST_TEST_MESSAGE("SKIPPED: a sanitizer takes memory of its own");
  return;
#endif
  const test::TemporaryDirectory directory;
  const fs::path said = directory / "said";
  const int64_t peak = peak_of({KB_BIN "/lenet_mnist", "--dataset", "synthetic", "--minibatch", "2048", "--per-worker",
                                "1024", "--steps", "3", "--out", directory / "run"},
                               said);
  const std::string text = read_file(said);
  const test::Match match = test::first_match(text, "this process takes ([0-9.]+) ([kMG]B)");
  BOOST_REQUIRE_MESSAGE(!match.empty(), text);
  const double share = static_cast<double>(peak) / bytes_in(match[1], match[2]);
  BOOST_TEST_MESSAGE("peak " << peak << " bytes, of what was said " << share);
  BOOST_TEST(share > 0.9);
  BOOST_TEST(share < 1.1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::process_memory_test
