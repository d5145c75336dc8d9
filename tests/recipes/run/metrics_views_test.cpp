#include "recipes/run/metrics_views.h"

#include <boost/test/unit_test.hpp>

#include "recipes/report/curves.h"
#include "tests/recipes/small_run.h"
#include "tests/support/support.h"

namespace kb::metrics_views_test {
namespace {

namespace fs = std::filesystem;

struct Fixture {
  test::TemporaryDirectory directory;
  const fs::path out = directory / "run";
  std::string said;
  std::function<void(const std::string&)> say = [this](const std::string& line) { said += line + "\n"; };
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(metrics_views, Fixture)

BOOST_AUTO_TEST_CASE(a_run_leaves_its_curves_and_its_table) {
  BOOST_REQUIRE(test::run(out / "", {"--epochs", "2"}) == 0);
  const std::string metrics = test::read_file(out / "metrics.jsonl"), table = test::read_file(out / "metrics.csv");
  BOOST_TEST(table == metrics_csv(metrics));
  BOOST_TEST(std::count(table.begin(), table.end(), '\n') == 1 + 20 + 2);
  BOOST_TEST(test::read_file(out / "curves.svg") == curves_picture("run", read_curves(metrics)));
}

BOOST_AUTO_TEST_CASE(a_run_that_goes_on_draws_all_of_it) {
  BOOST_REQUIRE(test::run(out, {"--stop-at", "7st", "--save-every", "7"}) == 0);
  const std::string first = test::read_file(out / "metrics.csv");
  BOOST_REQUIRE(test::run({"--resume", out.string(), "--stop-at", "20st"}) == 0);
  const std::string table = test::read_file(out / "metrics.csv");
  BOOST_TEST(table == metrics_csv(test::read_file(out / "metrics.jsonl")));
  const auto lines = [](const std::string& text, const std::string& of) {
    size_t count = 0;
    for (size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++count;
    return count;
  };
  BOOST_TEST(lines(first, "\nstep,") == 7u);
  BOOST_TEST(lines(table, "\nstep,") == 20u);
}

// The picture is not drawn for an evaluation that follows soon after the start or after the last picture.
BOOST_AUTO_TEST_CASE(a_refresh_waits) {
  const RunFolder folder("small", out.string());
  test::write_file(out / "metrics.jsonl", "");
  MetricsViews views(folder, "run", say);
  views.refresh();
  BOOST_TEST(!fs::exists(out / "curves.svg"));
  views.make();
  BOOST_TEST(fs::exists(out / "curves.svg"));
  fs::remove(out / "curves.svg");
  views.refresh();
  BOOST_TEST(!fs::exists(out / "curves.svg"));
  BOOST_TEST(said.empty(), said);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written_is_told_once) {
  const RunFolder folder("small", out.string());
  test::write_file(out / "metrics.jsonl", "");
  fs::create_directories(out / "curves.svg");
  MetricsViews views(folder, "run", say);
  views.make();
  views.make();
  BOOST_TEST(said.starts_with("NOTE: "), said);
  BOOST_TEST(test::contains(said, "curves.svg"));
  BOOST_TEST(std::count(said.begin(), said.end(), '\n') == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::metrics_views_test
