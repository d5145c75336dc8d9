#include "optim/scaling_regions.h"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <optional>

#include "tests/optim/synthetic_study.h"

namespace kb::scaling_regions_test {

BOOST_AUTO_TEST_SUITE(scaling_regions_test)

BOOST_AUTO_TEST_CASE(regions_end_where_their_definition_says) {
  const auto near = boost::test_tools::tolerance(1e-5);
  for (const double k : {1.0, 2.0, 0.7}) {
    const ScalingLaw law{300, 64, k};
    const ScalingFit fit = fit_critical_batch(pooled_steps(test::exact_study(law, 11)).means).answer;
    const double perfect = fit.perfect_end.value, gain = fit.gain_end.value;
    BOOST_TEST(law.steps_at(perfect) == 1.2 * law.s_min * law.b_crit / perfect, near);
    BOOST_TEST(law.steps_at(gain) == 1.25 * law.s_min, near);
    if (k == 1) {
      BOOST_TEST(perfect == 0.2 * 64, near);
      BOOST_TEST(gain == 4.0 * 64, near);
      BOOST_TEST(law.steps_at(2 * gain) / law.steps_at(gain) == 0.9, near);  // a doubling saves a tenth
    }
    BOOST_TEST((region_at(fit, perfect) == ScalingRegion::perfect));
    BOOST_TEST((region_at(fit, 1.01 * perfect) == ScalingRegion::diminishing));
    BOOST_TEST((region_at(fit, 0.99 * gain) == ScalingRegion::diminishing));
    BOOST_TEST((region_at(fit, 1.01 * gain) == ScalingRegion::no_gain));
  }
}

BOOST_AUTO_TEST_CASE(open_ends_tell_one_side_of_their_bound_alone) {
  constexpr double kOpen = std::numeric_limits<double>::infinity();
  ScalingFit fit;
  const auto is = [&](double minibatch, std::optional<ScalingRegion> region) {
    BOOST_TEST((region_at(fit, minibatch) == region), minibatch);
  };
  fit.perfect_end = {100, {0, kOpen}}, fit.gain_end = {200, {0, kOpen}};  // nothing is known
  for (const double minibatch : {1.0, 150.0, 1e6}) is(minibatch, std::nullopt);
  fit.perfect_end = {100, {50, kOpen}}, fit.gain_end = {2000, {1000, kOpen}};
  is(50, ScalingRegion::perfect), is(51, std::nullopt), is(900, std::nullopt), is(3000, std::nullopt);
  fit.perfect_end = {100, {50, 150}};
  is(100, ScalingRegion::perfect), is(101, ScalingRegion::diminishing), is(1001, std::nullopt);
  fit.perfect_end = {1, {0, 5}}, fit.gain_end = {10, {0, 20}};
  is(4, std::nullopt), is(19, std::nullopt), is(21, ScalingRegion::no_gain);
}

BOOST_AUTO_TEST_CASE(each_has_its_words) {
  BOOST_TEST(text_of(ScalingRegion::perfect) == std::string("perfect scaling"));
  BOOST_TEST(text_of(ScalingRegion::diminishing) == std::string("diminishing returns"));
  BOOST_TEST(text_of(ScalingRegion::no_gain) == std::string("no gain"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::scaling_regions_test
