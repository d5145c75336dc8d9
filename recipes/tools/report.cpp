// summary: one page about runs: curves, differing flags, results; report RUN...|STORE
//
// The page is one file of HTML, which needs no network and is readable on a desktop and on a phone.
#include <fmt/format.h>

#include "recipes/compare/report_page.h"
#include "recipes/config/command_line.h"
#include "recipes/run/run_folder.h"
#include "recipes/run/tool.h"
#include "runtime/atomic_file.h"
#include "runtime/standard_streams.h"

namespace kb {
namespace {

void report(const std::vector<std::string>& places, std::filesystem::path out) {
  if (out.empty()) out = places.size() == 1 ? std::filesystem::path(places[0]) / "report.html" : "report.html";
  const ReportedRuns reported = read_runs({places.begin(), places.end()});
  for (const ReportedRun& run : reported.runs)
    if (is_own_file(run.run.folder, out))
      throw Error(fmt::format("--out: {} is a file of the run in {}", out.string(), run.run.folder.string()));
  for (const std::string& line : reported.left_out) print_error("NOTE: " + line);
  const std::string page = report_page(reported);
  write_file_atomically(out, page);
  fmt::print("{}: {} run{}, {:.2f} MB\n", out.string(), reported.runs.size(), reported.runs.size() == 1 ? "" : "s",
             static_cast<double>(page.size()) / 1e6);
}

}  // namespace

int report_command(const ToolArguments& arguments) {
  std::vector<std::string> places;
  std::string out;
  CommandLine line("One HTML page about runs, which needs no network.", "./run report RUN...|STORE [--out FILE.html]");
  line.texts({"RUN", "", "run folders, or folders with run folders below them"}, places)
      .required()
      .text({"--out", "FILE.html", "the page; report.html in the folder where one is given, else here"}, out);
  if (line.parse(arguments.words)) report(places, out);
  return 0;
}

}  // namespace kb
