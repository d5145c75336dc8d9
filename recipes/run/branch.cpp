#include "recipes/run/branch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "recipes/config/flags.h"
#include "recipes/run/recorded_flags.h"
#include "recipes/run/run_folder.h"
#include "runtime/input_file.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char *kBranchFlag = "--branch", *kBestWord = "best", *kLastWord = "last";

// Returns the step in a file name from list_checkpoints().
int64_t checkpoint_step(const fs::path& file) {
  const std::string name = file.stem().string();
  return std::stoll(name.substr(name.find('-') + 1));
}

struct BranchWords {
  fs::path run;
  std::string when;
};

BranchWords branch_words(const std::string& text) {
  const size_t at = text.rfind('@');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    refuse_value(kBranchFlag, "RUN@20ep, RUN@500st, RUN@best or RUN@last", text);
  return {text.substr(0, at), text.substr(at + 1)};
}

JsonValue manifest_at(const std::string& flag, const fs::path& given) {
  const fs::path path = fs::is_directory(given) ? given / kManifest : given;
  if (!is_there(path)) throw Error(fmt::format("{}: there is no {}", flag, path.string()));
  return read_json(path, flag + ": ");
}

RunConfig origin_flags(const Recipe& recipe, const std::string& flag, const fs::path& given) {
  const JsonValue manifest = manifest_at(flag, given);
  if (const std::string name = manifest.get<std::string>("recipe"); name != recipe.name)
    throw Error(
        fmt::format("{}: expected a manifest of {}, got one of {}: {}", flag, recipe.name, name, given.string()));
  try {
    return recorded_config(recipe, recorded_words(manifest));
  } catch (const UsageError& error) {
    throw Error(fmt::format("{}: flags in {} are not taken: {}", flag, given.string(), error.what()));
  }
}

std::string kept_text(const std::vector<fs::path>& files, const fs::path& folder, const RunPlan& plan) {
  std::vector<std::string> kept;
  for (const fs::path& file : files) {
    const int64_t step = checkpoint_step(file);
    kept.push_back(fmt::format("{}st ({:.4g}ep)", step, plan.epochs(step)));
  }
  if (is_there(folder / kBestCheckpoint)) kept.emplace_back(kBestWord);
  return kept.empty() ? "no checkpoint" : fmt::format("{}", fmt::join(kept, ", "));
}

fs::path checkpoint_of(const fs::path& run, const std::string& when, const RunPlan& plan) {
  const fs::path folder = checkpoints_of(run);
  const std::vector<fs::path> files = list_checkpoints(folder);
  const auto refuse = [&](const std::string& what) {
    throw Error(fmt::format("{}: {} has no checkpoint {}\n  kept: {}\n  hint: --keep N keeps the newest N of a run",
                            kBranchFlag, run.string(), what, kept_text(files, folder, plan)));
  };
  if (when == kBestWord) {
    if (!is_there(folder / kBestCheckpoint)) refuse("of a best state");
    return folder / kBestCheckpoint;
  }
  if (when == kLastWord) {
    if (files.empty()) refuse("at all");
    return files.front();
  }
  const std::optional<Period> duration = find_duration(when);
  if (!duration) refuse_value(kBranchFlag, "RUN@20ep, RUN@500st, RUN@best or RUN@last", run.string() + "@" + when);
  const int64_t step = plan.steps_in(*duration);
  const auto at =
      std::find_if(files.begin(), files.end(), [&](const fs::path& f) { return checkpoint_step(f) == step; });
  if (at == files.end()) refuse(fmt::format("after {} = {} steps", when, step));
  return *at;
}

// Throws UsageError if the branch uses AdaScale with other minibatches than the run, or only one of them uses AdaScale:
// AdaScale's state counts steps of the base minibatch, and holds averages over steps of one minibatch.
void check_gains_of_branch(const RunConfig& run, const RunConfig& branch) {
  const auto text = [](const RunConfig& config) {
    if (!reference_rate(config.learning).has_gains()) return std::string("another --scaling");
    return fmt::format("--scaling adascale --base-minibatch {} --minibatch {}", config.learning.base_minibatch,
                       config.batch.minibatch);
  };
  if (text(run) == text(branch)) return;
  throw UsageError(
      fmt::format("--branch: AdaScale goes on with the minibatch and the base minibatch it began with\n"
                  "  expected: {}, as the run has\n  got:      {}",
                  text(run), text(branch)));
}

}  // namespace

std::optional<RunConfig> parse_with_origin(const Recipe& recipe, const std::string& usage,
                                           const std::vector<std::string>& arguments) {
  std::optional<RunConfig> given = parse_flags(recipe, usage, arguments);
  if (!given || (given->resume.config.empty() && given->resume.branch.empty())) return given;
  if (!given->resume.config.empty() && !given->resume.branch.empty())
    throw UsageError("--config: the flags of a branch are those of the run that --branch names; leave one of them out");
  RunConfig base;
  if (!given->resume.config.empty()) {
    base = origin_flags(recipe, "--config", given->resume.config);
  } else {
    if (!given->resume.init.empty()) throw UsageError("--init: --branch begins with the weights of its run already");
    base = origin_flags(recipe, kBranchFlag, branch_words(given->resume.branch).run);
    base.length.stop_at = {};
    base.length.target = {};
    base.resume.init.clear();
    base.resume.init_partial = false;
    base.resume.init_scope.clear();
  }
  std::optional<RunConfig> config = parse_flags(recipe, usage, arguments, {}, &base);
  if (!given->resume.branch.empty()) check_gains_of_branch(base, *config);
  if (!given->resume.branch.empty() && config->judging.validation > base.judging.validation)
    throw UsageError(
        fmt::format("--validation: the state that --branch names was trained on samples that would be held out\n  "
                    "expected: at most {}, as its run has\n  got:      {}",
                    base.judging.validation, config->judging.validation));
  return config;
}

std::vector<int64_t> kept_steps(const fs::path& run) {
  std::vector<int64_t> steps;
  for (const fs::path& file : list_checkpoints(checkpoints_of(run))) steps.push_back(checkpoint_step(file));
  return steps;
}

namespace {

// Returns the steps and epochs of the plan in a manifest. Throws Error for a number below 1.
RunPlan recorded_plan(const JsonValue& manifest, const fs::path& run) {
  const auto count = [&](const JsonValue& of, const char* key, int64_t least = 1) {
    const auto number = least > 0 ? of.get<int64_t>(key) : of.get<int64_t>(key, 0);
    if (number < least)
      throw Error(fmt::format("{}: expected {} >= {} in the manifest of {}, got {}", kBranchFlag, key, least,
                              run.string(), number));
    return number;
  };
  RunPlan plan;
  plan.steps_per_epoch = count(manifest, "steps_per_epoch");
  if (!manifest.has("minibatch_phases")) return plan;
  for (const JsonValue& phase : manifest.at("minibatch_phases").items())
    plan.grown.push_back({count(phase, "begin_step"), count(phase, "begin_epoch", 0), count(phase, "minibatch"),
                          count(phase, "steps_per_epoch"), count(phase, "begin_sample", 0),
                          count(phase, "rest_steps", 0)});
  return plan;
}

}  // namespace

BranchPoint open_branch(const std::string& branch) {
  const auto [run, when] = branch_words(branch);
  RunPlan plan = recorded_plan(manifest_at(kBranchFlag, run), run);
  Checkpoint checkpoint = read_checkpoint(checkpoint_of(run, when, plan));
  return {run, std::move(checkpoint), std::move(plan)};
}

std::optional<BranchPoint> recorded_branch(const std::string& manifest) {
  const JsonValue own = parse_json(manifest, kManifest);
  if (!own.has("branch")) return std::nullopt;
  const JsonValue from = own.at("branch");
  const fs::path run = from.get<std::string>("run");
  const fs::path file = checkpoints_of(run) / from.get<std::string>("checkpoint");
  if (!is_there(file))
    throw Error(
        fmt::format("--resume: the branch was stopped before its first checkpoint, and the one that it begins "
                    "with is not there any more: {}\n  hint: begin it again from another one: --branch RUN@WHEN "
                    "--out DIR",
                    file.string()));
  BranchPoint point{run, read_checkpoint(file), recorded_plan(manifest_at(kBranchFlag, run), run)};
  const auto expected = from.get<std::string>("state_sha256"), got = point.checkpoint.fact("state_sha256");
  if (got != expected)
    throw Error(
        fmt::format("--resume: the branch was stopped before its first checkpoint, and the one that it begins "
                    "with holds another state: {}\n  expected: {}\n  got:      {}",
                    file.string(), expected, got));
  return point;
}

}  // namespace kb
