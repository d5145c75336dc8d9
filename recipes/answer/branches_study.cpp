#include "recipes/answer/branches_study.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "recipes/run/interrupt.h"
#include "recipes/trials/run_study.h"
#include "recipes/trials/search_space.h"

namespace kb {
namespace {

constexpr CountsFlag kFactors{"--factors", "factors of the minibatch, 2:16:x2 or 2,4,8", "factor"};

Period parse_window(const std::string& text) {
  const std::optional<Period> window = find_period(text);
  if (!window) refuse_value("--window", "steps of the run, 1,000 samples or epochs such as 512st, 50ks, 0.5ep", text);
  return *window;
}

double parse_tolerance(const std::string& text) {
  constexpr const char* kExpectation = "a number >= 0 in units of the loss";
  return parse_real("--tolerance", text, kExpectation, 1e9);
}

BranchesRequest request_of(const BranchesFlags& flags) {
  BranchesRequest request;
  read_places(kBranchesFlag, flags.branches, request);
  if (!flags.window.empty()) request.window = parse_window(flags.window);
  if (!flags.factors.empty()) request.factors = parse_counts(kFactors, flags.factors);
  if (!flags.rule.empty()) request.rule = flags.rule;
  request.per_worker = flags.per_worker;
  return request;
}

std::optional<StudyRuns> train_branches(const BranchesPlan& plan, const std::filesystem::path& folder, int64_t jobs) {
  Console console(false);
  for (const std::string& note : plan.notes) console.line("NOTE: " + note);
  const std::vector<Trial> trials = branch_trials(plan);
  RunConfig config = plan.config;
  config.looking.jobs = jobs;
  return run_study({"branches", folder.string(), trials, resources_of(config, trials.size()),
                    trial_program(plan.recipe.name), "the same command again"},
                   console);
}

}  // namespace

void BranchesFlags::declare(CommandLine& line) {
  line.text({kBranchesFlag, "RUN@PLACES",
             "the local critical minibatch of a run at places such as 500st,2000st or 2ep: branches of it are trained "
             "with k times the minibatch over the same samples (Merrill et al. 2025)"},
            branches)
      .text({"--window", "W", "how long a branch is: steps of the run (512st, where it is not given), 50ks, 0.5ep"},
            window)
      .text({"--factors", "K", "the k of branches besides 1, 2:16:x2 or 2,4,8; 2:8:x2 where it is not given"}, factors)
      .choice(
          {"--rate-rule", "RULE",
           "how k moves the learning rate: sqrt (Adam and its kind), linear (SGD), none; sqrt where it is not given"},
          rule, {"sqrt", "linear", "none"})
      .text({"--tolerance", "EPS", "by how much the loss of a larger minibatch may exceed that of a smaller; 0.01"},
            tolerance)
      .text({"--loss", "HOW",
             "loss of a branch: ema:ALPHA over its steps, mean:SHARE over the window's end, held-out; trains nothing "
             "again; ema:0.5"},
            loss)
      .whole({"--per-worker", "N", "samples of a branch's virtual worker; the run's where it is not given"}, per_worker,
             1)
      .whole({"--jobs", "J", "branches that are trained at once; one a core, or one on a GPU"}, jobs, 1);
}

void BranchesFlags::check_together() const {
  if (is_given()) return;
  for (const auto& [flag, is_there] :
       {std::pair{"--window", !window.empty()}, std::pair{"--factors", !factors.empty()},
        std::pair{"--rate-rule", !rule.empty()}, std::pair{"--tolerance", !tolerance.empty()},
        std::pair{"--loss", !loss.empty()}, std::pair{"--per-worker", per_worker.has_value()},
        std::pair{"--jobs", jobs.has_value()}})
    if (is_there) throw UsageError(fmt::format("{}: expected beside {}, got it alone", flag, kBranchesFlag));
}

MeasuredBranches measure_branches(const BranchesFlags& flags, const std::string& out) {
  const LossSmoothing smoothing = flags.loss.empty() ? LossSmoothing{} : parse_smoothing("--loss", flags.loss);
  const double tolerance = flags.tolerance.empty() ? kLocalTolerance : parse_tolerance(flags.tolerance);
  refuse_launcher();
  const BranchesPlan plan = plan_branches(request_of(flags));
  const std::filesystem::path folder = out.empty() ? plan.run / "branches" : std::filesystem::path(out);
  const std::optional<StudyRuns> study = train_branches(plan, folder, flags.jobs.value_or(0));
  if (!study) return {folder, std::nullopt, 128 + Interrupt::number()};
  for (const Trial& trial : branch_trials(plan))
    if (study->failed.contains(trial.name)) return {study->folder, std::nullopt, 1};
  return {study->folder, answer_branches(plan, study->folder, smoothing, tolerance)};
}

}  // namespace kb
