// summary: every optimizer for ten steps with the same gradients, as a table and a picture
//
// optim/README.md shows both: ./run optimizers --readme optim/README.md --picture optim/variants.svg renews them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "recipes/report/optimizer_paths.h"
#include "recipes/run/guarded_main.h"
#include "recipes/run/parse_app.h"
#include "runtime/atomic_file.h"
#include "runtime/input_file.h"

namespace {

using namespace kb;

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

int main(int argc, char** argv) {
  std::string readme, picture;
  CLI::App app("Runs every optimizer for ten steps with the same gradients and prints how far it moves its parameters.",
               "./run optimizers");
  app.add_option("--readme", readme, "rewrite the table in this copy of optim/README.md")->type_name("FILE");
  app.add_option("--picture", picture, "draw the distances over the steps into this file")->type_name("FILE.svg");
  return kb::guarded_main("optimizers", [&] {
    if (!parse_app(app, {argv + 1, argv + argc}, "./run optimizers [--readme FILE] [--picture FILE.svg]")) return 0;
    return run(readme, picture);
  });
}
