// Tests the ranges of a sweep and the points in them: values against closed forms, the first terms of Halton's
// sequence, and refusals.
#include "recipes/trials/search_space.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

#include "recipes/config/values.h"
#include "tests/support/says.h"

namespace kb::search_space_test {
namespace {

double number_at(const std::string& range, double u, double centre = 1) {
  return std::stod(value_at(parse_search(range), u, centre));
}

using Minibatches = std::vector<int64_t>;

}  // namespace

BOOST_AUTO_TEST_SUITE(search_space)

BOOST_AUTO_TEST_CASE(ranges_are_read_and_printed) {
  for (const char* text : {"lr=0.0001:10:log", "momentum=0.9:0.999:revlog", "weight-decay=0:0.001:linear",
                           "lr=x0.125:8", "label-smoothing=0,0.01,0.1", "optimizer=momentum,nesterov"}) {
    BOOST_TEST(parse_search(text).text() == text);
    BOOST_TEST((parse_search(parse_search(text).text()) == parse_search(text)), text);
  }
  BOOST_TEST(parse_search("--lr=1e-4:10:log").flag == "lr");
  BOOST_TEST((parse_search("weight-decay=0:1e-3").scale == Scale::linear));
  BOOST_TEST((parse_search("lr=x0.5:2").scale == Scale::log));
  BOOST_TEST(parse_search("lr=x0.5:2").is_relative);
}

BOOST_AUTO_TEST_CASE(what_is_no_range_is_refused) {
  for (const char* wrong : {"", "lr", "lr=", "=1:2", "lr=1", "lr=1:2:3:4", "lr=a:b", "lr=1:", "lr=nan:1", "lr=1:inf"})
    BOOST_CHECK_EXCEPTION(parse_search(wrong), UsageError,
                          test::says("--search: expected a flag and its range", std::string("'") + wrong + "'"));
  const auto refused = [](const char* text, const char* part) {
    BOOST_CHECK_EXCEPTION(parse_search(text), UsageError, test::says(part, text));
  };
  refused("lr=2:1", "low end is below its high end");
  refused("lr=1:1", "low end is below its high end");
  refused("weight-decay=-1:1", "numbers >= 0");
  refused("lr=0:1:log", "above 0 for the scale log");
  refused("lr=x0:1", "above 0 for the scale log");
  refused("momentum=0.9:1:revlog", "below 1 for the scale revlog");
  refused("lr=x0.5:2:linear", "the scale log for a relative range");
  BOOST_CHECK_EXCEPTION(parse_search("lr=1:2:lgo"), UsageError, test::says("did you mean 'log'?"));
}

BOOST_AUTO_TEST_CASE(values_lie_on_their_scales) {
  BOOST_TEST(number_at("lr=1e-4:10:log", 0) == 1e-4);
  BOOST_TEST(number_at("lr=1e-4:10:log", 1) == 10);
  BOOST_TEST(number_at("lr=1e-4:10:log", 0.5) == 0.03162);  // the root of 1e-3, to four digits
  BOOST_TEST(number_at("weight-decay=0:1e-3", 0.25) == 2.5e-4);
  BOOST_TEST(number_at("momentum=0.9:0.999:revlog", 0) == 0.9);
  BOOST_TEST(number_at("momentum=0.9:0.999:revlog", 0.5) == 0.99);  // 1 - m is 0.1, 0.01, 0.001
  BOOST_TEST(number_at("momentum=0.9:0.999:revlog", 1) == 0.999);
  BOOST_TEST(number_at("lr=x0.125:8", 0.5, 0.05) == 0.05);
  BOOST_TEST(number_at("lr=x0.125:8", 0, 0.05) == 0.00625);
  BOOST_TEST(number_at("lr=x0.125:8", 1, 0.05) == 0.4);
  const SearchRange list = parse_search("label-smoothing=0,0.01,0.1");
  for (const auto& [u, word] : {std::pair{0.0, "0"}, {0.33, "0"}, {0.34, "0.01"}, {0.67, "0.1"}, {1.0, "0.1"}})
    BOOST_TEST(value_at(list, u, 1) == word);
}

BOOST_AUTO_TEST_CASE(scales_go_on_beyond_their_ends_as_far_as_there_are_values) {
  BOOST_TEST(number_at("lr=0.01:0.1:log", 2) == 1);
  BOOST_TEST(number_at("lr=0.01:0.1:log", -1) == 0.001);
  BOOST_TEST(number_at("momentum=0.9:0.99:revlog", 2) == 0.999);
  BOOST_TEST(number_at("momentum=0.9:0.99:revlog", -1) == 0);
  BOOST_TEST(value_at(parse_search("momentum=0.9:0.99:revlog"), -1.01, 1) == "");
  BOOST_TEST(value_at(parse_search("weight-decay=0:1e-3"), -0.01, 1) == "");
  BOOST_TEST(value_at(parse_search("optimizer=sgd,momentum"), 1.1, 1) == "");
}

BOOST_AUTO_TEST_CASE(grids_are_read) {
  BOOST_TEST(parse_grid("minibatch=8:4096:x2") == (Minibatches{8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}));
  BOOST_TEST(parse_grid("minibatch=3:100:x4") == (Minibatches{3, 12, 48}));
  BOOST_TEST(parse_grid("minibatch=32,8,16") == (Minibatches{8, 16, 32}));
  BOOST_TEST(parse_grid("minibatch=7") == Minibatches{7});
  for (const char* wrong : {"", "8:64:x2", "minibatch=", "minibatch=8:64", "minibatch=8:64:2", "minibatch=0:64:x2",
                            "minibatch=a", "lr=1,2", "minibatch=1.5"})
    BOOST_CHECK_EXCEPTION(parse_grid(wrong), UsageError, test::says("--grid: expected minibatch=8:4096:x2 or"));
  BOOST_CHECK_EXCEPTION(parse_grid("minibatch=8:64:x1"), UsageError, test::says("a whole factor x2 or more"));
  BOOST_CHECK_EXCEPTION(parse_grid("minibatch=64:8:x2"), UsageError, test::says("at most the last one"));
  BOOST_CHECK_EXCEPTION(parse_grid("minibatch=8,8"), UsageError, test::says("every minibatch once"));
}

// The terms are the radical inverses of 1, 2, ... in base 2 (van der Corput 1935) and in base 3, here by hand.
BOOST_AUTO_TEST_CASE(haltons_sequence) {
  const double two[] = {1. / 2, 1. / 4, 3. / 4, 1. / 8, 5. / 8, 3. / 8, 7. / 8, 1. / 16};
  const double three[] = {1. / 3, 2. / 3, 1. / 9, 4. / 9, 7. / 9, 2. / 9, 5. / 9, 8. / 9};
  for (int64_t i = 0; i < 8; ++i) {
    const std::vector<double> point = halton_point(i, 2, 0);
    BOOST_REQUIRE(point.size() == 2u);
    BOOST_TEST(point[0] == two[i], boost::test_tools::tolerance(1e-15));
    BOOST_TEST(point[1] == three[i], boost::test_tools::tolerance(1e-15));
    BOOST_TEST(halton_point(i, 1, 0)[0] == point[0]);
  }
  BOOST_CHECK_EXCEPTION(halton_point(0, 17, 0), Error, test::says("expected at most 16 flags, got 17"));
}

BOOST_AUTO_TEST_CASE(a_seed_moves_all_points_alike) {
  const auto distance = [](double from, double to) { return to - from - std::floor(to - from); };
  const double shift = distance(halton_point(0, 1, 0)[0], halton_point(0, 1, 7)[0]);
  BOOST_TEST(shift > 0);
  for (int64_t i = 1; i < 20; ++i) {
    const double u = halton_point(i, 1, 7)[0];
    BOOST_TEST((u >= 0 && u < 1));
    BOOST_TEST(distance(halton_point(i, 1, 0)[0], u) == shift, boost::test_tools::tolerance(1e-12));
  }
  BOOST_TEST(halton_point(3, 2, 7) == halton_point(3, 2, 7));
  BOOST_TEST(halton_point(3, 2, 7)[0] != halton_point(3, 2, 8)[0]);
}

BOOST_AUTO_TEST_CASE(even_points_begin_in_the_middle) {
  const auto line = even_points(5, 1);
  const double expected[] = {0.5, 0.25, 0.75, 0, 1};
  for (size_t i = 0; i < 5; ++i) BOOST_TEST(line.at(i).at(0) == expected[i]);
  BOOST_TEST(even_points(1, 1).at(0).at(0) == 0.5);
  const auto square = even_points(9, 2);
  BOOST_TEST(square.size() == 9u);
  BOOST_TEST(square[0] == (std::vector<double>{0.5, 0.5}));
  BOOST_TEST(std::set(square.begin(), square.end()).size() == 9u);
  BOOST_CHECK_EXCEPTION(even_points(12, 2), UsageError, test::says("--trials: expected", "2 flags: 9, got 12"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::search_space_test
