// summary: two run folders side by side: what differs, the results, and from which step on
#include <fmt/format.h>

#include "recipes/compare/run_diff.h"
#include "recipes/config/command_line.h"
#include "recipes/run/guarded_main.h"

namespace kb {
namespace {

int diff(std::vector<std::string> words) {
  std::string first, second;
  CommandLine line("Two run folders side by side: what differs, the results, and from which step on.",
                   "./run diff RUN RUN");
  line.text({"RUN", "", "a run folder"}, first).required().text({"RUN", "", "another one"}, second).required();
  if (!line.parse(std::move(words))) return 0;
  fmt::print("{}", run_diff_text(first, second));
  return 0;
}

}  // namespace

int diff_program(int argc, char** argv) {
  return guarded_main("diff", [&] { return diff({argv + 1, argv + argc}); });
}

}  // namespace kb
