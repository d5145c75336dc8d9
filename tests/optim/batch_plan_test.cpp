#include "optim/batch_plan.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::batch_plan_test {
namespace {

constexpr const char* kTaken = "(nothing thrown)";

constexpr NormGroup ghost(int64_t samples) { return {NormGroup::Kind::ghost, samples}; }
constexpr NormGroup sync(int64_t workers) { return {NormGroup::Kind::sync, workers}; }

std::string refused(int64_t global, int64_t per_worker, int64_t processes, NormGroup norm = {}) {
  return test::error_of([&] { make_batch_plan(global, per_worker, processes, norm); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(batch_plan)

BOOST_AUTO_TEST_CASE(a_step_is_processes_times_virtual_workers_times_samples) {
  const BatchPlan plan = make_batch_plan(8192, 32, 4);
  BOOST_TEST(plan.virtual_workers == 64);
  BOOST_TEST(plan.workers() == 256);
  BOOST_TEST(plan.derivation() == "kn 8192 = 4 processes x 64 virtual workers x 32");
  BOOST_TEST(make_batch_plan(64, 0, 1).derivation() == "kn 64 = 1 process x 1 virtual worker x 64");
  BOOST_TEST(make_batch_plan(64, 0, 4).per_worker == 16);
}

BOOST_AUTO_TEST_CASE(what_does_not_divide_is_refused_with_plans_that_do) {
  BOOST_TEST(refused(100, 32, 1) ==
             "--minibatch, --per-worker: expected a minibatch that is a multiple of 32 = 1 process x 32 samples of a "
             "worker, got 100\n"
             "  hint:     --minibatch 96 or 128, or --per-worker 25 or 50");
  BOOST_TEST(refused(96, 32, 4) ==
             "--minibatch, --per-worker: expected a minibatch that is a multiple of 128 = 4 processes x 32 samples of "
             "a worker, got 96\n"
             "  hint:     --minibatch 128, or --per-worker 24");
  BOOST_TEST(refused(30, 0, 4) ==
             "--minibatch: expected samples for 4 processes alike, got 30\n  hint:     --minibatch 28 or 32");
  BOOST_TEST(refused(0, 32, 1).ends_with("got 0\n  hint:     --minibatch 32"));
  BOOST_TEST(refused(-64, 32, 1).ends_with("got -64\n  hint:     --minibatch 32"));
  BOOST_TEST(refused(64, 32, 1, ghost(0)).ends_with("got ghost(0)\n  hint:     ghost(1)"));
  BOOST_TEST(refused(64, 32, 1, sync(0)).ends_with("got sync(0)\n  hint:     sync(1)"));
  BOOST_TEST(test::contains(refused(8, 32, 1), "--minibatch 32, or --per-worker 8"));
}

// A search that tries every number for a divisor would take minutes here.
BOOST_AUTO_TEST_CASE(hints_of_large_numbers_are_there_at_once) {
  constexpr int64_t kPrime = 999'999'999'999'989;
  BOOST_TEST(refused(kPrime, kPrime / 2, 1).ends_with(fmt::format(", or --per-worker 1 or {}", kPrime)));
  BOOST_TEST(refused(kPrime, 1, kPrime, sync(2)).ends_with("  hint:     worker, or a smaller --per-worker"));
}

// Every plan that a hint names divides.
BOOST_AUTO_TEST_CASE(hints_hold) {
  for (int64_t global = 1; global < 60; ++global)
    for (int64_t n = 1; n < 40; n += 3)
      for (int64_t processes : {1, 2, 3, 8}) {
        const std::string text = refused(global, n, processes);
        if (text == kTaken) continue;
        const size_t at = text.find("--minibatch ", text.find("hint"));
        const int64_t proposed = std::stoll(text.substr(at + 12));
        BOOST_TEST(make_batch_plan(proposed, n, processes).global == proposed);
        const size_t other = text.find("--per-worker ", at);
        if (other == std::string::npos) continue;
        const int64_t samples = std::stoll(text.substr(other + 13));
        BOOST_TEST(make_batch_plan(global, samples, processes).per_worker == samples);
      }
}

BOOST_AUTO_TEST_CASE(ghosts_cut_workers_and_sync_joins_them) {
  const BatchPlan cut = make_batch_plan(8192, 32, 1, ghost(16));
  BOOST_TEST(cut.per_worker == 16);
  BOOST_TEST(cut.virtual_workers == 512);
  BOOST_TEST(cut.derivation() ==
             "kn 8192 = 1 process x 512 virtual workers x 16 (batch norm ghost(16): workers of 32 cut in 2)");
  const BatchPlan joined = make_batch_plan(8192, 32, 4, sync(4));
  BOOST_TEST(joined.per_worker == 128);
  BOOST_TEST(joined.virtual_workers == 16);
  BOOST_TEST(joined.derivation() ==
             "kn 8192 = 4 processes x 16 virtual workers x 128 (batch norm sync(4): 4 workers of 32 as one)");
  BOOST_TEST(make_batch_plan(64, 0, 1, ghost(8)).derivation() ==
             "kn 64 = 1 process x 8 virtual workers x 8 (batch norm ghost(8): workers of 64 cut in 8)");
  for (const NormGroup same : {ghost(32), sync(1)})
    BOOST_TEST(make_batch_plan(64, 32, 2, same).derivation() == "kn 64 = 2 processes x 1 virtual worker x 32");
}

BOOST_AUTO_TEST_CASE(groups_that_do_not_divide_are_refused_with_groups_that_do) {
  BOOST_TEST(refused(64, 32, 1, ghost(12)) ==
             "--batch-norm: expected ghost(M), M a divisor of the 32 samples of a worker, got ghost(12)\n"
             "  hint:     ghost(8) or ghost(16)");
  BOOST_TEST(refused(64, 32, 1, ghost(64)).ends_with("  hint:     ghost(32)"));
  BOOST_TEST(refused(128, 32, 1, sync(3)) ==
             "--batch-norm: expected sync(K), K a divisor of the 4 virtual workers of a process, got sync(3)\n"
             "  hint:     sync(2) or sync(4)");
  BOOST_TEST(refused(128, 32, 4, sync(2)) ==
             "--batch-norm: expected sync(K), K a divisor of the 1 virtual worker of a process, got sync(2): "
             "statistics are never of several processes, none waits for another in its forward\n"
             "  hint:     worker, or a smaller --per-worker, or 2 processes");
  BOOST_TEST(refused(512, 32, 4, sync(8)).ends_with("  hint:     sync(4), or 2 processes"));
  BOOST_TEST(refused(384, 32, 4, sync(4)).ends_with("  hint:     sync(3), or 3 processes"));
}

// Every group that a hint names is accepted, and so is a number of processes that it names, with the group asked for.
BOOST_AUTO_TEST_CASE(hints_of_groups_hold) {
  constexpr int64_t kWorker = 12;
  for (int64_t processes : {1, 2, 3, 4})
    for (int64_t workers = 1; workers < 9; ++workers)
      for (int64_t size = 1; size < 15; ++size)
        for (const NormGroup norm : {ghost(size), sync(size)}) {
          const int64_t global = processes * workers * kWorker;
          const std::string text = refused(global, kWorker, processes, norm);
          if (text == kTaken) continue;
          const std::string hint = text.substr(text.find("hint"));
          const bool is_ghost = norm.kind == NormGroup::Kind::ghost;
          const std::string start = is_ghost ? "ghost(" : "sync(";
          for (size_t at = hint.find(start); at != std::string::npos; at = hint.find(start, at + 1)) {
            const int64_t proposed = std::stoll(hint.substr(at + start.size()));
            BOOST_TEST(refused(global, kWorker, processes, is_ghost ? ghost(proposed) : sync(proposed)) == kTaken);
          }
          const size_t fewer = hint.find(", or ", hint.find(')'));
          if (!is_ghost && hint.find(')') != std::string::npos && fewer != std::string::npos)
            BOOST_TEST(refused(global, kWorker, std::stoll(hint.substr(fewer + 5)), norm) == kTaken);
        }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::batch_plan_test
