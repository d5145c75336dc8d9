// Trains networks of signals (N, C, L) on the CPU backend, whose library computes their convolutions as those of images
// of height 1.
#include <boost/test/unit_test.hpp>

#include "tests/runtime/session_check.h"

namespace kb::test::signals_test {

BOOST_AUTO_TEST_SUITE(signals)

BOOST_AUTO_TEST_CASE(a_training_step_equals_its_interpretation) {
  CheckOptions f32, f64;
  f32.optimizer = f64.optimizer = plain_sgd();
  f64.precision = Precision::f64;
  BOOST_TEST(check_graphs({{"f32", small_signal_net(4), f32}, {"f64", small_signal_net(3, DType::f64), f64}}) > 3000);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::test::signals_test
