// Tests forecasts for steps made by hand, whose times have closed forms.

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "recipes/inspect/scaling.h"
#include "tests/recipes/inspect/hand_worker.h"
#include "tests/support/support.h"

namespace kb::scaling_test {
namespace {

const auto kClose = boost::test_tools::tolerance(1e-9);

using test::count_of;
using test::kHandBytes;
constexpr Network kEthernet{50e-6, 5e9}, kBoard{10e-6, 20e9};

double halving_doubling(int ranks, const Network& network) {
  return 2 * std::log2(ranks) * network.latency + 2.0 * (ranks - 1) / ranks * kHandBytes / network.bandwidth;
}

double ring(int ranks, const Network& network) {
  return 2 * (ranks - 1) * (network.latency + static_cast<double>(kHandBytes) / ranks / network.bandwidth);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(scaling)

BOOST_AUTO_TEST_CASE(without_communication_workers_add_up) {
  const std::vector<ScaleRow> rows = test::HandWorker(false).rows(Algorithm::ring, {8, kBoard, kEthernet});
  BOOST_REQUIRE(rows.size() == 11u);
  for (size_t i = 0; i < rows.size(); ++i) {
    BOOST_TEST(rows[i].workers == 1 << i);
    BOOST_TEST(rows[i].minibatch == 32 << i);
    BOOST_TEST(rows[i].step == 0.3, kClose);
    BOOST_TEST(rows[i].efficiency == 1, kClose);
    BOOST_TEST(rows[i].of_node == 1, kClose);
    BOOST_TEST(rows[i].rate == rows[i].workers * 32 / 0.3, kClose);
    BOOST_TEST(rows[i].seconds_of(1'000'000) == 1'000'000 * 0.3 / 32 / rows[i].workers, kClose);
    BOOST_TEST(rows[i].communication == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_step_that_hides_nothing_is_compute_and_communication) {
  const test::HandWorker one(true);
  for (const auto& [algorithm, model] :
       {std::pair{Algorithm::halving_doubling, &halving_doubling}, {Algorithm::ring, &ring}}) {
    for (const ScaleRow& row : one.rows(algorithm, {1, {}, kEthernet})) {
      const double communication = row.workers == 1 ? 0 : model(row.workers, kEthernet);
      BOOST_TEST(row.communication == communication, kClose);
      BOOST_TEST(row.exposed == communication, kClose);
      BOOST_TEST(row.step == 0.3 + communication, kClose);
      BOOST_TEST(row.efficiency == 0.3 / (0.3 + communication), kClose);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_node_has_a_network_of_its_own) {
  const std::vector<ScaleRow> rows = test::HandWorker(true).rows(Algorithm::halving_doubling, {8, kBoard, kEthernet});
  BOOST_TEST(rows[3].communication == halving_doubling(8, kBoard), kClose);
  BOOST_TEST(rows[3].of_node == 1, kClose);
  const double chain = 7 * kBoard.latency + kHandBytes / kBoard.bandwidth;
  BOOST_TEST(rows[5].communication == 2 * chain + halving_doubling(4, kEthernet), kClose);
  BOOST_TEST(rows[5].of_node == rows[3].step / rows[5].step, kClose);
}

// Rank 0 sends 2n(p - 1)/p bytes in an all-reduce, and n along the chain of its node.
BOOST_AUTO_TEST_CASE(the_first_process_sends_what_an_all_reduce_makes_it_send) {
  for (const Algorithm algorithm : {Algorithm::halving_doubling, Algorithm::ring}) {
    const std::vector<ScaleRow> rows = test::HandWorker(true).rows(algorithm, {8, kBoard, kEthernet});
    BOOST_TEST(rows[0].sent == 0);
    BOOST_TEST(rows[3].sent == 2.0 * 7 / 8 * kHandBytes, kClose);
    BOOST_TEST(rows[3].sent_between == 0);
    BOOST_TEST(rows[5].sent_between == 2.0 * 3 / 4 * kHandBytes, kClose);
    BOOST_TEST(rows[5].sent == rows[5].sent_between + kHandBytes, kClose);
    BOOST_TEST(rows[5].compute == 0.3, kClose);
    BOOST_TEST(rows[5].waiting() == 1 - 0.3 / rows[5].step, kClose);
  }
}

BOOST_AUTO_TEST_CASE(what_compute_covers_is_not_exposed) {
  for (const ScaleRow& row : test::HandWorker(true, true).rows(Algorithm::ring, {1, {}, kEthernet})) {
    BOOST_TEST(row.exposed == std::max(0.0, row.communication - 0.2), kClose);
    BOOST_TEST(row.step == 0.3 + row.exposed, kClose);
  }
}

BOOST_AUTO_TEST_CASE(prepared_copies_are_made_before_anything_goes) {
  test::HandWorker one(true);
  one.worker.steps[1].prepare = 0.05;
  const std::vector<ScaleRow> rows = one.rows(Algorithm::ring, {1, {}, kEthernet});
  BOOST_TEST(rows[0].step == 0.35, kClose);
  BOOST_TEST(rows[4].step == 0.35 + ring(16, kEthernet), kClose);
}

// A worker has two threads and a node 8 cores, so that up to 4 workers compute at a time, as was timed; 16 workers of a
// node take 4 times as long to compute, and no longer to wait.
BOOST_AUTO_TEST_CASE(workers_share_the_cores_of_their_node) {
  test::HandWorker one(true);
  one.worker.threads = 2;
  one.worker.cores = 8;
  for (const int at_a_time : {2, 4}) {
    one.worker.steps[at_a_time] = one.worker.steps[1];
    one.worker.steps[at_a_time].scale(1 + 0.1 * at_a_time);
  }
  const std::vector<ScaleRow> rows = one.rows(Algorithm::ring, {16, kBoard, kEthernet});
  const double compute[] = {0.3, 0.36, 0.42, 0.42 * 2, 0.42 * 4, 0.42 * 4};
  for (size_t i = 0; i < std::size(compute); ++i)
    BOOST_TEST(rows[i].step - rows[i].exposed == compute[i], boost::test_tools::tolerance(1e-9));
  BOOST_TEST(rows[4].exposed == ring(16, kBoard), kClose);
  // 4 workers at a time were not timed here, so that the time of 2 stands for them.
  one.worker.steps.erase(4);
  BOOST_TEST(one.rows(Algorithm::ring, {16, kBoard, kEthernet})[2].step == 0.36 + ring(4, kBoard), kClose);
}

BOOST_AUTO_TEST_CASE(the_table_and_the_picture) {
  const test::HandWorker one(true, true);
  const Cluster cluster{8, kBoard, {50e-6, 1e9}};
  std::vector<ScaleLine> lines;
  std::string text;
  for (const Algorithm algorithm : {Algorithm::halving_doubling, Algorithm::ring}) {
    lines.push_back(scale_line(one.worker, algorithm, cluster, 4096));
    text += scale_table(lines.back(), 1281167, 5) + "\n";
  }
  test::golden("scaling.txt", text);
  const std::string small = scale_table(lines.front(), 2000, 5);
  BOOST_TEST(test::contains(small, "from 64 workers on the minibatch kn is larger than the set's 2000 samples"));
  BOOST_TEST(!test::contains(scale_table(lines.front(), 1e9, 5), "larger"));
  for (ScaleLine& line : lines) line.rows.erase(line.rows.begin() + 5, line.rows.end());
  const std::string picture = scale_picture(
      lines, 1281167, {"a recipe, 32 samples a worker", "a step alone takes 300 ms", "nodes of 8 & <more>"});
  test::golden("scaling.svg", picture);
  const auto count = [&](const std::string& part) { return count_of(picture, part); };
  BOOST_TEST(count("<circle") == 4u * 2 * 5);    // 4 charts, 2 algorithms, 5 numbers of workers
  BOOST_TEST(count("<polyline") == 3u + 2 * 5);  // 3 ideals; each algorithm in 4 charts and as all communication
  BOOST_TEST(count("nodes of 8 &amp; &lt;more&gt;") == 1u);
  BOOST_TEST(count("nan") + count("inf<") == 0u);
}

// The fourth chart has epochs of as many workers as have one. The first has every rate, also below that of one alone.
BOOST_AUTO_TEST_CASE(a_picture_has_the_rows_of_the_table) {
  std::vector<ScaleLine> lines = {
      scale_line(test::HandWorker(true).worker, Algorithm::ring, {8, kBoard, kEthernet}, 64)};
  BOOST_TEST(count_of(scale_picture(lines, 1e9, {}), "<circle") == 4u * 7);
  BOOST_TEST(count_of(scale_picture(lines, 32 * 10, {}), "<circle") == 3u * 7 + 4);
  const size_t before = count_of(scale_picture(lines, 1e9, {}), ">10</text>");
  lines[0].rows[1].rate = 10;
  BOOST_TEST(count_of(scale_picture(lines, 1e9, {}), ">10</text>") == before + 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::scaling_test
