#include "recipes/answer/branches_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "recipes/config/run_plan.h"
#include "recipes/papers/table.h"
#include "recipes/run/branch.h"
#include "recipes/run/command_words.h"
#include "recipes/run/run_folder.h"
#include "runtime/input_file.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char *kBranches = "--branches", *kPlacesExpectation = "RUN@500st,2000st or RUN@2ep";
constexpr const char* kUsage = "./run study";
constexpr int64_t kLeastBranchSteps = 8;  // least steps of a branch: fewer do not tell where its loss goes

JsonValue manifest_of_run(const fs::path& run) {
  const fs::path file = run / kManifest;
  if (!is_there(file))
    throw Error(
        fmt::format("{}: expected the folder of a run, got {}, which has no {}", kBranches, run.string(), kManifest));
  return read_json(file, fmt::format("{}: ", kBranches));
}

Recipe recipe_of_run(const JsonValue& manifest, const fs::path& run) {
  const auto name = manifest.get<std::string>("recipe");
  if (is_listed(name)) return find_recipe(name);
  throw Error(
      fmt::format("{}: {} is a run of {}: expected one of a recipe that ./run list names\n  hint:     the trainings of "
                  "a study are processes of this program, which knows these alone",
                  kBranches, run.string(), name));
}

// Returns the words of a branch without its growth: the state and the flags of the run, an evaluation at the end alone.
std::vector<std::string> words_at(const BranchesPlan& plan, int64_t checkpoint, int64_t last) {
  return {"--branch",     fmt::format("{}@{}st", plan.run.string(), checkpoint),
          "--stop-at",    fmt::format("{}st", last),
          "--eval-every", "0",
          "--save-every", "0",
          "--keep",       "1",
          "--threads",    "0"};
}

// Returns the growths of the run before the place, one by `factor` at the place, and later ones that decide what is
// before them.
std::vector<Growth> growths_at(const BranchesPlan& plan, const BranchPlace& place, int64_t factor) {
  const std::vector<Growth>& all = plan.config.batch.growths;
  const auto later = std::find_if(plan.plan.grown.begin(), plan.plan.grown.end(),
                                  [&](const MinibatchPhase& phase) { return phase.begin_step > place.step; });
  const auto before = later - plan.plan.grown.begin();
  std::vector<Growth> growths(all.begin(), all.begin() + before);
  growths.push_back({{static_cast<double>(place.step), Period::Unit::steps}, factor, plan.rule});
  // Later ones come after the branch, but the pieces of a sample and the schedule before them follow from them.
  for (size_t i = static_cast<size_t>(before); i < all.size(); ++i) {
    if (all[i].longer == 1 && !all[i].restarts) continue;
    const auto samples = static_cast<double>(plan.plan.samples_in(plan.plan.grown[i].begin_step));
    growths.push_back(all[i]);
    growths.back().at = {samples / 1000, Period::Unit::kilosamples};
  }
  return growths;
}

Trial trial_at(const BranchesPlan& plan, const BranchPlace& place, int64_t factor) {
  std::vector<std::string> words = words_at(plan, place.checkpoint, place.step + place.steps_of(factor));
  if (plan.config.batch.per_worker > 0)
    words.insert(words.end(), {"--per-worker", fmt::to_string(plan.config.batch.per_worker)});
  if (factor == 1 && plan.has_noise) words.emplace_back("--noise-scale");
  if (factor > 1) words.insert(words.end(), {"--minibatch-schedule", growths_text(growths_at(plan, place, factor))});
  if (factor > 1 && plan.config.length.steps > 0) {
    // A length in steps stands for fewer samples or more where the minibatch changes. The schedule ends after as many.
    const int64_t rest = plan.plan.samples_in(plan.plan.steps) - place.samples, minibatch = factor * place.minibatch;
    words.insert(words.end(), {"--steps", fmt::to_string(place.step + (rest + minibatch - 1) / minibatch)});
  }
  return {branch_name(place, factor), std::move(words)};
}

// Throws UsageError unless the factors, ascending from 1 on, divide the greatest: then all branches of a window can end
// after the same samples.
void check_factors(const std::vector<int64_t>& factors) {
  const bool is_usable =
      factors.size() > 1 && factors[1] > 1 &&
      std::all_of(factors.begin(), factors.end(), [&](int64_t k) { return factors.back() % k == 0; });
  if (!is_usable)
    refuse_value("--factors", "whole numbers above 1 that divide the greatest, such as 2:16:x2 or 2,6,12",
                 fmt::format("{}", fmt::join(factors.begin() + 1, factors.end(), ",")));
}

int64_t window_samples(const Period& window, const RunPlan& plan, int64_t step, int64_t minibatch) {
  switch (window.unit) {
    case Period::Unit::steps:
      return std::llround(window.count) * minibatch;
    case Period::Unit::kilosamples:
      return std::llround(1000 * window.count);
    case Period::Unit::epochs:
      return std::llround(window.count *
                          static_cast<double>(plan.phase(plan.phase_of(step)).steps_per_epoch * minibatch));
    case Period::Unit::geometric:
      break;
  }
  throw InternalError("a window has no length");
}

// Returns the newest checkpoint at or before the step.
int64_t checkpoint_before(const BranchesPlan& plan, int64_t step, const std::string& when) {
  const std::vector<int64_t> kept = kept_steps(plan.run);  // the greatest first
  const auto at = std::find_if(kept.begin(), kept.end(), [&](int64_t each) { return each <= step; });
  if (at != kept.end()) return *at;
  throw Error(fmt::format(
      "{}: {}: expected a checkpoint at or before {} = {} steps, got {}\n  hint:     a run that keeps them: ./run {} "
      "--config {} --save-every {}st --keep 100 --out DIR",
      kBranches, plan.run.string(), when, step,
      kept.empty() ? "none" : fmt::format("those of {} steps", fmt::join(kept, ", ")), plan.recipe.name,
      shell_quoted(plan.run.string()), step));
}

void check_place(const BranchesPlan& plan, const BranchPlace& place, const std::string& when) {
  const RunPlan& run = plan.plan;
  const int64_t last = place.step + place.steps_of(1), most = plan.factors.back();
  if (place.steps_of(most) < kLeastBranchSteps)
    throw UsageError(
        fmt::format("--window: expected {} steps or more of the largest minibatch, {} x {}, got {}\n"
                    "  hint:     --window {}st, or smaller --factors",
                    kLeastBranchSteps, most, place.minibatch, place.steps_of(most), kLeastBranchSteps * most));
  if (last > run.steps)
    throw Error(fmt::format(
        "{}: {}: expected a place at least {} steps, the window, before the end of the run after {} steps, got {} = {} "
        "steps\n  hint:     an earlier place, or a shorter --window",
        kBranches, plan.run.string(), place.steps_of(1), run.steps, when, place.step));
  const auto grows = std::find_if(run.grown.begin(), run.grown.end(), [&](const MinibatchPhase& phase) {
    return phase.begin_step >= place.step && phase.begin_step < last;
  });
  if (grows != run.grown.end())
    throw Error(fmt::format(
        "{}: {}: expected a window in which the run's minibatch stays as it is, got steps {} to {}, and it grows to {} "
        "at step {}\n  hint:     a place behind step {}, or a shorter --window",
        kBranches, plan.run.string(), place.step, last, grows->minibatch, grows->begin_step, grows->begin_step));
}

BranchPlace place_at(const BranchesPlan& plan, const Period& when, const Period& window) {
  const RunPlan& run = plan.plan;
  BranchPlace place;
  place.step = run.steps_in(when);
  place.samples = run.samples_in(place.step);
  place.minibatch = run.minibatch_at(place.step);
  const int64_t unit = place.minibatch * plan.factors.back();
  place.window = (window_samples(window, run, place.step, place.minibatch) + unit - 1) / unit * unit;
  check_place(plan, place, when.text());
  place.checkpoint = checkpoint_before(plan, place.step, when.text());
  return place;
}

// Tries the flags of the branches with k > 1, as the trainings themselves will.
void check_branches(const BranchesPlan& plan) {
  for (const BranchPlace& place : plan.places)
    for (size_t i = 1; i < plan.factors.size(); ++i) {
      const Trial trial = trial_at(plan, place, plan.factors[i]);
      try {
        make_plan(parse_with_origin(plan.recipe, kUsage, trial.words).value(), plan.plan.samples);
      } catch (const Error& error) {
        throw Error(fmt::format("{}: the branch of k = {} at step {} of {} is not possible: {}", kBranches,
                                plan.factors[i], place.step, plan.run.string(), error.what()));
      }
    }
}

std::vector<std::string> notes_of(const BranchesPlan& plan, const BranchesRequest& request) {
  std::vector<std::string> notes;
  for (const BranchPlace& place : plan.places) {
    if (place.checkpoint < place.step)
      notes.push_back(
          fmt::format("place {}st: its branches begin at the checkpoint of {} steps, and take the run's {} "
                      "steps from there first",
                      place.step, place.checkpoint, place.step - place.checkpoint));
    const double begin = plan.plan.epochs(place.step), end = plan.plan.epochs(place.step + place.steps_of(1));
    if (end > std::floor(begin) + 1)
      notes.push_back(
          fmt::format("place {}st: its window holds the end of an epoch, where up to {} samples that fill "
                      "no minibatch are left out: from there on the branches' samples are not quite the "
                      "same",
                      place.step, plan.factors.back() * place.minibatch - 1));
  }
  if (request.per_worker)
    notes.push_back(
        fmt::format("--per-worker {}: sums over workers are rounded otherwise than in the run, and batch "
                    "norm, if there is any, has other statistics",
                    *request.per_worker));
  if (!plan.has_noise)
    notes.push_back(
        fmt::format("no gradient noise scale: the minibatch of {} is one worker's; --per-worker {} gives "
                    "it several",
                    plan.config.batch.minibatch, std::max<int64_t>(1, plan.config.batch.minibatch / 4)));
  return notes;
}

}  // namespace

void read_places(const std::string& flag, const std::string& text, BranchesRequest& request) {
  const size_t at = text.rfind('@');
  if (at == std::string::npos || at == 0) refuse_value(flag, kPlacesExpectation, text);
  request.run = text.substr(0, at);
  request.places.clear();
  for (const std::string& word : comma_separated(text.substr(at + 1))) {
    const std::optional<Period> place = find_duration(word);
    if (!place) refuse_value(flag, kPlacesExpectation, text);
    request.places.push_back(*place);
  }
}

std::string branch_name(const BranchPlace& place, int64_t factor) {
  return fmt::format("{}st-x{}", place.step, factor);
}

BranchesPlan plan_branches(const BranchesRequest& request) {
  BranchesPlan plan;
  plan.run = fs::absolute(request.run).lexically_normal();
  const JsonValue manifest = manifest_of_run(plan.run);
  plan.recipe = recipe_of_run(manifest, plan.run);
  plan.factors = request.factors;
  plan.factors.insert(plan.factors.begin(), 1);
  check_factors(plan.factors);
  plan.rule = request.rule;
  plan.config = parse_with_origin(plan.recipe, kUsage, words_at(plan, 1, 1)).value();
  plan.config.length.stop_at = {};
  if (request.per_worker) plan.config.batch.per_worker = *request.per_worker;
  plan.plan = make_plan(plan.config, manifest.at("data").get<int64_t>("train"));
  plan.has_noise = plan.config.batch.per_worker < plan.config.batch.minibatch;
  std::set<int64_t> steps;
  for (const Period& when : request.places)
    if (const BranchPlace place = place_at(plan, when, request.window); steps.insert(place.step).second)
      plan.places.push_back(place);
  std::sort(plan.places.begin(), plan.places.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  check_branches(plan);
  plan.notes = notes_of(plan, request);
  return plan;
}

std::vector<Trial> branch_trials(const BranchesPlan& plan) {
  std::vector<Trial> trials;
  for (const BranchPlace& place : plan.places)
    for (const int64_t factor : plan.factors) trials.push_back(trial_at(plan, place, factor));
  return trials;
}

}  // namespace kb
