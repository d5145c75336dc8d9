#include "optim/batch_plan.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"

namespace kb {
namespace {

std::string refused(int64_t global, int64_t per_worker, int64_t processes) {
  try {
    make_batch_plan(global, per_worker, processes);
  } catch (const Error& error) {
    return error.what();
  }
  return "taken";
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
             "--minibatch, --per-worker: expected a multiple of 1 processes x 32 samples of a worker = 32, got 100\n"
             "  hint:     --minibatch 96 or 128, or --per-worker 25 or 50");
  BOOST_TEST(refused(96, 32, 4) ==
             "--minibatch, --per-worker: expected a multiple of 4 processes x 32 samples of a worker = 128, got 96\n"
             "  hint:     --minibatch 128, or --per-worker 24");
  BOOST_TEST(refused(30, 0, 4) ==
             "--minibatch: expected samples for 4 processes alike, got 30\n  hint:     --minibatch 28 or 32");
  BOOST_TEST(refused(8, 32, 1).find("--minibatch 32, or --per-worker 8") != std::string::npos);
}

// Every plan that a hint names divides.
BOOST_AUTO_TEST_CASE(hints_hold) {
  for (int64_t global = 1; global < 60; ++global)
    for (int64_t n = 1; n < 40; n += 3)
      for (int64_t processes : {1, 2, 3, 8}) {
        const std::string text = refused(global, n, processes);
        if (text == "taken") continue;
        const size_t at = text.find("--minibatch ", text.find("hint"));
        const int64_t proposed = std::stoll(text.substr(at + 12));
        BOOST_TEST(make_batch_plan(proposed, n, processes).global == proposed);
        const size_t other = text.find("--per-worker ", at);
        if (other == std::string::npos) continue;
        const int64_t samples = std::stoll(text.substr(other + 13));
        BOOST_TEST(make_batch_plan(global, samples, processes).per_worker == samples);
      }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb
