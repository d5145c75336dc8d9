// summary: two run folders side by side: what differs, the results, and from which step on
#include <fmt/format.h>

#include "recipes/compare/run_diff.h"
#include "recipes/config/command_line.h"
#include "recipes/run/tool.h"

namespace kb {

int diff_command(const ToolArguments& arguments) {
  std::string first, second;
  CommandLine line("Two run folders side by side: what differs, the results, and from which step on.",
                   "./run diff RUN RUN");
  line.text({"RUN", "", "a run folder"}, first).required().text({"RUN", "", "another one"}, second).required();
  if (!line.parse(arguments.words)) return 0;
  fmt::print("{}", run_diff_text(first, second));
  return 0;
}

}  // namespace kb
