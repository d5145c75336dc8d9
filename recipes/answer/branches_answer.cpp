#include "recipes/answer/branches_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <span>

#include "recipes/config/run_plan.h"
#include "recipes/config/values.h"
#include "recipes/run/branch.h"
#include "recipes/run/command_words.h"
#include "recipes/run/run_folder.h"
#include "recipes/trials/run_reader.h"
#include "runtime/flat_json.h"
#include "runtime/input_file.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

// Takes the loss of a step in the window, at its place among them: a line that is written twice counts once.
void take_loss(const FlatJson& line, int64_t begin, BranchRun& run, std::set<size_t>& found) {
  const double step = line.number("step") - static_cast<double>(begin);
  if (!(step >= 0 && step < static_cast<double>(run.losses.size()))) return;
  if (step == 0) run.rate = line.number("lr");
  const auto place = static_cast<size_t>(step);
  run.losses[place] = line.number("loss");
  found.insert(place);
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

constexpr const char *kEma = "ema:", *kMean = "mean:", *kHeldOutLoss = "held-out";

double mean_of_losses(std::span<const double> losses) {
  return std::reduce(losses.begin(), losses.end()) / static_cast<double>(losses.size());
}

// Returns the mean losses of the last `count` blocks of samples, of which each holds `steps` steps.
std::vector<double> last_blocks(std::span<const double> losses, size_t count, size_t steps) {
  std::vector<double> means;
  for (losses = losses.last(count * steps); !losses.empty(); losses = losses.subspan(steps))
    means.push_back(mean_of_losses(losses.first(steps)));
  return means;
}

double held_out_loss(const BranchRun& run, const BranchPlace& place) {
  if (run.held_out) return *run.held_out;
  throw Error(
      fmt::format("--loss {}: expected an evaluation after the window of {}, got none\n  hint:     --loss {}0.25",
                  kHeldOutLoss, branch_name(place, run.factor), kMean));
}

void smooth_by_ema(SmoothedBranch& branch, const BranchRun& first, double alpha) {
  const AveragedLoss own = moving_average(branch.run.losses, alpha), base = moving_average(first.losses, alpha);
  branch.loss = own.value;
  branch.difference = {own.value - base.value};
  if (!own.error || !base.error) return;
  branch.difference.error = std::hypot(*own.error, *base.error);
  branch.difference.degrees = std::min(own.degrees, base.degrees);
}

// A block is a step of the largest k: then all branches have the same samples in each.
void smooth_by_mean(SmoothedBranch& branch, const PlaceAnswer& answer, double share) {
  const int64_t most = answer.branches.back().run.factor, steps = answer.place.steps_of(most);
  const auto count = static_cast<size_t>(std::max<int64_t>(1, std::llround(share * static_cast<double>(steps))));
  const auto blocks = [&](const BranchRun& run) {
    return last_blocks(run.losses, count, static_cast<size_t>(most / run.factor));
  };
  const std::vector<double> own = blocks(branch.run);
  branch.loss = mean_of_losses(own);
  branch.difference = paired_difference(blocks(answer.branches.front().run), own);
}

// Sets loss and difference of a branch of the place that did not diverge. The first one did not.
void smooth(SmoothedBranch& branch, const PlaceAnswer& answer, const LossSmoothing& smoothing) {
  const BranchRun& first = answer.branches.front().run;
  switch (smoothing.kind) {
    case LossSmoothing::Kind::ema:
      return smooth_by_ema(branch, first, smoothing.number);
    case LossSmoothing::Kind::mean:
      return smooth_by_mean(branch, answer, smoothing.number);
    case LossSmoothing::Kind::held_out:
      branch.loss = held_out_loss(branch.run, answer.place);
      branch.difference = {branch.loss - held_out_loss(first, answer.place)};
  }
}

StudyHead head_of(const BranchesPlan& plan, const LossSmoothing& smoothing, double tolerance) {
  const RunReport run = read_manifest(plan.run);
  StudyHead head;
  head.rows = {{"run", plan.run.string()},
               {"recipe", run.recipe},
               {"minibatch", fmt::to_string(plan.config.batch.minibatch)},
               {"k", fmt::format("{}", fmt::join(plan.factors, " "))},
               {"rate", plan.rule == "none" ? "the run's" : fmt::format("the run's x {}(k)", plan.rule)},
               {"loss", smoothing.text()},
               {"tolerance", fmt::format("{}", tolerance)},
               {"data", run.data},
               {"build", run.build},
               {"device", run.device}};
  head.notes = plan.notes;
  return head;
}

// Reads the run folder of a branch that is done. Throws Error if its metrics lack steps of the window.
BranchRun read_branch(const std::filesystem::path& folder, const BranchPlace& place, int64_t factor) {
  const JsonValue manifest = read_json(folder / kManifest);
  const int64_t steps = place.steps_of(factor), end = place.step + steps;
  BranchRun run{factor, factor * place.minibatch};
  run.losses.assign(static_cast<size_t>(steps), std::numeric_limits<double>::quiet_NaN());
  run.diverged = manifest.at("result").get<bool>("diverged", false);
  run.origin = manifest.at("branch").get<std::string>("state_sha256");
  std::set<size_t> found;
  for_each_flat_json(read_file(folder / kMetrics), [&](const FlatJson& line) {
    if (line.text("kind") == "step") take_loss(line, place.step, run, found);
    if (line.text("kind") == "eval") take_evaluation_after(line, end, run);
  });
  if (std::ssize(found) < steps && !run.diverged)
    throw Error(
        fmt::format("{}: expected the steps {} to {} in {}, got {} of them\n  hint:     remove the folder, and "
                    "the same command trains it again",
                    folder.string(), place.step, end - 1, kMetrics, found.size()));
  if (!std::all_of(run.losses.begin(), run.losses.end(), [](double loss) { return std::isfinite(loss); }))
    run.diverged = true;
  return run;
}

PlaceAnswer answer_in(const BranchesPlan& plan, const BranchPlace& place, const std::filesystem::path& folder,
                      const LossSmoothing& smoothing, double tolerance) {
  const std::string origin =
      open_branch(fmt::format("{}@{}st", plan.run.string(), place.checkpoint)).checkpoint.fact("state_sha256");
  std::vector<BranchRun> runs;
  for (const int64_t factor : plan.factors) {
    const std::filesystem::path branch = folder / branch_name(place, factor);
    runs.push_back(read_branch(branch, place, factor));
    if (runs.back().origin != origin)
      throw Error(
          fmt::format("{}: expected a branch of the state after {} steps of {} as it is now, {}, got one of {}\n"
                      "  hint:     remove the folder, and the same command trains it again",
                      branch.string(), place.checkpoint, plan.run.string(), origin, runs.back().origin));
  }
  return answer_place(place, std::move(runs), smoothing, tolerance);
}

// Returns the least number of steps in which a plan has so many samples.
int64_t steps_for(const RunPlan& plan, int64_t samples) {
  int64_t enough = 1;
  while (plan.samples_in(enough) < samples) enough *= 2;
  for (int64_t before = enough / 2; enough - before > 1;) {
    const int64_t middle = before + (enough - before) / 2;
    (plan.samples_in(middle) < samples ? before : enough) = middle;
  }
  return enough;
}

void suggest_warmup(BranchesAnswer& answer, const BranchesPlan& plan) {
  std::vector<LocalMinibatch> local;
  for (const PlaceAnswer& one : answer.places)
    local.push_back({one.place.samples, (one.critical ? one.critical->factor : 1) * one.place.minibatch});
  for (const WarmupGrowth& growth : minibatch_warmup(local, plan.config.batch.minibatch))
    answer.warmup.push_back(
        {{static_cast<double>(growth.samples) / 1000, Period::Unit::kilosamples}, growth.factor, plan.rule});
  if (answer.warmup.empty()) return;
  RunConfig grown = plan.config;
  grown.batch.growths = answer.warmup;
  const RunPlan now = make_plan(grown, plan.plan.samples);
  const bool is_in_steps = plan.config.length.steps > 0;
  const int64_t steps = is_in_steps ? steps_for(now, plan.plan.samples_in(plan.plan.steps)) : now.steps;
  answer.steps_saved = 1 - static_cast<double>(steps) / static_cast<double>(plan.plan.steps);
  answer.command =
      fmt::format("{} --config {} --minibatch-schedule {}{}", start_words(plan.recipe), shell_quoted(plan.run.string()),
                  growths_text(answer.warmup), is_in_steps ? fmt::format(" --steps {}", steps) : "");
}

}  // namespace

std::string LossSmoothing::text() const {
  if (kind == Kind::held_out) return kHeldOutLoss;
  return fmt::format("{}{}", kind == Kind::ema ? kEma : kMean, number);
}

LossSmoothing parse_smoothing(const std::string& flag, const std::string& text) {
  const auto refuse = [&] {
    refuse_value(flag, "ema:ALPHA, mean:SHARE (both in (0, 1]), or held-out, such as ema:0.5 or mean:0.25", text);
  };
  if (text == kHeldOutLoss) return {LossSmoothing::Kind::held_out, 0};
  const bool is_ema = text.starts_with(kEma);
  if (!is_ema && !text.starts_with(kMean)) refuse();
  const std::string number = text.substr(text.find(':') + 1);
  double value = 0;
  try {
    value = parse_finite(flag, number, "");
  } catch (const UsageError&) {
    refuse();
  }
  if (!(value > 0 && value <= 1)) refuse();
  return {is_ema ? LossSmoothing::Kind::ema : LossSmoothing::Kind::mean, value};
}

std::optional<int64_t> PlaceAnswer::low() const {
  if (!critical || critical->factor == 1) return std::nullopt;
  return critical->factor * place.minibatch;
}

std::optional<int64_t> PlaceAnswer::high() const {
  if (!critical || !critical->above) return std::nullopt;
  return *critical->above * place.minibatch;
}

std::string PlaceAnswer::text(int64_t unit) const {
  if (low() && high()) return fmt::format("{} to {}", unit * *low(), unit * *high());
  if (low()) return fmt::format("at least {}", unit * *low());
  return high() ? fmt::format("below {}", unit * *high()) : "-";
}

PlaceAnswer answer_place(const BranchPlace& place, std::vector<BranchRun> runs, const LossSmoothing& smoothing,
                         double tolerance) {
  PlaceAnswer answer{place, {}, {}};
  for (BranchRun& run : runs) answer.branches.push_back({std::move(run)});
  const bool has_base = !answer.branches.front().run.diverged;
  std::vector<BranchLoss> losses;
  for (SmoothedBranch& branch : answer.branches) {
    if (branch.run.diverged || !has_base)
      branch.loss = branch.difference.value = std::numeric_limits<double>::infinity();
    else
      smooth(branch, answer, smoothing);
    losses.push_back({branch.run.factor, branch.loss});
    branch.holds = loses_nothing(losses, losses.size() - 1, tolerance);
  }
  if (has_base) answer.critical = local_critical(losses, tolerance);
  return answer;
}

BranchesAnswer answer_branches(const BranchesPlan& plan, const std::filesystem::path& folder,
                               const LossSmoothing& smoothing, double tolerance) {
  BranchesAnswer answer{
      head_of(plan, smoothing, tolerance), plan.run.string(), plan.config.batch.minibatch, smoothing, tolerance, {}};
  answer.context = read_manifest(plan.run).context;
  for (const BranchPlace& place : plan.places)
    answer.places.push_back(answer_in(plan, place, folder, smoothing, tolerance));
  suggest_warmup(answer, plan);
  return answer;
}

}  // namespace kb
