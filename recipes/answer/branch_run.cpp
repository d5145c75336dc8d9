#include "recipes/answer/branch_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "recipes/run/run_folder.h"
#include "runtime/flat_json.h"
#include "runtime/input_file.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

// Takes the loss of a step in the window, at its place among them: a line that is written twice counts once.
void take_loss(const FlatJson& line, int64_t begin, BranchRun& run, int64_t& found) {
  const double step = line.number("step") - static_cast<double>(begin);
  if (!(step >= 0 && step < static_cast<double>(run.losses.size()))) return;
  if (step == 0) run.rate = line.number("lr");
  run.losses[static_cast<size_t>(step)] = line.number("loss");
  found = std::max(found, static_cast<int64_t>(step) + 1);
}

void take_evaluation_after(const FlatJson& line, int64_t end, BranchRun& run) {
  if (line.number("step") != static_cast<double>(end)) return;
  run.part = line.text("part");
  run.held_out = line.number("loss");
  if (!line.find("noise_scale")) return;
  NoiseScale noise{.samples = line.number("noise_scale"), .low = line.number("noise_scale_low")};
  if (const double high = line.number("noise_scale_high"); std::isfinite(high)) noise.high = high;
  run.noise = noise;
}

}  // namespace

BranchRun read_branch(const std::filesystem::path& folder, const BranchPlace& place, int64_t factor) {
  const JsonValue manifest = read_json(folder / kManifest);
  const int64_t steps = place.steps_of(factor), end = place.step + steps;
  BranchRun run{factor, factor * place.minibatch};
  run.losses.assign(static_cast<size_t>(steps), std::numeric_limits<double>::quiet_NaN());
  run.diverged = manifest.at("result").get<bool>("diverged", false);
  run.origin = manifest.at("branch").get<std::string>("state_sha256");
  int64_t found = 0;
  for_each_flat_json(read_file(folder / kMetrics), [&](const FlatJson& line) {
    if (line.text("kind") == "step") take_loss(line, place.step, run, found);
    if (line.text("kind") == "eval") take_evaluation_after(line, end, run);
  });
  if (found < steps && !run.diverged)
    throw Error(
        fmt::format("{}: expected the steps {} to {} in {}, got {} of them\n  hint:     remove the folder, and "
                    "the same command trains it again",
                    folder.string(), place.step, end - 1, kMetrics, found));
  if (!std::all_of(run.losses.begin(), run.losses.end(), [](double loss) { return std::isfinite(loss); }))
    run.diverged = true;
  return run;
}

}  // namespace kb
