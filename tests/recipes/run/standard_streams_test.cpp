// Programs whose parent closed their standard streams, or gave them a full disk or a pipe that nobody reads.
#include <boost/test/unit_test.hpp>

#include "runtime/process.h"
#include "tests/recipes/small_run.h"
#include "tests/support/support.h"

namespace kb::standard_streams_test {
namespace {

namespace fs = std::filesystem;

struct Fixture {
  test::TemporaryDirectory directory;
  const fs::path out = directory / "run";
  const std::string run = KB_BIN "/mlp_mnist --dataset synthetic --minibatch 32 --steps 5 --out " + out.string();

  static ProcessResult shell(const std::string& line) {
    return Process({"/bin/bash", "-c", "set -o pipefail; " + line}).wait();
  }
  void check_whole_run() const {
    const std::vector<nlohmann::json> lines = test::lines_of(out);
    BOOST_TEST(test::of_kind(lines, "step").size() == 5u);
    BOOST_TEST(lines.back().at("kind") == "end");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(standard_streams, Fixture)

BOOST_AUTO_TEST_CASE(no_file_of_a_run_gets_the_number_of_a_closed_stream) {
  BOOST_TEST(shell(run + " <&- >&- 2>&-").status == 0);
  check_whole_run();
}

BOOST_AUTO_TEST_CASE(an_error_that_cannot_be_told_ends_with_its_exit_code) {
  BOOST_TEST(shell(KB_BIN "/mlp_mnist --foo 2>/dev/full").status == 2);
  BOOST_TEST(shell(KB_BIN "/cache --foo 2>/dev/full").status == 2);
  BOOST_TEST(shell(KB_BIN "/export /nowhere --to x 2>/dev/full").status == 1);
}

BOOST_AUTO_TEST_CASE(a_run_outlives_a_full_disk_under_its_log) {
  const ProcessResult result = shell(run + " 2>&1 >/dev/full");
  BOOST_TEST(result.status == 0, result.output);
  const std::string note = "NOTE: cannot write to standard output: No space left on device; the run goes on without it";
  BOOST_TEST(test::count_of(result.output, note) == 1u, result.output);
  check_whole_run();
}

BOOST_AUTO_TEST_CASE(a_run_outlives_the_reader_of_its_log) {
  const ProcessResult result = shell(run + " | true");
  BOOST_TEST(result.status == 0, result.output);
  check_whole_run();
}

BOOST_AUTO_TEST_CASE(what_is_made_to_be_printed_is_printed_whole_or_an_error) {
  for (const char* command : {"/cache --list", "/cache --help", "/mlp_mnist --help", "/inspect mlp_mnist"}) {
    const ProcessResult result = shell(std::string(KB_BIN) + command + " 2>&1 >/dev/full");
    BOOST_TEST(result.status == 1, command);
    BOOST_TEST(result.output.ends_with(": cannot write to standard output: No space left on device\n"), result.output);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::standard_streams_test
