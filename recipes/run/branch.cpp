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

// The number in a name that list_checkpoints gave.
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
  return parse_json(read_file(path), flag + ": " + path.string());
}

// The words of "arguments"; of a file without them, those that its "flags" stand for.
std::vector<std::string> recorded_words(const JsonValue& manifest) {
  if (manifest.has("arguments")) return manifest.at("arguments").list<std::string>();
  std::vector<std::string> words;
  for (const auto& [name, value] : manifest.at("flags").members()) {
    const std::string text = scalar_text(value);
    if (text.empty() || text == "false") continue;
    words.push_back("--" + name);
    if (text != "true") words.push_back(text);
  }
  return words;
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

std::string kept_text(const std::vector<fs::path>& files, const fs::path& folder, int64_t steps_per_epoch) {
  std::vector<std::string> kept;
  for (const fs::path& file : files) {
    const int64_t step = checkpoint_step(file);
    kept.push_back(
        fmt::format("{}st ({:.4g}ep)", step, static_cast<double>(step) / static_cast<double>(steps_per_epoch)));
  }
  if (is_there(folder / kBestCheckpoint)) kept.emplace_back(kBestWord);
  return kept.empty() ? "no checkpoint" : fmt::format("{}", fmt::join(kept, ", "));
}

fs::path checkpoint_of(const fs::path& run, const std::string& when, int64_t steps_per_epoch) {
  const fs::path folder = checkpoints_of(run);
  const std::vector<fs::path> files = list_checkpoints(folder);
  const auto refuse = [&](const std::string& what) {
    throw Error(fmt::format("{}: {} has no checkpoint {}\n  kept: {}\n  hint: --keep N keeps the newest N of a run",
                            kBranchFlag, run.string(), what, kept_text(files, folder, steps_per_epoch)));
  };
  if (when == kBestWord) {
    if (!is_there(folder / kBestCheckpoint)) refuse("of a best state");
    return folder / kBestCheckpoint;
  }
  if (when == kLastWord) {
    if (files.empty()) refuse("at all");
    return files.front();
  }
  const std::optional<Duration> duration = find_duration(when);
  if (!duration) refuse_value(kBranchFlag, "RUN@20ep, RUN@500st, RUN@best or RUN@last", run.string() + "@" + when);
  const int64_t step = duration->steps(steps_per_epoch);
  const auto at =
      std::find_if(files.begin(), files.end(), [&](const fs::path& f) { return checkpoint_step(f) == step; });
  if (at == files.end()) refuse(fmt::format("after {} = {} steps", when, step));
  return *at;
}

}  // namespace

std::optional<RunConfig> parse_with_origin(const Recipe& recipe, const std::string& usage,
                                           const std::vector<std::string>& arguments) {
  std::optional<RunConfig> given = parse_flags(recipe, usage, arguments);
  if (!given || (given->config.empty() && given->branch.empty())) return given;
  if (!given->config.empty() && !given->branch.empty())
    throw UsageError("--config: the flags of a branch are those of the run that --branch names; leave one of them out");
  RunConfig base;
  if (!given->config.empty()) {
    base = origin_flags(recipe, "--config", given->config);
  } else {
    if (!given->init.empty()) throw UsageError("--init: --branch begins with the weights of its run already");
    base = origin_flags(recipe, kBranchFlag, branch_words(given->branch).run);
    base.stop_at = {};
    base.init.clear();
    base.init_partial = false;
  }
  return parse_flags(recipe, usage, arguments, {}, &base);
}

BranchPoint open_branch(const std::string& branch) {
  const auto [run, when] = branch_words(branch);
  const JsonValue manifest = manifest_at(kBranchFlag, run);
  const auto steps_per_epoch = manifest.get<int64_t>("steps_per_epoch");
  const bool has_grown = manifest.has("minibatch_phases");
  if (has_grown && when.ends_with("ep"))
    throw Error(fmt::format("{}: the minibatch of {} grows: expected steps such as RUN@500st, got {}", kBranchFlag,
                            run.string(), when));
  if (steps_per_epoch < 1)
    throw Error(fmt::format("{}: expected steps_per_epoch > 0 in the manifest of {}, got {}", kBranchFlag, run.string(),
                            steps_per_epoch));
  return {run, read_checkpoint(checkpoint_of(run, when, steps_per_epoch)), steps_per_epoch, has_grown};
}

}  // namespace kb
