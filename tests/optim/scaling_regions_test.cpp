#include "optim/scaling_regions.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "tests/says.h"

namespace kb::scaling_regions_test {
namespace {

// Minibatches 8, 16, 32, ... that took so many steps.
std::vector<MinibatchSteps> doublings_of(const std::vector<double>& steps) {
  std::vector<MinibatchSteps> measured;
  for (size_t i = 0; i < steps.size(); ++i) measured.push_back({int64_t{8} << i, steps[i]});
  return measured;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(scaling_regions_test)

BOOST_AUTO_TEST_CASE(three_regions) {
  // Samples: 1, 1, 1.16, 1.6, 2.72, 5.12, 10.24 of the first.
  const ScalingRegions regions = scaling_regions(doublings_of({1000, 500, 290, 200, 170, 160, 160}), 8, 40);
  BOOST_TEST(regions.perfect_end == 2u);
  BOOST_TEST(regions.slopes.size() == 6u);
  BOOST_TEST(regions.slopes[0] == -1, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(regions.slopes[5] == 0);
  constexpr ScalingRegion kPerfect = ScalingRegion::perfect, kDiminishing = ScalingRegion::diminishing,
                          kNoGain = ScalingRegion::no_gain;
  const std::vector<ScalingRegion> expected = {kPerfect,     kPerfect, kPerfect, kDiminishing,
                                               kDiminishing, kNoGain,  kNoGain};  // 4 x 40 lies behind 128
  BOOST_TEST((regions.regions == expected));
}

BOOST_AUTO_TEST_CASE(a_doubling_from_the_largest_useful_saves_a_tenth) {
  const auto steps = [](double minibatch, double b_crit) { return 1 + b_crit / minibatch; };
  for (const double b_crit : {3.0, 500.0}) {
    const double largest = kUsefulInCritical * b_crit;
    BOOST_TEST(1 - steps(2 * largest, b_crit) / steps(largest, b_crit) == kUsefulSaving,
               boost::test_tools::tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_CASE(one_region_alone) {
  const ScalingRegions perfect = scaling_regions(doublings_of({800, 400, 200, 100}), 8, 1e4);
  BOOST_TEST(perfect.perfect_end == 3u);
  BOOST_TEST((perfect.regions.back() == ScalingRegion::perfect));
  const ScalingRegions flat = scaling_regions(doublings_of({100, 99, 98, 98}), 8, 0.1);
  BOOST_TEST(flat.perfect_end == 0u);
  BOOST_TEST((flat.regions[1] == ScalingRegion::no_gain));
  BOOST_TEST((scaling_regions(doublings_of({100, 99}), 8, {}).regions[1] == ScalingRegion::diminishing));
  const ScalingRegions single = scaling_regions(doublings_of({100}), 8, {});
  BOOST_TEST(single.perfect_end == 0u);
  BOOST_TEST(single.slopes.empty());
}

BOOST_AUTO_TEST_CASE(perfect_scaling_counts_from_the_base) {
  const std::vector<MinibatchSteps> measured = doublings_of({1000, 700, 360, 190});
  BOOST_TEST(scaling_regions(measured, 8, {}).perfect_end == 0u);
  const ScalingRegions regions = scaling_regions(measured, 16, {});
  BOOST_TEST(regions.base == 1u);
  BOOST_TEST(regions.perfect_end == 3u);
  BOOST_CHECK_EXCEPTION(scaling_regions(measured, 9, {}), Error, test::says("base minibatch", "8, 16, 32, 64; got 9"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::scaling_regions_test
