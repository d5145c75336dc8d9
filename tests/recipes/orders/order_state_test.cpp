// Places in an order of gradients: an order goes on from each of them with the same records.
#include "recipes/orders/order_state.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "tests/recipes/orders/orders.h"
#include "tests/support/says.h"

namespace kb::order_state_test {
namespace {

using test::says, test::order_plan_of, test::records_of, test::backup_policy, test::async_policy;

void check_refused(const OrderPolicy& policy, int64_t pieces, const OrderState& state, const char* expected,
                   const char* got) {
  BOOST_CHECK_EXCEPTION(check_state(state, policy, pieces), Error,
                        says("a place in an order of gradients", expected, got));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(order_state)

BOOST_AUTO_TEST_CASE(an_order_goes_on_from_any_place) {
  for (const OrderPolicy& policy : test::every_policy(3))
    for (const char* times : {"constant", "exponential"})
      for (const int64_t pieces : {0, 60}) {
        const OrderPlan plan = order_plan_of(policy, times, pieces);
        const std::vector<GradientRecord> whole = records_of(plan, 200);
        GradientOrder order(plan);
        for (size_t at = 0; at <= 70 && at <= whole.size(); ++at)
          BOOST_TEST_CONTEXT(test::name_of(plan) << ", " << at) {
            GradientOrder rest(plan, parse_state(state_text(order.state()), "state"));
            BOOST_TEST(rest.rules().started().empty());
            const std::vector<GradientRecord> after(whole.begin() + static_cast<int64_t>(at), whole.end());
            BOOST_CHECK(records_of(rest, std::ssize(after)) == after);
            if (pieces > 0) BOOST_TEST(!rest.next().has_value());
            BOOST_TEST(order.next().has_value() == (at < whole.size()));
          }
      }
}

BOOST_AUTO_TEST_CASE(texts_are_one_line) {
  GradientOrder order(order_plan_of(async_policy(2), "constant"));
  records_of(order, 3);
  BOOST_TEST(state_text(order.state()) ==
             "{\"decided\":3,\"version\":3,\"drawn\":5,\"now_ns\":2000000000,\"returned\":[],"
             "\"workers\":[[true,2,3,4,2000000000],[true,1,2,3,1000000000]]}");
  BOOST_CHECK(parse_state(state_text(order.state()), "state") == order.state());
  BOOST_CHECK_EXCEPTION(parse_state("{\"decided\":3", "place"), Error, says("place: line 1", "expected: JSON"));
  BOOST_CHECK_EXCEPTION(parse_state("{\"decided\":3}", "place"), Error, says("place: line 1", "version"));
  const std::string start = "{\"decided\":0,\"version\":0,\"drawn\":0,\"now_ns\":0,\"returned\":[],\"workers\":";
  BOOST_CHECK_EXCEPTION(parse_state(start + "[[true,1]]}", "place"), Error,
                        says("\"workers.0\"", "expected: [computes, decided, read, piece, begin_ns]"));
}

BOOST_AUTO_TEST_CASE(places_that_no_order_comes_to_are_refused) {
  const OrderPolicy policy = backup_policy(2, 1, LateGradients::finish);
  GradientOrder order(order_plan_of(policy, "exponential"));
  records_of(order, 20);
  const OrderState good = order.state();
  check_state(good, policy, 0);
  const auto refused = [&](auto change, const char* expected, const char* got) {
    OrderState bad = good;
    change(bad);
    check_refused(policy, 0, bad, expected, got);
  };
  refused([](OrderState& state) { state.workers.pop_back(); }, "expected: 3 workers", "got:      2");
  refused([](OrderState& state) { ++state.decided; }, "expected: 20 gradients, the sum over workers", "got:      21");
  refused([](OrderState& state) { ++state.drawn; }, "pieces applied, by the version", "got:");
  refused([](OrderState& state) { state.drawn = -1; }, "numbers from 0 on", "-1");
  refused([](OrderState& state) { state.version = INT64_MAX; }, "no more versions than they make",
          "9223372036854775807");
  refused([](OrderState& state) { state.workers[1].decided = -3; }, "decided of worker 1 in [0, ", "got:      -3");
  refused([](OrderState& state) { state.workers[2].begin_ns = state.now_ns + 1; }, "begin_ns of worker 2", "got:");
  refused([](OrderState& state) { state.workers[0].read = state.version + 1; }, "read of worker 0 in [", "got:");
  refused([](OrderState& state) { state.returned = {2, 2}; }, "each piece that was drawn in one place", "piece 2 of");
  check_refused(policy, 4, good, "pieces of the run", "{\"decided\":20,");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::order_state_test
