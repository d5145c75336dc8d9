// Times of the ranks of a run: which one the others wait for.
#include "recipes/train/rank_times.h"

#include <boost/test/unit_test.hpp>

#include "recipes/orders/gradient_times.h"
#include "tests/recipes/train/pairs.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::rank_times_test {

using namespace kb::test;

BOOST_AUTO_TEST_SUITE(rank_times)

BOOST_AUTO_TEST_CASE(the_slowest_rank_is_named) {
  const RanksReport even{10, {20, 21, 20, 22}, {0, 0, 0, 0}, {"a", "a", "b", "b"}};
  BOOST_TEST(slow_rank_text(even) == "");
  const RanksReport slow{10, {20, 21, 30, 20}, {0, 0, 0, 0}, {"a", "a", "b", "b"}};
  BOOST_TEST(slow_rank_text(slow) == "NOTE: rank 2 (b): 1.50 x the median of the others; 10 ms of a step wait for it");
  BOOST_TEST(slow_rank_text({10, {20, 30}, {0, 0}, {"a", "b"}}) ==
             "NOTE: rank 1 (b): 1.50 x the median of the others; 10 ms of a step wait for it");
  BOOST_TEST(slow_rank_text({10, {20}, {0}, {"a"}}) == "");
}

BOOST_AUTO_TEST_CASE(times_of_ranks_are_times_of_workers) {
  const TemporaryDirectory directory;
  const std::string path = directory / "metrics.jsonl";
  write_file(path,
             "{\"kind\":\"ranks\",\"step\":5,\"compute_ms\":[1,1],\"data_wait_ms\":[0,0]}\n{\"kind\":\"step\"}\n"
             "{\"kind\":\"ranks\",\"step\":9,\"compute_ms\":[20,30.5],\"data_wait_ms\":[0,0]}\n{\"kind\":\"eval\"}\n");
  BOOST_TEST((read_times(parse_times("--times", path), 2).means_s == std::vector{0.02, 0.0305}));
  BOOST_CHECK_EXCEPTION(read_times(parse_times("--times", path), 3), Error, says("expected", "3 numbers", "2"));
  write_file(path, "{\"kind\":\"step\"}\n");
  BOOST_CHECK_EXCEPTION(read_times(parse_times("--times", path), 2), Error, says("a line of kind ranks"));
}

// Every rank learns of all times.
BOOST_AUTO_TEST_CASE(an_evaluation_gathers_them) {
  struct Told : Observer {
    std::vector<RanksReport> reports;
    void ranks(const RanksReport& report) override { reports.push_back(report); }
  };
  TrainConfig config = config_of_run(6);
  config.judging.eval_every = {3, Period::Unit::steps};
  std::vector<Told> told(2);
  on_ranks(2,
           [&](int rank, Machine machine) { train(task_of(line), config, machine, told[static_cast<size_t>(rank)]); });
  for (const Told& one : told) {
    BOOST_TEST(one.reports.size() == 2u);
    for (const RanksReport& report : one.reports) {
      BOOST_TEST(report.compute_ms.size() == 2u);
      for (const double ms : report.compute_ms) BOOST_TEST(ms > 0);
    }
    BOOST_TEST(one.reports.at(0).step == 3);
    BOOST_TEST((one.reports[0].compute_ms == told[0].reports.at(0).compute_ms));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::rank_times_test
