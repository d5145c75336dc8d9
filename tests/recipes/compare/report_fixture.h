// Run folders for reports.
#pragma once
#include <fmt/format.h>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include "recipes/charts/heat_map.h"
#include "recipes/charts/run_charts.h"
#include "recipes/compare/report_page.h"
#include "recipes/compare/report_runs.h"
#include "recipes/compare/report_table.h"
#include "recipes/report/curve_points.h"
#include "recipes/sweep/sweep_store.h"
#include "tests/recipes/small_run.h"
#include "tests/support/few_threads.h"
#include "tests/support/matches.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::report_test {

namespace fs = std::filesystem;
using test::count_of;
using test::run;

inline bool page_has(const std::string& page, const std::string& part) { return page.find(part) != std::string::npos; }

// Checks that the page has nothing that a browser would fetch, and no tag that is not closed.
inline void check_self_contained(const std::string& page) {
  const std::string without_names = test::without_matches(page, "xmlns=\"http://www.w3.org/2000/svg\"");
  for (const char* part : {"http:", "https:", "@import", "url(", "src=", "<link", "href="})
    BOOST_TEST(!page_has(without_names, part), part);
  for (const char* tag : {"svg", "table", "tr", "td", "g", "figure", "details", "button", "div", "span", "b", "html"})
    BOOST_TEST(count_of(page, fmt::format("</{}>", tag)) ==
                   count_of(page, fmt::format("<{}>", tag)) + count_of(page, fmt::format("<{} ", tag)),
               tag);
}

inline Curve waves(size_t count) {
  Curve curve;
  for (size_t i = 0; i < count; ++i) {
    const auto x = static_cast<double>(i);
    curve.push_back({x / 100, std::sin(0.37 * x) + 0.001 * x, x + 1});
  }
  return curve;
}

// Writes a folder as a run leaves it.
inline void write_run(const fs::path& folder, const std::string& flags, const std::string& metrics,
                      const std::string& more = "") {
  fs::create_directories(folder);
  test::write_file(folder / "manifest.json",
                   R"({"recipe": "small", "seed": 1, "steps": 200, "steps_per_epoch": 10, "flags": {"minibatch": 10)" +
                       flags + "}" + more + "}\n");
  test::write_file(folder / "metrics.jsonl", metrics);
}

inline std::string step_lines(int64_t count, double loss) {
  std::string lines;
  for (int64_t step = 0; step < count; ++step)
    lines += fmt::format(
        "{{\"kind\":\"step\",\"step\":{},\"epoch\":{},\"loss\":{},\"lr\":0.1,\"samples_per_s\":{},\"data_wait_ms\":{}}}"
        "\n",
        step, 0.1 * static_cast<double>(step), loss / static_cast<double>(step + 1), 1000 + step % 2, 0.25);
  return lines;
}

struct ReportFixture {
  test::TemporaryDirectory directory;
  std::string page() { return report_page(read_runs({directory.path()})); }
};

}  // namespace kb::report_test
