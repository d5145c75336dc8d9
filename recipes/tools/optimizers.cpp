// summary: every optimizer for ten steps with the same gradients, as a table and a picture
//
// optim/README.md shows both. ./run optimizers --readme optim/README.md --picture optim/variants.svg updates them.
#include <fmt/format.h>

#include "recipes/charts/optimizer_paths.h"
#include "recipes/config/command_line.h"
#include "recipes/run/tool.h"
#include "runtime/atomic_file.h"
#include "runtime/input_file.h"

namespace kb {
namespace {

int run(const std::string& readme, const std::string& picture) {
  const std::vector<OptimizerPath> paths = optimizer_paths();
  const std::string table = paths_table(paths);
  fmt::print("distances |w_t - w_0| after 1, 2, 5 and 10 steps\n\n{}", table);
  if (!readme.empty()) {
    write_file_atomically(readme, with_paths_table(read_file(readme), table));
    fmt::print("\ntable: {}\n", readme);
  }
  if (!picture.empty()) {
    write_file_atomically(picture, paths_picture(paths));
    fmt::print("\npicture: {}\n", picture);
  }
  return 0;
}

}  // namespace

int optimizers_command(const ToolArguments& arguments) {
  std::string readme, picture;
  CommandLine line(
      "Runs every optimizer for ten steps with the same gradients and prints how far it moves its parameters.",
      "./run optimizers [--readme FILE] [--picture FILE.svg]");
  line.text({"--readme", "FILE", "rewrite the table in this copy of optim/README.md"}, readme)
      .text({"--picture", "FILE.svg", "draw the distances over the steps into this file"}, picture);
  if (!line.parse(arguments.words)) return 0;
  return run(readme, picture);
}

}  // namespace kb
