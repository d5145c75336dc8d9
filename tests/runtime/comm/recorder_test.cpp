#include "runtime/comm/recorder.h"

#include <boost/test/unit_test.hpp>
#include <thread>

#include "graph/error.h"
#include "tests/runtime/comm/conformance.h"

namespace kb::test {
namespace {

int64_t start(Communicator& communicator, std::vector<float>& data) {
  return communicator.all_reduce(reinterpret_cast<std::byte*>(data.data()), static_cast<int64_t>(data.size()),
                                 DType::f32);
}

// Two steps of two reductions each, one outside; waited for in another order.
std::vector<Overlap> record(Recorder& recorder) {
  std::vector<float> a(3), b(1000), c(2);
  recorder.wait(start(recorder, c));
  for (int i = 0; i < 2; ++i) {
    recorder.begin();
    const int64_t first = start(recorder, a), second = start(recorder, b);
    recorder.wait(second);
    recorder.wait(first);
    recorder.end();
  }
  recorder.wait(start(recorder, c));
  return recorder.steps();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(recorder)

BOOST_AUTO_TEST_CASE(a_recorder_is_a_communicator) {
  Recorder recorder(make_local_communicator());
  BOOST_TEST(conforms(recorder, Algorithm::halving_doubling, 5000) == "");
  BOOST_TEST(recorder.steps().empty());
}

BOOST_AUTO_TEST_CASE(times_stand_in_their_order) {
  const auto network = make_in_process_network(2);
  std::vector<Overlap> steps[2];
  std::thread threads[2];
  for (int rank = 0; rank < 2; ++rank)
    threads[rank] = std::thread([&, rank] {
      Recorder recorder(make_in_process_communicator(network, rank));
      steps[rank] = record(recorder);
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Overlap>& recorded : steps) {
    BOOST_TEST(recorded.size() == 2u);
    for (const Overlap& step : recorded) {
      BOOST_REQUIRE(step.reductions.size() == 2);
      BOOST_TEST(step.reductions[0].bytes == 12);
      BOOST_TEST(step.reductions[1].bytes == 4000);
      for (size_t i = 0; i < 2; ++i) {
        const ReductionTimes& one = step.reductions[i];
        BOOST_TEST(one.reduction == static_cast<int32_t>(i));
        BOOST_TEST(0 <= one.ready);
        BOOST_TEST(one.ready <= one.start);
        BOOST_TEST(one.start <= one.end);
        BOOST_TEST(one.end <= step.step);
        BOOST_TEST(one.exposed >= 0);
      }
      BOOST_TEST(step.compute >= 0);
      BOOST_TEST(step.exposed + step.compute == step.step, boost::test_tools::tolerance(1e-9));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_step_in_the_middle) {
  std::vector<Overlap> steps(5);
  const double times[] = {3, 9, 1, 4, 5};
  for (size_t i = 0; i < steps.size(); ++i) steps[i].step = times[i];
  BOOST_TEST(median_step(steps).step == 4);
  BOOST_CHECK_THROW(median_step({}), InternalError);
  Recorder recorder(make_local_communicator());
  BOOST_CHECK_THROW(recorder.end(), InternalError);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::test
