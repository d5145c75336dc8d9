// summary: a short run of a recipe against the curve that the repository keeps of it
//
// ./run check RECIPE runs the recipe in a temporary folder and compares the run with recipes/curves/RECIPE.json: to the
// bit on the kind of machine on which the curve was made, within some standard deviations over seeds on any other.
// ./run check RECIPE --refresh -- FLAGS keeps a new curve of a run with these flags. The exit code is 1 if the run
// differs from the curve.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "recipes/compare/kept_curve.h"
#include "recipes/config/command_line.h"
#include "recipes/config/values.h"
#include "recipes/papers/table.h"
#include "recipes/run/tool.h"
#include "recipes/run/trainer.h"
#include "runtime/atomic_file.h"
#include "runtime/file_error.h"
#include "runtime/input_file.h"
#include "runtime/temporary_folder.h"

namespace kb {
namespace {

constexpr double kDeviations = 6;  // default of --deviations, in standard deviations over seeds

struct CheckCall {
  std::string recipe, curves = KB_CURVES;
  double deviations = kDeviations;
  bool refresh = false;
  int64_t seeds = 5;
  std::vector<std::string> flags;
};

RunCurve run_of(const Recipe& recipe, std::vector<std::string> words, int64_t seed) {
  const TemporaryFolder folder("kilobatch-check-");
  const std::filesystem::path out = folder.path() / "run";
  words.insert(words.end(), {"--device", "cpu", "--quiet", "--seed", fmt::to_string(seed), "--out", out.string()});
  if (const int code = train_recipe(recipe, words); code != 0)
    throw Error(fmt::format("the run of {} ended with code {}", recipe.name, code));
  return run_curve(out);
}

int refresh(const Recipe& recipe, const CheckCall& call, const std::string& file) {
  std::vector<RunCurve> runs;
  for (int64_t seed = 1; seed <= call.seeds; ++seed) {
    runs.push_back(run_of(recipe, call.flags, seed));
    fmt::print("seed {}: error {:.4f}, loss {:.4f}\n", seed, runs.back().points.back().goal,
               runs.back().points.back().loss);
  }
  make_folder(call.curves, "--curves: ");
  write_file_atomically(file, to_json(kept_curve(recipe.name, call.flags, runs)));
  fmt::print("kept: {}\n", file);
  return 0;
}

int check(const CheckCall& call) {
  const Recipe recipe = find_recipe(call.recipe);
  const std::string file = (std::filesystem::path(call.curves) / (recipe.name + ".json")).string();
  if (call.refresh) return refresh(recipe, call, file);
  if (!call.flags.empty()) throw UsageError("flags of the run are the kept curve's; they go with --refresh");
  if (!std::filesystem::exists(file))
    throw Error(fmt::format("no curve of {} is kept: {} is not there\n  hint:     ./run check {} --refresh -- FLAGS",
                            recipe.name, file, recipe.name));
  const KeptCurve kept = parse_kept_curve(read_file(file), file);
  if (kept.recipe != recipe.name)
    throw Error(fmt::format("{}: expected a curve of {}, got one of {}", file, recipe.name, kept.recipe));
  const CurveVerdict verdict = compare_with(kept, run_of(recipe, kept.arguments, 1), call.deviations);
  fmt::print("{} {}: {}\n{}", recipe.name, fmt::join(kept.arguments, " "), verdict.holds ? "as kept" : "NOT AS KEPT",
             verdict.text);
  return verdict.holds ? 0 : 1;
}

}  // namespace

int check_command(const ToolArguments& arguments) {
  CheckCall call;
  CommandLine line("Compares a short run of a recipe with the curve that the repository keeps of it.",
                   "./run check RECIPE [--refresh -- FLAGS]");
  line.text({"RECIPE", "", "the recipe"}, call.recipe)
      .required()
      .texts({"FLAGS", "", "with --refresh: flags of the run, behind --"}, call.flags)
      .text({"--curves", "DIR", "folder of the kept curves"}, call.curves)
      .positive({"--deviations", "X",
                 "on another kind of machine: the widest distance from the mean over seeds, standard deviations"},
                call.deviations, 1e6)
      .flag("--refresh", call.refresh, "keep a new curve, of a run with the flags behind --")
      .whole({"--seeds", "N", "with --refresh: seeds over which the deviation is taken"}, call.seeds, 2, 1000);
  if (!line.parse(arguments.words)) return 0;
  return check(call);
}

}  // namespace kb
