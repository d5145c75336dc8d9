// NVIDIA's multi-process service around the trials of a sweep, with a shell script in place of its control program.
#include "recipes/sweep/gpu_share.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "runtime/process.h"
#include "tests/support/scoped_variable.h"
#include "tests/support/support.h"

namespace kb::gpu_share_test {
namespace {

namespace fs = std::filesystem;
using test::ScopedVariable;

// The stand-in notes what it is asked, and makes a file in the place of the service's socket when it is started.
constexpr const char* kControl = R"SH(#!/bin/sh
root=$(dirname "$0")/..
pipes=$CUDA_MPS_PIPE_DIRECTORY
if [ "$1" = -d ]; then
  [ ! -e "$root/fails" ] || { echo "no such device"; echo "second line"; exit 1; }
  [ -d "$pipes" ] && [ -d "$CUDA_MPS_LOG_DIRECTORY" ] || exit 2
  touch "$pipes/control"
  echo "start $pipes" >> "$root/asked"
else
  read -r word
  echo "$word $pipes" >> "$root/asked"
fi
)SH";

struct GpuShareFixture {
  test::TemporaryDirectory directory;
  const ScopedVariable path{"PATH", (directory / "bin").string() + ":/usr/bin:/bin"};
  const ScopedVariable pipes{"CUDA_MPS_PIPE_DIRECTORY", (directory / "nobody").string()};

  GpuShareFixture() {
    fs::create_directories(directory / "bin");
    test::write_file(directory / "bin" / "nvidia-cuda-mps-control", kControl);
    fs::permissions(directory / "bin" / "nvidia-cuda-mps-control", fs::perms::owner_all);
  }
  fs::path own(int number) const { return directory / fmt::format("kilobatch-mps-{}-{}", ::getuid(), number); }
  std::string asked() const {
    return fs::exists(directory / "asked") ? test::read_file(directory / "asked") : std::string();
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(gpu_share, GpuShareFixture)

BOOST_AUTO_TEST_CASE(the_service_lives_as_long_and_trials_find_it) {
  const std::string pipe = (own(1) / "pipe").string();
  {
    const GpuShare share(directory.path());
    BOOST_TEST(share.shortfall() == "");
    BOOST_TEST(asked() == "start " + pipe + "\n");
    std::vector<std::string> trial = share.words();
    trial.insert(trial.end(), {"/bin/sh", "-c", "echo $CUDA_MPS_PIPE_DIRECTORY $PPID"});
    BOOST_TEST(Process(trial).wait().output == fmt::format("{} {}\n", pipe, ::getpid()));  // it is still our child
  }
  BOOST_TEST(asked() == "start " + pipe + "\nquit " + pipe + "\n");
  BOOST_TEST(!fs::exists(pipe));
}

BOOST_AUTO_TEST_CASE(two_at_once_have_one_each) {
  const GpuShare first(directory.path());
  {
    const GpuShare second(directory.path());
    BOOST_TEST(second.shortfall() == "");
    BOOST_TEST(second.words() != first.words());
    BOOST_TEST(fs::exists(own(2) / "pipe" / "control"));
  }
  BOOST_TEST(fs::exists(own(1) / "pipe" / "control"));
}

BOOST_AUTO_TEST_CASE(what_a_killed_process_left_is_ended_first) {
  fs::create_directories(own(1) / "pipe");
  test::write_file(own(1) / "pipe" / "control", "");
  const GpuShare share(directory.path());
  const std::string pipe = (own(1) / "pipe").string();
  BOOST_TEST(asked() == "quit " + pipe + "\nstart " + pipe + "\n");
}

BOOST_AUTO_TEST_CASE(a_service_of_the_user_is_left_alone) {
  fs::create_directories(directory / "users");
  test::write_file(directory / "users" / "control", "");
  const ScopedVariable users("CUDA_MPS_PIPE_DIRECTORY", (directory / "users").string());
  {
    const GpuShare share(directory.path());
    BOOST_TEST(share.shortfall() == "");
    BOOST_TEST(share.words().empty());
  }
  BOOST_TEST(asked() == "");
}

BOOST_AUTO_TEST_CASE(trials_take_turns_where_there_is_none) {
  const ScopedVariable nowhere("PATH", "/nowhere");
  const GpuShare share(directory.path());
  BOOST_TEST(share.shortfall() == "nvidia-cuda-mps-control, which comes with NVIDIA's driver, is not installed");
  BOOST_TEST(share.words().empty());
}

BOOST_AUTO_TEST_CASE(trials_take_turns_where_it_does_not_start) {
  test::write_file(directory / "fails", "");
  {
    const GpuShare share(directory.path());
    BOOST_TEST(share.shortfall() ==
               (directory / "bin" / "nvidia-cuda-mps-control").string() + " -d: exit code 1: no such device");
    BOOST_TEST(share.words().empty());
  }
  BOOST_TEST(asked() == "");
  test::write_file(directory / "file", "");
  BOOST_TEST(GpuShare(directory / "file").shortfall().starts_with("cannot make the folder "));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::gpu_share_test
