#include <boost/test/unit_test.hpp>
#include <optional>

#include "runtime/options.h"
#include "tests/support/says.h"
#include "tests/support/scoped_variable.h"
#include "tests/support/support.h"

namespace kb::options_test {

using kb::Error, kb::RuntimeOptions;
using kb::test::says, kb::test::ScopedVariable;

BOOST_AUTO_TEST_SUITE(options)

BOOST_AUTO_TEST_CASE(the_cache_is_named_or_in_the_cache_home_or_at_home) {
  ScopedVariable home("HOME", "/home/someone"), cache("KB_CACHE", "/fast/kernels"), xdg("XDG_CACHE_HOME", "/xdg");
  BOOST_TEST(RuntimeOptions::from_environment().cache_dir == "/fast/kernels");
  ScopedVariable no_cache("KB_CACHE", std::nullopt);
  BOOST_TEST(RuntimeOptions::from_environment().cache_dir == "/xdg/kilobatch");
  ScopedVariable relative("XDG_CACHE_HOME", "not/absolute");
  BOOST_TEST(RuntimeOptions::from_environment().cache_dir == "/home/someone/.cache/kilobatch");
  ScopedVariable empty("XDG_CACHE_HOME", "");
  BOOST_TEST(RuntimeOptions::from_environment().cache_dir == "/home/someone/.cache/kilobatch");
  ScopedVariable no_home("HOME", "not/absolute");
  BOOST_TEST(RuntimeOptions::from_environment().cache_dir.empty());
}

BOOST_AUTO_TEST_CASE(a_relative_cache_is_made_absolute) {
  ScopedVariable cache("KB_CACHE", "kernels");
  BOOST_TEST(RuntimeOptions::from_environment().cache_dir == std::filesystem::current_path() / "kernels");
}

BOOST_AUTO_TEST_CASE(data) {
  ScopedVariable data("KB_DATA", "/data/sets");
  BOOST_TEST(RuntimeOptions::from_environment().data_dir == "/data/sets");
  ScopedVariable none("KB_DATA", std::nullopt);
  BOOST_TEST(RuntimeOptions::from_environment().data_dir.empty());
}

BOOST_AUTO_TEST_CASE(the_compiler_is_the_one_of_the_build_unless_named) {
  ScopedVariable none("KB_CXX", std::nullopt);
  const RuntimeOptions built = RuntimeOptions::from_environment();
  BOOST_TEST(std::filesystem::exists(built.compiler));
  BOOST_TEST(built.compiler_origin == "the configure step");
  ScopedVariable path("KB_CXX", "/opt/gcc/bin/g++");
  BOOST_TEST(RuntimeOptions::from_environment().compiler == "/opt/gcc/bin/g++");
  BOOST_TEST(RuntimeOptions::from_environment().compiler_origin == "KB_CXX");
}

BOOST_AUTO_TEST_CASE(a_bare_compiler_name_is_looked_up) {
  ScopedVariable path("PATH", "/nowhere::/bin"), compiler("KB_CXX", "sh");
  BOOST_TEST(RuntimeOptions::from_environment().compiler == "/bin/sh");
  test::TemporaryDirectory folder;  // it has a folder of that name, which no shell would take for the program
  std::filesystem::create_directory(folder / "sh");
  ScopedVariable with_folder("PATH", folder.path().string() + ":/bin");
  BOOST_TEST(RuntimeOptions::from_environment().compiler == "/bin/sh");
  ScopedVariable unknown("KB_CXX", "no-such-compiler");
  BOOST_TEST(RuntimeOptions::from_environment().compiler == "no-such-compiler");
  // An empty name stands for the present folder, as POSIX has it: first, last or between two others.
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::copy_file("/bin/true", folder / "own");
  std::filesystem::current_path(folder.path());
  ScopedVariable own("KB_CXX", "own");
  for (const char* names : {":/bin", "/bin:", "/nowhere::/bin"}) {
    ScopedVariable with_empty("PATH", names);
    BOOST_TEST(RuntimeOptions::from_environment().compiler == "./own");
  }
  std::filesystem::current_path(before);
}

BOOST_AUTO_TEST_CASE(kernels_are_optimised_at_level_2_unless_told) {
  ScopedVariable none("KB_KERNEL_LEVEL", std::nullopt);
  BOOST_TEST(RuntimeOptions::from_environment().kernel_level == 2);
  ScopedVariable less("KB_KERNEL_LEVEL", "0");
  BOOST_TEST(RuntimeOptions::from_environment().kernel_level == 0);
  for (const char* wrong : {"3", "-O1", "12"}) {
    ScopedVariable variable("KB_KERNEL_LEVEL", wrong);
    BOOST_CHECK_EXCEPTION(
        RuntimeOptions::from_environment(), Error,
        says(std::string("KB_KERNEL_LEVEL: expected 0, 1 or 2, at which kernels are optimised, got '") + wrong));
  }
}

BOOST_AUTO_TEST_CASE(programs_that_may_be_absent_are_empty_then) {
  ScopedVariable path("PATH", "/nowhere"), pipes("CUDA_MPS_PIPE_DIRECTORY", std::nullopt);
  const RuntimeOptions options = RuntimeOptions::from_environment();
  BOOST_TEST(options.rsvg_convert.empty());
  BOOST_TEST(options.mps_control.empty());
  BOOST_TEST(options.mps_pipes == "/tmp/nvidia-mps");
  ScopedVariable own("CUDA_MPS_PIPE_DIRECTORY", "/own/pipes");
  BOOST_TEST(RuntimeOptions::from_environment().mps_pipes == "/own/pipes");
}

BOOST_AUTO_TEST_CASE(the_launcher_is_known_by_what_it_sets) {
  ScopedVariable no_openmpi("OMPI_COMM_WORLD_SIZE", std::nullopt), no_pmix("PMIX_RANK", std::nullopt),
      no_pmi("PMI_SIZE", std::nullopt), no_step("SLURM_STEP_NUM_TASKS", std::nullopt),
      not_launched("KB_LAUNCHED_BY", std::nullopt);
  const auto launcher = [] { return RuntimeOptions::from_environment().launcher; };
  BOOST_TEST(launcher().processes == 1);
  {
    // In a batch script Slurm starts every command once.
    ScopedVariable job("SLURM_NTASKS", "8"), rank("SLURM_PROCID", "0");
    BOOST_TEST(launcher().processes == 1);
  }
  ScopedVariable step("SLURM_STEP_NUM_TASKS", "8");
  BOOST_TEST(launcher().processes == 8);
  BOOST_TEST(!launcher().connects);
  ScopedVariable pmix("PMIX_RANK", "3");
  BOOST_TEST(launcher().name == "srun");
  BOOST_TEST(launcher().processes == 8);
  BOOST_TEST(launcher().connects);
  ScopedVariable openmpi("OMPI_COMM_WORLD_SIZE", "4");
  BOOST_TEST(launcher().name == "mpirun");
  BOOST_TEST(launcher().processes == 4);
  BOOST_TEST(launcher().launched_by == 0);
  ScopedVariable launched("KB_LAUNCHED_BY", "17");
  BOOST_TEST(launcher().launched_by == 17);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::options_test
