// How processes of a run share a machine's processors, from the affinity masks that launchers set.

#include <boost/test/unit_test.hpp>

#include "recipes/train/device.h"
#include "recipes/train/world.h"

namespace kb::placement_test {
namespace {

// Processors begin to end - 1 of a machine.
Processors range(int begin, int end, const std::string& machine = "a") {
  Processors result{machine, {}};
  for (int number = begin; number < end; ++number) result.numbers.push_back(number);
  return result;
}

std::vector<int> shares(const std::vector<Processors>& ranks) {
  std::vector<int> result;
  for (size_t rank = 0; rank < ranks.size(); ++rank) result.push_back(share_of_processors(ranks, rank));
  return result;
}

using Shares = std::vector<int>;

}  // namespace

BOOST_AUTO_TEST_SUITE(placement)

// With mpirun --bind-to none every mask is the whole machine.
BOOST_AUTO_TEST_CASE(processes_that_are_bound_to_nothing_divide_the_machine) {
  BOOST_TEST(shares({range(0, 16)}) == Shares({16}));
  BOOST_TEST(shares({range(0, 16), range(0, 16)}) == Shares({8, 8}));
  const std::vector<Processors> three(3, range(0, 8));
  BOOST_TEST(shares(three) == Shares({2, 2, 2}));
  const std::vector<Processors> four(4, range(0, 2));
  BOOST_TEST(shares(four) == Shares({1, 1, 1, 1}));
}

// If mpirun binds processes to cores or sockets, a mask is a process's own and is not divided again.
BOOST_AUTO_TEST_CASE(processes_that_are_bound_keep_what_they_have) {
  BOOST_TEST(shares({range(0, 1), range(1, 2)}) == Shares({1, 1}));
  BOOST_TEST(shares({range(0, 16), range(16, 32)}) == Shares({16, 16}));
  // Two processes share each socket.
  BOOST_TEST(shares({range(0, 16), range(0, 16), range(16, 32), range(16, 32)}) == Shares({8, 8, 8, 8}));
  // The masks may be unequal, or overlap in part: processors 2 to 7 are in both, so that the shares are 2 + 6/2 and 6/2
  // + 4.
  BOOST_TEST(shares({range(0, 3), range(3, 8)}) == Shares({3, 5}));
  BOOST_TEST(shares({range(0, 8), range(2, 12)}) == Shares({5, 7}));
}

// A container's quota is divided among its processes, wherever on the machine they may run; it is rounded up before
// that.
BOOST_AUTO_TEST_CASE(processes_of_a_container_divide_its_quota) {
  const auto in_group = [](Processors processors, uint64_t group, double quota) {
    processors.quotas.push_back({group, quota});
    return processors;
  };
  const Processors limited = in_group(range(0, 64), 7, 3.5);
  BOOST_TEST(shares({limited}) == Shares({4}));
  BOOST_TEST(shares({limited, limited}) == Shares({2, 2}));
  const std::vector<Processors> eight(8, limited);
  BOOST_TEST(shares(eight) == Shares(8, 1));
  // Two containers of one pod, whose own quota is 6.
  const Processors other = in_group(in_group(range(0, 64), 8, 10), 9, 6);
  const Processors one = in_group(limited, 9, 6);
  BOOST_TEST(shares({one, other}) == Shares({3, 3}));
  // These processes are bound to fewer processors than the quota is worth.
  BOOST_TEST(shares({in_group(range(0, 1), 7, 3.5), in_group(range(1, 2), 7, 3.5)}) == Shares({1, 1}));
  // A group of the same number on another machine is a group of its own.
  BOOST_TEST(shares({limited, in_group(range(0, 64, "b"), 7, 3.5)}) == Shares({4, 4}));
}

BOOST_AUTO_TEST_CASE(processes_on_other_machines_take_nothing) {
  BOOST_TEST(shares({range(0, 4, "a"), range(0, 4, "b"), range(0, 4, "b")}) == Shares({4, 2, 2}));
}

BOOST_AUTO_TEST_CASE(what_a_process_says_of_itself) {
  const Processors own = own_processors();
  BOOST_TEST(usable_processors(static_cast<int>(own.numbers.size()), own.quotas) == usable_processors());
  BOOST_TEST(!own.machine.empty());
  const Processors again = Processors::parse(own.text());
  BOOST_TEST(again.machine == own.machine);
  BOOST_TEST(again.numbers == own.numbers);
  BOOST_TEST((again.quotas == own.quotas));
  const Processors limited{.machine = "a", .numbers = {0, 5}, .quotas = {{4711, 1.5}, {3, 0.1}}};
  BOOST_TEST(limited.text() == "a 0 5 | 4711:1.5 3:0.1");
  BOOST_TEST((Processors::parse(limited.text()).quotas == limited.quotas));
}

// Threads of the loader are chosen from the processors of the process's own share, not of the machine.
BOOST_AUTO_TEST_CASE(threads_of_the_loader) {
  const auto loader_threads = [](int threads, int processors) {
    return choose_loader_threads(std::nullopt, threads, processors);
  };
  BOOST_TEST(loader_threads(0, 16) == 1);
  BOOST_TEST(loader_threads(8, 8) == 1);
  BOOST_TEST(loader_threads(6, 8) == 2);
  BOOST_TEST(loader_threads(1, 16) == 4);
  BOOST_TEST(loader_threads(4, 1) == 1);
  BOOST_TEST(choose_loader_threads(0, 1, 16) == 0);
}

BOOST_AUTO_TEST_CASE(more_threads_than_processors_are_told) {
  BOOST_TEST(threads_note(0, 4) == "");
  BOOST_TEST(threads_note(4, 4) == "");
  BOOST_TEST(threads_note(8, 4).starts_with("NOTE: machine.threads = 8: a process's share of the processors is 4"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::placement_test
