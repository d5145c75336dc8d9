// order.jsonl: written, read, cut off, damaged and gone on with.
#include "recipes/orders/order_file.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "runtime/file_error.h"
#include "tests/recipes/orders/orders.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::order_file_test {
namespace {

using test::says, test::order_plan_of, test::records_of, test::async_policy, test::stale_policy, test::backup_policy;

// Returns all that a place in an order holds.
std::vector<int64_t> numbers_of(const OrderState& state) {
  std::vector<int64_t> numbers = {state.decided, state.version, state.drawn, state.now_ns};
  numbers.insert(numbers.end(), state.returned.begin(), state.returned.end());
  for (const OrderWorker& worker : state.workers)
    numbers.insert(numbers.end(), {worker.computes, worker.decided, worker.read, worker.piece, worker.begin_ns});
  return numbers;
}

struct OrderFileFixture {
  test::TemporaryDirectory directory;
  std::filesystem::path path = directory / "order.jsonl";

  void write(const OrderPlan& plan, int64_t count) {
    std::filesystem::remove(path);
    OrderWriter writer(path, plan);
    for (const GradientRecord& record : records_of(plan, count)) writer.write(record);
    writer.sync();
  }

  std::vector<GradientRecord> read() {
    OrderReader reader(path);
    std::vector<GradientRecord> records;
    while (const std::optional<GradientRecord> record = reader.next()) records.push_back(*record);
    return records;
  }

  // Replaces the first `from` in a text by `to`, and checks that the reader says so.
  template <class... Parts>
  void check_damaged(const std::string& whole, const std::string& from, const std::string& to, const Parts&... parts) {
    std::string text = whole;
    BOOST_REQUIRE(test::contains(text, from));
    test::write_file(path, text.replace(text.find(from), from.size(), to));
    BOOST_CHECK_EXCEPTION(read(), Error, says("order.jsonl: line ", parts...));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(order_file, OrderFileFixture)

BOOST_AUTO_TEST_CASE(lines_are_compact) {
  write(order_plan_of(backup_policy(2, 1, LateGradients::abandon), "constant", 6), 3);
  BOOST_TEST(test::read_file(path) ==
             "{\"format\":\"kilobatch order\",\"format_version\":1,\"policy\":\"backup\",\"workers\":2,\"backups\":1,"
             "\"late\":\"abandon\",\"times\":\"constant\",\"seed\":1,\"pieces\":6}\n"
             "{\"number\":0,\"worker\":0,\"count\":0,\"read\":0,\"applied_to\":0,\"fate\":\"applied\",\"begin_ns\":0,"
             "\"end_ns\":1000000000,\"piece\":0}\n"
             "{\"number\":1,\"worker\":1,\"count\":0,\"read\":0,\"applied_to\":0,\"fate\":\"applied\",\"begin_ns\":0,"
             "\"end_ns\":1000000000,\"piece\":1}\n"
             "{\"number\":2,\"worker\":2,\"count\":0,\"read\":0,\"applied_to\":null,\"fate\":\"abandoned\","
             "\"begin_ns\":0,\"end_ns\":1000000000,\"piece\":2}\n");
}

BOOST_AUTO_TEST_CASE(orders_are_read_as_they_were_written) {
  for (const OrderPolicy& policy : test::every_policy(4))
    for (const std::string& times : test::every_times()) {
      const OrderPlan plan = order_plan_of(policy, times, 0, uint64_t{1} << 62);
      BOOST_TEST_CONTEXT(test::name_of(plan)) {
        write(plan, 700);  // more than is read at once
        GradientOrder order(plan);
        const std::vector<GradientRecord> records = records_of(order, 700);
        BOOST_CHECK(read() == records);
        OrderReader reader(path);
        while (reader.next()) {
        }
        BOOST_CHECK(reader.plan() == plan);
        BOOST_TEST(numbers_of(reader.state()) == numbers_of(order.state()));
        BOOST_TEST(reader.bytes() == static_cast<int64_t>(std::filesystem::file_size(path)));
      }
    }
}

BOOST_AUTO_TEST_CASE(measured_times_are_no_times_to_draw) {
  OrderPlan plan = order_plan_of(async_policy(3), "constant");
  std::vector<GradientRecord> records = records_of(plan, 5);
  plan.times = {.kind = GradientTimes::Kind::clock};
  {
    OrderWriter writer(path, plan);
    for (const GradientRecord& record : records) writer.write(record);
  }
  BOOST_CHECK(read() == records);
  BOOST_CHECK(OrderReader(path).plan() == plan);
  BOOST_CHECK_THROW(GradientOrder{plan}, InternalError);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_cut_off_is_whole_or_refused) {
  write(order_plan_of(stale_policy(3, 1), "exponential"), 12);
  const std::string text = test::read_file(path);
  for (size_t bytes = 0; bytes <= text.size(); ++bytes) {
    test::write_file(path, text.substr(0, bytes));
    const std::string kept = text.substr(0, bytes);
    const auto lines = std::count(kept.begin(), kept.end(), '\n');
    if (bytes == 0) {
      BOOST_CHECK_EXCEPTION(read(), Error, says("line 1", "expected: the head of an order", "got:      an empty file"));
    } else if (kept.back() == '\n') {
      BOOST_TEST(std::ssize(read()) == lines - 1);
    } else {
      const size_t whole = kept.rfind('\n') + 1;  // 0 where there is none
      BOOST_CHECK_EXCEPTION(
          read(), Error,
          says("order.jsonl: line " + std::to_string(lines + 1) + "\n",
               "expected: a line end: the last line is cut off", "got:      '{",
               "hint:     without this line the file is whole: its first " + std::to_string(whole) + " bytes"));
    }
  }
}

BOOST_AUTO_TEST_CASE(damaged_heads_are_refused) {
  write(order_plan_of(backup_policy(4, 2, LateGradients::finish), "lognormal:0.5"), 1);
  const std::string text = test::read_file(path);
  check_damaged(text, "kilobatch order", "kilobatch disorder", "1, \"format\"", "expected: \"kilobatch order\"");
  check_damaged(text, "_version\":1", "_version\":2", "1, \"format_version\"", "expected: a whole number in [1, 1]",
                "got:      2");
  check_damaged(text, "\"backup\"", "\"backups\"", "1, \"policy\"", "expected: one of async, stale, backup",
                "\"backups\"");
  check_damaged(text, "\"workers\":4", "\"workers\":0", "1, \"workers\"", "in [1, 1048576]", "got:      0");
  check_damaged(text, "\"backups\":2", "\"backups\":2.5", "1, \"backups\"", "a whole number", "got:      2.5");
  check_damaged(text, "\"backups\":2,", "", "1", "expected: an object with \"backups\"");
  check_damaged(text, "\"finish\"", "\"late\"", "1, \"late\"", "expected: one of abandon, finish");
  check_damaged(text, "lognormal:0.5", "lognormal:9", "1, \"times\"", "expected: clock, constant", "\"lognormal:9\"");
  check_damaged(text, "lognormal:0.5", "a/b", "1", "expected: an object with \"means_s\"");
  check_damaged(text, "\"seed\":1", "\"seed\":-1", "1, \"seed\"", "got:      -1");
  check_damaged(text, "\"pieces\":0", "\"pieces\":6", "1, \"pieces\"", "a multiple of the 4 gradients of an update");
  check_damaged(text, "{\"format\"", "[\"format\"", "1", "expected: JSON");
  write(order_plan_of(async_policy(2), "file"), 1);
  check_damaged(test::read_file(path), "[1.0,", "[", "1, \"means_s\"", "2 numbers in [1e-9, 1e6], one for each worker");
}

BOOST_AUTO_TEST_CASE(damaged_lines_are_refused) {
  write(order_plan_of(async_policy(3), "constant"), 6);
  const std::string text = test::read_file(path);
  const auto damaged = [&](const char* from, const char* to, const char* line, const char* expected, const char* got) {
    check_damaged(text, from, to, line, std::string("expected: ") + expected, std::string("got:      ") + got);
  };
  damaged("{\"number\":1", "\"number\":1", "3\n", "a gradient: a JSON object", "'\"number\":1,\"worker\"");
  damaged("\"count\":1,", "", "5\n", "\"count\": a whole number in [0, 2^63)", "no such field");
  damaged("\"read\":2", "\"read\":2.5", "6\n", "\"read\": a whole number", "'2.5'");
  damaged("\"read\":2", "\"read\":-2", "6\n", "\"read\": a whole number", "'-2'");
  damaged("\"read\":2", "\"read\":\"2\"", "6\n", "\"read\": a whole number", "'2'");
  damaged("\"end_ns\":1000000000", "\"end_ns\":9999999999999999999", "2\n", "\"end_ns\": a whole number",
          "'9999999999999999999'");
  damaged("\"applied_to\":2", "\"applied_to\":true", "4\n", "\"applied_to\": a whole number in [0, 2^63) or null",
          "'true'");
  damaged("\"applied\",", "\"apply\",", "2\n", "\"fate\": one of applied, dropped, abandoned", "'apply'");
}

BOOST_AUTO_TEST_CASE(lines_against_the_rules_are_refused) {
  write(order_plan_of(async_policy(3), "constant"), 6);
  const std::string text = test::read_file(path);
  const auto damaged = [&](const char* from, const char* to, const char* line, const char* expected, const char* got) {
    check_damaged(text, from, to, line, std::string("expected: ") + expected, std::string("got:      ") + got);
  };
  damaged("\"worker\":1", "\"worker\":3", "3\n", "\"worker\": a whole number in [0, 3)", "3");
  damaged("\"worker\":1", "\"worker\":2", "3\n", "\"piece\": 2, by the lines before", "1");
  damaged("\"number\":2", "\"number\":3", "4\n", "\"number\": 2, by the lines before", "3");
  damaged("\"count\":1", "\"count\":2", "5\n", "\"count\": 1, by the lines before", "2");
  damaged("\"read\":2", "\"read\":1", "6\n", "\"read\": 2, by the lines before", "1");
  damaged("\"applied_to\":2", "\"applied_to\":null", "4\n", "\"applied_to\": 2, by the lines before", "null");
  damaged("\"applied\",", "\"dropped\",", "2\n", "\"fate\": applied, by the lines before", "dropped");
  damaged("\"begin_ns\":1000000000", "\"begin_ns\":1000000001", "5\n", "\"begin_ns\": 1000000000, by", "1000000001");
  damaged("\"end_ns\":2000000000", "\"end_ns\":999999999", "5\n", "\"end_ns\": at least 1000000000, the end before",
          "999999999");
  damaged("\"piece\":4", "\"piece\":0", "6\n", "\"piece\": 4, by the lines before", "0");
}

BOOST_AUTO_TEST_CASE(gradients_of_workers_that_wait_are_refused) {
  write(order_plan_of(backup_policy(2, 1, LateGradients::abandon), "constant"), 6);
  const std::string text = test::read_file(path);
  check_damaged(text, "\"worker\":1", "\"worker\":0", "3\n", "expected: \"worker\": one that computes a gradient",
                "got:      0");
  const std::string late = "\"fate\":\"abandoned\",\"begin_ns\":0,\"end_ns\":1000000000";
  check_damaged(text, late, late + "0", "4\n", "expected: \"end_ns\": 1000000000, the end of the update");
  write(order_plan_of(backup_policy(1, 2, LateGradients::abandon), "constant"), 3);
  check_damaged(test::read_file(path), "\"worker\":1", "\"worker\":2", "3\n",
                "expected: \"worker\": 1, whose gradient is abandoned");
}

BOOST_AUTO_TEST_CASE(fields_that_are_not_known_are_skipped) {
  write(order_plan_of(async_policy(2), "constant"), 1);
  std::string text = test::read_file(path);
  text.insert(text.size() - 2, ", \"host\": \"node3\"");
  test::write_file(path, text);
  BOOST_TEST(read().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_writer_goes_on_at_any_gradient) {
  const OrderPlan plan = order_plan_of(backup_policy(3, 1, LateGradients::finish), "exponential");
  const std::vector<GradientRecord> records = records_of(plan, 40);
  write(plan, 40);
  const std::string whole = test::read_file(path);
  for (const int64_t at : {0, 1, 17, 40}) {
    test::write_file(path, whole + "{\"number\":40,\"wor");  // a line that a killed run has left
    OrderWriter writer(path, plan, at);
    for (auto i = static_cast<size_t>(at); i < records.size(); ++i) writer.write(records[i]);
    writer.flush();
    BOOST_CHECK(test::read_file(path) == whole);
  }
  BOOST_CHECK_EXCEPTION(OrderWriter(path, plan, 41), Error,
                        says("order.jsonl: it ends", "expected: the 41 gradients", "got:      40"));
  BOOST_CHECK_EXCEPTION(OrderWriter(path, order_plan_of(async_policy(3), "exponential"), 3), Error,
                        says("order.jsonl: line 1", "got:      another plan"));
  BOOST_CHECK_EXCEPTION(OrderWriter(path, plan), FileError, says("cannot write", "order.jsonl: File exists"));
  BOOST_CHECK_EXCEPTION(OrderReader(directory / "absent"), FileError, says("cannot read"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::order_file_test
