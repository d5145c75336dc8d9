#include "recipes/run/metrics_views.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "recipes/train/metrics.h"
#include "tests/support/support.h"

namespace kb::metrics_csv_test {

BOOST_AUTO_TEST_SUITE(metrics_table)

constexpr const char* kTitles =
    "kind,step,epoch,wall_s,loss,lr,error,count,samples_per_s,data_wait_ms,loss_scale,ema_loss,ema_error,train_loss,"
    "train_error\n";

BOOST_AUTO_TEST_CASE(a_row_a_step_and_a_row_an_evaluation) {
  const std::string lines =
      "{\"kind\":\"step\",\"step\":12,\"epoch\":0.25,\"wall_s\":1.5,\"loss\":2.5,\"lr\":0.1,\"samples_per_s\":1000,"
      "\"data_wait_ms\":0.5,\"loss_scale\":65536}\n"
      "{\"kind\":\"layers\",\"step\":12,\"weight\":[1],\"gradient\":[2]}\n"
      "{\"kind\":\"eval\",\"step\":13,\"epoch\":1,\"wall_s\":2,\"loss\":0.5,\"error\":0.0625,\"count\":10000,"
      "\"ema_loss\":0.25,\"ema_error\":0.03125,\"train_loss\":0.75,\"train_error\":0.125}\n"
      "{\"kind\":\"end\",\"steps\":13,\"error\":0.0625,\"loss\":0.5,\"state_sha256\":\"abc\"}\n";
  BOOST_TEST(
      metrics_csv(lines) ==
      fmt::format(
          "{}step,12,0.25,1.5,2.5,0.1,,,1000,0.5,65536,,,,\neval,13,1,2,0.5,,0.0625,10000,,,,0.25,0.03125,0.75,0.125\n",
          kTitles));
}

// Lines of old versions have no wall_s, and their evaluations no step; a loss that is not finite is null.
BOOST_AUTO_TEST_CASE(what_a_line_lacks_is_empty_and_damaged_lines_have_no_row) {
  const std::string lines =
      "{\"kind\":\"step\",\"step\":1,\"epoch\":0.5,\"loss\":null,\"lr\":0.1}\n"
      "\n{\"kind\":\"step\",\"step\":2,\"ep\n[1,2]\n{\"kind\":\"step\",\"step\":\"x\"}\n"
      "{\"kind\":\"eval\",\"epoch\":1,\"loss\":0.5,\"error\":0.5,\"count\":2}\n"
      "{\"kind\":\"step\",\"step\":3,\"epoch\":0.5}";  // torn: no end of line
  BOOST_TEST(metrics_csv(lines) == fmt::format("{}step,1,0.5,,,0.1,,,,,,,,,\neval,,1,,0.5,,0.5,2,,,,,,,\n", kTitles));
  BOOST_TEST(metrics_csv("") == kTitles);
}

// Every number has the same digits in the table as in the file.
BOOST_AUTO_TEST_CASE(the_rows_of_a_metrics_file) {
  test::TemporaryDirectory directory;
  {
    MetricsFile file(directory / "m");
    file.step({0, 0, 0.1f, 1e-7, 1234.5, 0});
  }
  const std::string table = metrics_csv(test::read_file(directory / "m"));
  BOOST_TEST(test::contains(table, ",0.10000000149011612,1e-07,,,1234.5,0,"));
}

BOOST_AUTO_TEST_CASE(figures_of_any_name_have_columns) {
  constexpr std::string_view kLine = R"({"kind":"eval","epoch":1,"loss":0.5,"rms":0.25,"top5":0.75,"count":2})";
  constexpr std::string_view kColumns =
      "kind,step,epoch,wall_s,loss,lr,rms,top5,count,samples_per_s,data_wait_ms,loss_scale,ema_loss,ema_rms,ema_top5,"
      "train_loss,train_rms,train_top5\n";
  const std::string table = metrics_csv(fmt::format("{}\n", kLine), {"rms", "top5"});
  BOOST_TEST(table == fmt::format("{}eval,,1,,0.5,,0.25,0.75,2,,,,,,,,,\n", kColumns));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::metrics_csv_test
