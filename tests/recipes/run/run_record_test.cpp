// Tests the files of a run that goes on, which may be read at any moment.
#include "recipes/run/run_record.h"

#include <boost/test/unit_test.hpp>

#include "runtime/backend.h"
#include "tests/recipes/orders/orders.h"
#include "tests/support/support.h"

namespace kb::run_record_test {
namespace {

struct RecordFixture {
  test::TemporaryDirectory directory;
  const RunFolder folder{"small", (directory / "run").string()};
  const std::unique_ptr<Backend> backend = make_cpu_backend({1, 1, ""});
  const StateStore store{*backend};
  const OrderPlan plan = test::order_plan_of(test::async_policy(3), "exponential");
  const std::vector<GradientRecord> gradients = test::records_of(plan, 12);

  RunRecord record(bool goes_on) const {
    return {folder, goes_on, 0, store, {}, {}, 1, [](const std::string&) {}};
  }
  std::vector<GradientRecord> in_file() const {
    OrderReader reader(folder.file(kOrder));
    std::vector<GradientRecord> all;
    while (const std::optional<GradientRecord> one = reader.next()) all.push_back(*one);
    return all;
  }
  std::vector<GradientRecord> first(size_t count) const { return {gradients.begin(), gradients.begin() + count}; }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(run_record, RecordFixture)

// A run that is killed behind a checkpoint goes on after the gradients that the checkpoint counts.
BOOST_AUTO_TEST_CASE(a_checkpoint_has_its_gradients_in_the_file) {
  RunRecord run = record(false);
  run.order_begins(plan, 0);
  for (const GradientRecord& gradient : first(7)) run.ordered(gradient);
  run.save_checkpoint({.step = 7, .schedule_sha256 = std::string(64, '0')});
  BOOST_CHECK(in_file() == first(7));
  run.finish();
}

// Gradients behind the checkpoint are decided again; a branch, which has no file yet, makes those before it again.
BOOST_AUTO_TEST_CASE(an_order_goes_on_behind_what_was_decided) {
  const auto goes_on = [&](bool resumed, int64_t decided) {
    RunRecord run = record(resumed);
    run.order_begins(plan, decided);
    for (size_t i = static_cast<size_t>(decided); i < 12; ++i) run.ordered(gradients[i]);
  };
  goes_on(false, 5);
  BOOST_CHECK(in_file() == gradients);
  goes_on(true, 8);
  BOOST_CHECK(in_file() == gradients);
}

BOOST_AUTO_TEST_CASE(an_order_of_measured_times_is_not_drawn) {
  OrderPlan measured = plan;
  measured.times.kind = GradientTimes::Kind::clock;
  RunRecord run = record(false);
  BOOST_CHECK_NO_THROW(run.order_begins(measured, 0));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::run_record_test
