#include "runtime/comm/open.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "runtime/comm/start_room.h"
#include "runtime/usable_processors.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::test::open_test {

BOOST_AUTO_TEST_SUITE(open_communicators)

BOOST_AUTO_TEST_CASE(alone_opens_nothing) {
  const auto communicator = open_communicator({}, {}, {"/nowhere/libkilobatch_mpi.so"});
  BOOST_TEST(communicator->size() == 1);
  BOOST_TEST(open_communicator({}, {"mpirun", 1}, {})->description() == "one process");
}

BOOST_AUTO_TEST_CASE(an_absent_library_is_named_with_its_package) {
  const std::string error = error_of([] { open_communicator({}, {"mpirun", 4}, {"/nowhere/libkilobatch_mpi.so"}); });
  BOOST_TEST(
      error ==
      "several processes cannot be used\n"
      "  missing: Kilobatch's MPI library, libkilobatch_mpi.so, which is not built\n"
      "  got:     no /nowhere/libkilobatch_mpi.so\n"
      "  hint:    cmake --build BUILD --target kilobatch_mpi builds it; where there is no such target, apt install "
      "libopenmpi-dev openmpi-bin, then configure again (cmake -DKB_MPI=ON says what it does not find)");
}

// A launcher may not say how many processes it has started.
BOOST_AUTO_TEST_CASE(an_unknown_number_of_processes_is_several) {
  const std::string error = error_of([] { open_communicator({}, {"mpiexec", 0}, {"/nowhere/libkilobatch_mpi.so"}); });
  BOOST_TEST(error.starts_with("several processes cannot be used"), error);
}

BOOST_AUTO_TEST_CASE(what_is_no_library_is_refused) {
  const TemporaryDirectory folder;
  write_file(folder / "libkilobatch_mpi.so", "not a library");
  const std::string error = error_of([&] { open_communicator({}, {"mpirun", 4}, {folder / "libkilobatch_mpi.so"}); });
  BOOST_TEST(test::contains(error, "missing: a library that Kilobatch's MPI library needs"));
  BOOST_TEST(test::contains(error, "libkilobatch_mpi.so"));
}

// If the tasks were not refused, every one would train alone, and no message would say so.
BOOST_AUTO_TEST_CASE(tasks_that_nothing_connects_are_refused) {
  const std::string error = error_of([] { open_communicator({}, {"srun", 4, false}, {}); });
  BOOST_TEST(error ==
             "several processes cannot be used\n"
             "  missing: what connects the processes\n"
             "  got:     4 processes started by srun\n"
             "  hint:    srun --mpi=pmix (srun --mpi=list says what this Slurm has), or mpirun inside the job");
}

BOOST_AUTO_TEST_CASE(the_command_that_starts_processes) {
  const std::vector<std::string> command = mpirun_command("/usr/bin/mpirun", 4, {"build/bin/glyphs", "--epochs", "1"});
  BOOST_TEST(command.front() == "/usr/bin/mpirun");
  BOOST_TEST(test::contains(fmt::format("{}", fmt::join(command, " ")), "-n 4 build/bin/glyphs --epochs 1"));
  BOOST_TEST(test::contains(error_of([] { mpirun_command("mpirun", 4, {}); }), "apt install openmpi-bin"));
  const int64_t processors = usable_processors();
  for (const int64_t processes : {processors, processors + 1}) {
    const std::vector<std::string> words = mpirun_command("/usr/bin/mpirun", processes, {"x"});
    BOOST_TEST(std::ranges::count(words, "--oversubscribe") == processes - processors);
  }
}

// Each of these is a start that would not come to its first step.
BOOST_AUTO_TEST_CASE(processes_for_which_there_is_no_room_are_refused) {
  const StartRoom room{.processors = 2, .memory = 24'000'000'000, .open_files = 1'048'576};
  BOOST_TEST(error_of([&] { check_start_room(128, room); }) == "(nothing thrown)");
  BOOST_TEST(error_of([&] { check_start_room(1000, room); }) ==
             "1000 processes cannot be started on this machine\n"
             "  expected: at most 64 for each processor\n"
             "  got:      2 processors\n"
             "  hint:     fewer --processes: virtual workers (--per-worker) give the same bits in any number of them");
  const StartRoom exact{.processors = 1, .memory = 640'000'000, .open_files = 64 + 4 * 64};  // room for 64 processes
  BOOST_TEST(error_of([&] { check_start_room(64, exact); }) == "(nothing thrown)");
  for (const StartRoom& less : {StartRoom{1, 639'999'999, exact.open_files}, {1, exact.memory, exact.open_files - 1}})
    BOOST_TEST(error_of([&] { check_start_room(64, less); }) != "(nothing thrown)");
  const auto refused = [&](const StartRoom& other, const std::string& part) {
    const std::string error = error_of([&] { check_start_room(100, other); });
    BOOST_TEST(test::contains(error, part));
  };
  refused({2, 512'000'000, 1'048'576}, "expected: 10 MB of memory for each, at the least\n  got:      512 MB for all");
  refused({2, 24'000'000'000, 256}, "expected: 464 files that mpirun may have open\n  got:      256 (ulimit -Hn)");
  BOOST_TEST(error_of([] { mpirun_command("/usr/bin/mpirun", int64_t{1} << 32, {}); }).starts_with("4294967296 "));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::test::open_test
