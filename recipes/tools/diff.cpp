// summary: two run folders side by side: what differs, the results, and from which step on
#include <fmt/format.h>

#include "recipes/config/flags.h"
#include "recipes/run/guarded_main.h"
#include "recipes/study/run_diff.h"

namespace {

int diff(const std::vector<std::string>& arguments) {
  constexpr const char* kUsage = "usage: ./run diff RUN RUN    two run folders\n";
  if (!arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h")) {
    fmt::print("{}", kUsage);
    return 0;
  }
  if (arguments.size() != 2)
    throw kb::UsageError(fmt::format("expected two run folders, got {} words\n{}", arguments.size(), kUsage));
  fmt::print("{}", kb::run_diff_text(arguments[0], arguments[1]));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return kb::guarded_main("diff", [&] { return diff({argv + 1, argv + argc}); });
}
