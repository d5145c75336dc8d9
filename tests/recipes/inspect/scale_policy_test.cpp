// Tests forecasts under a policy for steps made by hand, whose times have closed forms.
#include "recipes/inspect/scale_policy.h"
#include "recipes/inspect/scaling.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <sstream>

#include "graph/error.h"
#include "tests/recipes/inspect/hand_worker.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::scale_policy_test {
namespace {

using test::HandWorker;
using test::kHandBytes;

const auto kClose = boost::test_tools::tolerance(1e-9);
const auto kBytes = boost::test_tools::tolerance(1e-8);  // messages have whole bytes
constexpr Network kEthernet{50e-6, 5e9}, kBoard{10e-6, 20e9};
const Cluster kNodes{8, kBoard, kEthernet}, kApart{1, {}, kEthernet};
constexpr Algorithm kHalving = Algorithm::halving_doubling;

double halving_doubling(int ranks, const Network& network) {
  return 2 * std::log2(ranks) * network.latency + 2.0 * (ranks - 1) / ranks * kHandBytes / network.bandwidth;
}

Synchronising local(int64_t every) { return {.policy = Policy::local, .every = every}; }
Synchronising backup(int64_t backups, const std::string& times) {
  return {.policy = Policy::backup, .backups = backups, .times = times};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(scale_policies)

BOOST_AUTO_TEST_CASE(replicas_of_a_worker_wait_for_the_join_alone) {
  const HandWorker one(true);
  for (const int64_t every : {1, 4, 16}) {
    const std::vector<ScaleRow> rows = local_line(one.worker, every, kHalving, kApart, 1024).rows;
    BOOST_REQUIRE(rows.size() == 11u);
    BOOST_TEST(rows[0].step == 0.3, kClose);
    for (size_t i = 1; i < rows.size(); ++i) {
      const int nodes = 1 << i;
      const double join = halving_doubling(nodes, kEthernet) / static_cast<double>(every);
      BOOST_TEST(rows[i].workers == nodes);
      BOOST_TEST(rows[i].step == 0.3 + join, kClose);
      BOOST_TEST(rows[i].waiting() == join / (0.3 + join), kClose);
      BOOST_TEST(rows[i].sent == 2.0 * (nodes - 1) / nodes * kHandBytes / static_cast<double>(every), kBytes);
      BOOST_TEST(rows[i].sent_between == rows[i].sent, kClose);
      BOOST_TEST(rows[i].rate == 32 * nodes / rows[i].step, kClose);
      BOOST_TEST(rows[i].efficiency == 0.3 / rows[i].step, kClose);
    }
  }
}

BOOST_AUTO_TEST_CASE(workers_of_a_replica_sum_in_every_step) {
  const HandWorker one(true);
  const std::vector<ScaleRow> rows = local_line(one.worker, 10, kHalving, kNodes, 64).rows;
  const double inside = halving_doubling(8, kBoard);
  BOOST_TEST(rows[3].step == 0.3 + inside, kClose);  // one node is one replica, which is joined with none
  BOOST_TEST(rows[3].sent_between == 0);
  const double join = (7 * kBoard.latency + kHandBytes / kBoard.bandwidth + halving_doubling(4, kEthernet)) / 10;
  BOOST_TEST(rows[5].step == 0.3 + inside + join, kClose);
  BOOST_TEST(rows[5].exposed == inside + join, kClose);
  BOOST_TEST(rows[5].sent_between == 1.5 * kHandBytes / 10, kClose);
  BOOST_TEST(rows[5].sent == (2.0 * 7 / 8 + 0.1 + 0.15) * kHandBytes, kClose);
  BOOST_TEST(rows[5].compute == 0.3, kClose);
}

// A step hides as much of the sum inside a node as it always does; nothing hides a join.
BOOST_AUTO_TEST_CASE(a_join_is_not_hidden) {
  const HandWorker one(true, true);
  const std::vector<ScaleRow> rows = local_line(one.worker, 1, kHalving, kApart, 4).rows;
  BOOST_TEST(rows[2].step == 0.3 + halving_doubling(4, kEthernet), kClose);
  BOOST_TEST(scale_line(one.worker, kHalving, kApart, 4).rows[2].step == 0.3, kClose);
}

// A worker's cycle is 0.3 s + 2 messages of 20.05 ms = 0.3401 s; the server's port takes 20 ms a gradient, so that from
// 18 workers on it is the limit.
BOOST_AUTO_TEST_CASE(a_server_is_limited_by_its_port) {
  const HandWorker one(true);
  const std::vector<ScaleRow> rows = server_line(one.worker, kApart, 64).rows;
  BOOST_REQUIRE(rows.size() == 7u);
  BOOST_TEST(rows[0].step == 0.3, kClose);
  for (size_t i = 1; i < rows.size(); ++i) {
    const int workers = (1 << i) - 1;
    const double cycle = 0.3 + 2 * (50e-6 + 0.02), port = workers * 0.02;
    BOOST_TEST(rows[i].minibatch == 32 * workers, kClose);
    BOOST_TEST(rows[i].step == std::max(cycle, port), kClose);
    BOOST_TEST(rows[i].waiting() == 1 - 0.3 / std::max(cycle, port), kClose);
    BOOST_TEST(rows[i].sent == 1.0 * workers * kHandBytes, kClose);
    BOOST_TEST(rows[i].sent_between == rows[i].sent, kClose);
  }
}

// Workers of the server's node do not wait for the network between nodes: 7 have a cycle of 0.31002 s, 56 share a port
// that takes 20 ms a gradient.
BOOST_AUTO_TEST_CASE(a_server_has_a_port_on_each_network) {
  const HandWorker one(true);
  const ScaleRow row = server_line(one.worker, kNodes, 64).rows.back();
  const double inside = 7 / (0.3 + 2 * (10e-6 + 0.005)), between = 1 / 0.02;
  BOOST_TEST(row.step == 63 / (inside + between), kClose);
  BOOST_TEST(row.sent == 63.0 * kHandBytes, kClose);
  BOOST_TEST(row.sent_between == row.sent * between / (inside + between), kClose);
}

BOOST_AUTO_TEST_CASE(a_server_sends_parameters_and_gets_gradients) {
  HandWorker one(true);
  one.worker.parameter_bytes = 2.0 * kHandBytes;
  const std::vector<ScaleRow> rows = server_line(one.worker, kApart, 64).rows;
  BOOST_TEST(rows[1].step == 0.3 + 2 * 50e-6 + 0.02 + 0.04, kClose);
  BOOST_TEST(rows[6].step == 63 * 0.04, kClose);  // the port out carries twice what the port in does
}

// k + b exponential times: the k-th ends after (H_{k+b} - H_b) of their mean (recipes/orders/README.md).
BOOST_AUTO_TEST_CASE(backups_cut_the_tail_of_exponential_times) {
  const HandWorker one(true);
  const std::vector<ScaleRow> rows = backup_line(one.worker, 1, true, kHalving, kApart, 8).rows;
  BOOST_REQUIRE(rows.size() == 4u);
  BOOST_TEST(rows[1].minibatch == 32, kClose);
  BOOST_TEST(rows[1].step == 0.3 * 0.5 + halving_doubling(2, kEthernet), kClose);
  const double tail = 1.0 / 2 + 1.0 / 3 + 1.0 / 4;
  BOOST_TEST(rows[2].minibatch == 96, kClose);
  BOOST_TEST(rows[2].step == 0.3 * tail + halving_doubling(4, kEthernet), kClose);
  BOOST_TEST(rows[2].waiting() == halving_doubling(4, kEthernet) / rows[2].step, kClose);
  BOOST_TEST(backup_line(one.worker, 0, true, kHalving, kApart, 4).rows[2].step ==
                 0.3 * (1 + tail) + halving_doubling(4, kEthernet),
             kClose);
  BOOST_TEST(
      backup_line(one.worker, 1, false, kHalving, kApart, 4).rows[2].step == 0.3 + halving_doubling(4, kEthernet),
      kClose);
  const std::vector<ScaleRow> few = backup_line(one.worker, 5, true, kHalving, kApart, 16).rows;
  BOOST_REQUIRE(few.size() == 3u);  // 2 and 4 processes are too few for 5 backups
  BOOST_TEST(few[1].workers == 8);
}

BOOST_AUTO_TEST_CASE(the_tables_of_policies) {
  const HandWorker one(true, true);
  std::string text;
  for (const Synchronising& sync :
       {local(16), Synchronising{.policy = Policy::async}, backup(1, "exponential"), backup(2, "constant")})
    text += policy_tables(policy_lines(one.worker, sync, kNodes, 256), sync) + "\n";
  test::golden("scale_policies.txt", text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= 88u, line);
}

BOOST_AUTO_TEST_CASE(a_forecast_keeps_its_policy) {
  const HandWorker one(true);
  const PolicyLines all = policy_lines(one.worker, {.policy = Policy::async}, kNodes, 64);
  const std::string json = scale_json(all.lines, 1000, {"a", "b", "c", policy_flags({.policy = Policy::async})});
  BOOST_TEST(test::contains(json, "\"algorithm\": \"one server\""));
  const ScaleForecast forecast = parse_scale_json(json, "forecast.json");
  BOOST_TEST(forecast.policy == "--policy async");
  BOOST_TEST(forecast.rows.at(6).minibatch == 63 * 32, kClose);
  BOOST_TEST(test::contains(scale_picture(all.lines, 1000, {"a", "b", "c"}), "one server"));
}

BOOST_AUTO_TEST_CASE(flags_tell_a_policy) {
  BOOST_TEST(policy_flags({}) == kSynchronous);
  BOOST_TEST(policy_flags(local(16)) == "--policy local --every 16");
  BOOST_TEST(policy_flags(backup(2, "constant")) == "--policy backup --backups 2 --times constant");
}

BOOST_AUTO_TEST_CASE(what_has_no_forecast_is_refused_by_name) {
  const auto refuses = [](const Synchronising& sync, const std::string& flag, const std::string& expected,
                          const std::string& hint) {
    BOOST_CHECK_EXCEPTION(check_scale_policy(sync), UsageError, test::says(flag + ": expected", expected, "got", hint));
  };
  refuses({.policy = Policy::stale}, "--policy", "sync, local, async or backup", "--policy async");
  Synchronising sync = local(4);
  check_scale_policy(sync);
  sync.replicas = 4;
  refuses(sync, "--replicas", "the replicas of a forecast are nodes", "--node G");
  sync = local(4);
  sync.slots = LocalSlots::mean;
  refuses(sync, "--local-slots", "keep or zero", "--local-slots keep");
  sync = local(4);
  sync.from = Period{};
  refuses(sync, "--from", "steps with replicas", "--policy sync");
  check_scale_policy(backup(1, "exponential"));
  check_scale_policy(backup(1, "constant"));
  refuses(backup(1, "lognormal:0.5"), "--times", "constant or exponential", "--times exponential");
  refuses({.policy = Policy::async, .times = "times.txt"}, "--times", "constant or exponential", "times.txt");
  sync = backup(1, "constant");
  sync.late = LateGradients::finish;
  refuses(sync, "--late", "abandon", "--late abandon");
  sync = {.policy = Policy::async, .order = "order.jsonl"};
  refuses(sync, "--order", "makes no order", "--times");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::scale_policy_test
