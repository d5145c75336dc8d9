#include "recipes/run/resume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "recipes/config/run_plan.h"
#include "recipes/config/values.h"
#include "recipes/run/branch.h"
#include "recipes/run/command_words.h"
#include "recipes/run/recorded_flags.h"
#include "recipes/run/run_texts.h"
#include "recipes/train/line_diff.h"
#include "recipes/train/load_state.h"
#include "recipes/train/metrics_cut.h"
#include "runtime/file_error.h"
#include "runtime/input_file.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDamagedEnding = ".damaged";
constexpr const char* kVersion = "kilobatch_checkpoint";
// Version 1 had other graphs for the same models: cross-entropy was written with other ops.
constexpr const char* kVersionNow = "2";

// Returns the manifest and its text, parts of which the new manifest keeps.
std::pair<JsonValue, std::string> read_manifest(const RunFolder& folder) {
  const fs::path path = folder.file("manifest.json");
  if (!is_there(path))
    throw Error(fmt::format("--resume: {} holds no run: there is no manifest.json", folder.path().string()));
  std::string text = read_file(path);
  JsonValue manifest = parse_json(text, "--resume: " + path.string());
  return {std::move(manifest), std::move(text)};
}

void check_recipe(const Recipe& recipe, const JsonValue& manifest, const fs::path& folder) {
  const std::string name = manifest.get<std::string>("recipe");
  if (name != recipe.name)
    throw Error(fmt::format("--resume: {} is a run of {}, not of {}\n  hint: ./run {} --resume {}", folder.string(),
                            name, recipe.name, shell_quoted(name), shell_quoted(folder.string())));
}

RunConfig flags_of(const Recipe& recipe, const JsonValue& manifest) {
  try {
    return recorded_config(recipe, manifest.at("arguments").list<std::string>());
  } catch (const UsageError& error) {
    throw Error(fmt::format("--resume: flags in manifest.json are not taken: {}", error.what()));
  }
}

// Returns the flags of the same command given again; shards and --per-worker that it leaves open are the run's.
RunConfig flags_again(const Recipe& recipe, const RunConfig& own, const std::vector<std::string>& arguments,
                      int64_t processes) {
  RunConfig wanted = with_absolute_paths(*parse_with_origin(recipe, recipe.name, arguments));
  wanted.machine.processes = processes;
  wanted.batch.fit = false;  // the run keeps the samples per worker that it chose
  if (wanted.arithmetic.shards == 0) wanted.arithmetic.shards = own.arithmetic.shards;
  if (wanted.batch.per_worker > 0 || wanted.batch.batch_norm != NormGroup{}) return with_plan(std::move(wanted));
  wanted.batch.per_worker = own.batch.per_worker;
  return wanted;
}

RunConfig flags_beside(const Recipe& recipe, const RunConfig& own, const std::vector<std::string>& arguments,
                       int64_t processes) {
  RunConfig wanted = *parse_flags(recipe, recipe.name, arguments, {}, &own);
  wanted.machine.processes = processes;
  if (!wanted.out.folder.empty())
    throw UsageError(fmt::format("--resume goes on in {}; there is no --out beside it", wanted.resume.run));
  return wanted.batch.batch_norm != own.batch.batch_norm ? with_plan(std::move(wanted)) : wanted;
}

void check_flags(const Recipe& recipe, const RunConfig& own, const RunConfig& wanted, const fs::path& folder) {
  const bool again = wanted.resume.run == kResumeAuto;
  const auto before = flag_values(recipe, own), now = flag_values(recipe, wanted);
  std::string differences;
  for (size_t i = 0; i < before.size(); ++i)
    if (before[i].effect == FlagEffect::computed && before[i].value != now[i].value)
      differences += fmt::format("\n- --{} {}   the run has\n+ --{} {}   {}", before[i].name, before[i].value,
                                 now[i].name, now[i].value, again ? "this command has" : "given beside --resume");
  if (differences.empty()) return;
  const std::string weights = shell_quoted((folder / "model.safetensors").string());
  if (again)
    throw Error(
        fmt::format("--resume auto: {} holds another run{}\n  hint: another --out; to begin there with this "
                    "one's weights: --init {}",
                    folder.string(), differences, weights));
  throw Error(
      fmt::format("--resume: {} cannot go on with flags that change what is computed{}\n  hint: leave them "
                  "out, or begin a run of their own from its weights: --init {}",
                  folder.string(), differences, weights));
}

// Returns a hint for the case that the newest checkpoint, files[0], is damaged: it names the newest whole one, if any.
std::string whole_checkpoint_hint(const std::vector<fs::path>& files) {
  for (size_t i = 1; i < files.size(); ++i) {
    try {
      const Checkpoint whole = read_checkpoint(files[i]);
      return fmt::format("the one before it is whole, of step {}: --checkpoint {}", whole.step,
                         files[i].filename().string());
    } catch (const Error&) {
      continue;  // damaged too
    }
  }
  return "no other checkpoint is whole; the command in manifest.json starts the run again";
}

// Reads the newest checkpoint; returns nothing if there is none. If it is damaged, throws Error with the name of the
// newest whole one, which --checkpoint can ask for.
std::optional<Checkpoint> newest_checkpoint(const RunFolder& folder) {
  const std::vector<fs::path> files = list_checkpoints(folder.checkpoints());
  if (files.empty()) return std::nullopt;
  try {
    return read_checkpoint(files[0]);
  } catch (const Error& error) {
    throw Error(fmt::format("{}\n  hint: {}", error.what(), whole_checkpoint_hint(files)));
  }
}

// Returns the name under which a damaged checkpoint is kept, and which no later checkpoint of its step takes.
fs::path aside_of(const fs::path& damaged) { return damaged.string() + kDamagedEnding; }

// Renames a damaged checkpoint. Returns a line that says so.
std::string set_aside(const fs::path& damaged, const std::string& why) {
  const fs::path kept = aside_of(damaged);
  std::error_code error;
  fs::rename(damaged, kept, error);
  if (error) throw Error(fmt::format("{}: cannot be renamed: {}", damaged.string(), error.message()));
  return fmt::format("NOTE: {}\n  kept as {}", why, kept.filename().string());
}

std::string passed_over_text(const fs::path& damaged, const std::string& why) {
  return fmt::format("NOTE: {}\n  passed over: without --dry-run it is kept as {}", why,
                     aside_of(damaged).filename().string());
}

// Reads the newest checkpoint that is whole. `passed` takes the damaged ones before it, with the reasons. Throws
// FileError for one that the system does not let it read, since that says nothing about its content, unless another
// process of the run has set it aside meanwhile.
std::optional<Checkpoint> first_whole(const std::vector<fs::path>& files,
                                      std::vector<std::pair<fs::path, std::string>>& passed) {
  for (const fs::path& file : files) {
    try {
      return read_checkpoint(file);
    } catch (const FileError&) {
      if (is_there(file)) throw;
    } catch (const Error& error) {
      passed.emplace_back(file, error.what());
    }
  }
  return std::nullopt;
}

// Reads the newest checkpoint that is whole. `notes` takes a line for each damaged one, which is set aside if
// `sets_aside`, and else left. If there are checkpoints and none is whole, throws Error and leaves all.
std::optional<Checkpoint> newest_whole_checkpoint(const RunFolder& folder, bool sets_aside,
                                                  std::vector<std::string>& notes) {
  std::vector<std::pair<fs::path, std::string>> damaged;
  std::optional<Checkpoint> whole = first_whole(list_checkpoints(folder.checkpoints()), damaged);
  if (!whole && !damaged.empty())
    throw Error(
        fmt::format("{}\n  hint: no checkpoint of this run is whole; the command begins it anew in another --out",
                    damaged.front().second));
  for (const auto& [file, why] : damaged)
    notes.push_back(sets_aside ? set_aside(file, why) : passed_over_text(file, why));
  return whole;
}

std::string words(const Recipe& recipe, const RunConfig& config) {
  std::string text;
  for (const auto& [name, value, effect] : flag_values(recipe, config))
    if (effect == FlagEffect::computed) text += fmt::format("--{} {}\n", name, value);
  return text;
}

// Returns the number of steps after which the schedule of a run was over; if that is not known yet, the most there can
// be.
int64_t steps_of_schedule(const JsonValue& manifest) {
  const auto most = manifest.get<int64_t>("steps");
  const bool is_known = manifest.has("ended") && manifest.at("ended").get<std::string>("how") == kFinishedEnding;
  return is_known ? manifest.at("ended").get<int64_t>("step") : most;
}

// Returns why a run with the flags `own` has nothing left to do under the flags `wanted`; empty if it has.
std::string why_ended(const RunFolder& folder, const JsonValue& manifest, const RunConfig& own,
                      const RunConfig& wanted) {
  if (!manifest.has("ended")) return "";  // the process died, perhaps after its last step
  const auto how = manifest.at("ended").get<std::string>("how");
  if (how == kInterruptedEnding) return "";  // perhaps in the evaluation after its last step
  const bool has_target = wanted.length.target && own.length.target == wanted.length.target;
  if (has_target && how == kTargetEnding)
    return fmt::format("it reached its target {}, and nothing is left to do\nhint: another --target goes on with it",
                       own.length.target->text());
  const bool same_length = own.length.epochs == wanted.length.epochs && own.length.steps == wanted.length.steps;
  if (!same_length || ended_after(folder.file("metrics.jsonl")) != steps_of_schedule(manifest)) return "";
  return "all its steps are done, and nothing is left to do\nhint: more --epochs go on with it where the schedule does "
         "not depend on its length (constant, step)";
}

}  // namespace

fs::path named_checkpoint(const fs::path& folder, const std::string& name) {
  if (is_there(name)) return name;
  if (is_there(folder / name)) return folder / name;
  std::string known;
  std::vector<fs::path> files = list_checkpoints(folder);
  if (is_there(folder / kBestCheckpoint)) files.push_back(folder / kBestCheckpoint);
  for (const fs::path& path : files) known += (known.empty() ? "" : ", ") + path.filename().string();
  throw Error(
      fmt::format("--checkpoint: there is no {}; in {}: {}", name, folder.string(), known.empty() ? "none" : known));
}

ResumedRun open_resumed(const Recipe& recipe, const RunConfig& given, const std::vector<std::string>& arguments,
                        RunFolder::Use use) {
  const bool again = given.resume.run == kResumeAuto;
  RunFolder folder = RunFolder::open(again ? given.out.folder : given.resume.run, use);
  const auto [manifest, text] = read_manifest(folder);
  check_recipe(recipe, manifest, folder.path());
  const RunConfig own = flags_of(recipe, manifest);
  const RunConfig wanted = (again ? flags_again : flags_beside)(recipe, own, arguments, given.machine.processes);
  check_flags(recipe, own, wanted, folder.path());
  const std::string ended = wanted.resume.checkpoint.empty() ? why_ended(folder, manifest, own, wanted) : "";
  const int64_t begins_at = manifest.has("branch") ? manifest.at("branch").get<int64_t>("begins_at") : 0;
  ResumedRun run{std::move(folder), wanted, text, std::nullopt, ended, begins_at};
  if (!ended.empty()) return run;
  if (use == RunFolder::Use::own) run.folder.remove_leftovers();
  if (again)
    run.checkpoint =
        newest_whole_checkpoint(run.folder, use == RunFolder::Use::own && !wanted.looking.dry_run, run.notes);
  else if (wanted.resume.checkpoint.empty())
    run.checkpoint = newest_checkpoint(run.folder);
  else
    run.checkpoint = read_checkpoint(named_checkpoint(run.folder.checkpoints(), wanted.resume.checkpoint));
  if (use == RunFolder::Use::share) run.notes.clear();  // the process that owns the folder tells them
  if (!run.checkpoint) run.branch = recorded_branch(text);
  return run;
}

bool goes_on(const RunConfig& config) {
  if (config.resume.run != kResumeAuto) return !config.resume.run.empty();
  if (config.out.folder.empty())
    throw UsageError("--resume auto: expected the run's folder, which it begins or goes on with: --out DIR");
  if (!config.resume.checkpoint.empty())
    throw UsageError(
        "--resume auto: it goes on from the newest checkpoint; from another one: --resume RUN --checkpoint FILE");
  return is_there(fs::path(config.out.folder) / "manifest.json");
}

std::map<std::string, std::string> checkpoint_facts(const Recipe& recipe, const RunConfig& config,
                                                    const LoadedPrograms& programs, const DataFacts& data) {
  std::map<std::string, std::string> facts = {
      {kVersion, kVersionNow},           {"recipe", recipe.name},
      {"flags", words(recipe, config)},  {"graph_hash", programs.update().compiled().graph_hash},
      {"graph", programs.training_text}, {"data", data.name + " " + data.fingerprint}};
  if (reference_rate(config.learning).has_gains()) facts[kScheduleState] = std::string(AdaScale::kStateDigits, '0');
  return facts;
}

namespace {

std::string flag_of(const std::string& line) { return line.substr(0, line.find(' ')); }

// Renames --lr to --base-lr in flags of an earlier Kilobatch if they have a base minibatch, whose rate --lr was.
void name_base_rate(std::vector<std::string>& lines) {
  bool has_base = false;
  for (const std::string& line : lines) {
    if (flag_of(line) == "--base-lr") return;
    has_base = has_base || (flag_of(line) == "--base-minibatch" && line != "--base-minibatch 0");
  }
  for (std::string& line : lines)
    if (has_base && flag_of(line) == "--lr") line = "--base-lr" + line.substr(flag_of(line).size());
}

// Returns the flags of a checkpoint and of this run that matter. A flag without a value does not, nor does one that the
// checkpoint's Kilobatch did not have and that has its default now.
std::pair<std::string, std::string> comparable_flags(const Recipe& recipe, const std::string& before,
                                                     const std::string& now) {
  std::vector<std::string> old = split_at(before, '\n'), own = split_at(now, '\n');
  name_base_rate(old);
  std::set<std::string> known, usual;
  for (const std::string& line : old) known.insert(flag_of(line));
  for (const std::string& line : split_at(words(recipe, default_config(recipe)), '\n')) usual.insert(line);
  std::erase_if(own, [&](const std::string& line) { return !known.contains(flag_of(line)) && usual.contains(line); });
  for (std::vector<std::string>* lines : {&old, &own})
    std::erase_if(*lines, [](const std::string& line) { return line.ends_with(' '); });
  return {fmt::format("{}\n", fmt::join(old, "\n")), fmt::format("{}\n", fmt::join(own, "\n"))};
}

}  // namespace

bool has_earlier_graph(const Checkpoint& checkpoint) { return checkpoint.fact(kVersion) == "1"; }

void check_belongs(const Recipe& recipe, const Checkpoint& checkpoint,
                   const std::map<std::string, std::string>& facts) {
  std::vector<std::string> keys = {"recipe", "data", "flags"};
  if (!has_earlier_graph(checkpoint)) keys.insert(keys.end(), {kVersion, "graph_hash"});
  for (const std::string& key : keys) {
    std::pair<std::string, std::string> both = {checkpoint.fact(key), facts.at(key)};
    if (key == "flags") both = comparable_flags(recipe, both.first, both.second);
    if (both.first == both.second) continue;
    if (key == "graph_hash") both = {checkpoint.fact("graph"), facts.at("graph")};
    throw Error(fmt::format("{}: this checkpoint is of another run: {} differs (- the checkpoint, + this run)\n{}",
                            checkpoint.path.string(), key == "graph_hash" ? "graph" : key,
                            line_diff(both.first, both.second)));
  }
}

void load_checkpoint(StateStore& store, const Checkpoint& checkpoint) {
  const std::string path = checkpoint.path.string();
  load_state(store, checkpoint.tensors, path + ": this checkpoint holds other tensors (- the checkpoint, + this run)",
             fmt::format("\n  hint: --init {} takes the weights alone", shell_quoted(path)));
}

void check_schedule(const Checkpoint& checkpoint, const RunSchedule& now) {
  const int64_t position = now.position(checkpoint.step);
  if (ScheduleHash(now.scalars()).up_to(position) == checkpoint.fact("schedule_sha256")) return;
  throw Error(
      fmt::format("--resume: the {} steps of {} were taken with other learning rates than '{}' has\n  hint: the length "
                  "of a run is a part of such a schedule; leave --epochs and --steps as they were, or begin a run of "
                  "its own from these weights: --init {}",
                  checkpoint.step, checkpoint.path.string(), now.scalars().rate().description(),
                  shell_quoted(checkpoint.path.string())));
}

std::string lines_before(const std::filesystem::path& metrics_file, int64_t step, bool is_due, int64_t begins_at,
                         Console& console) {
  MetricsCut cut = cut_metrics(metrics_file, step, is_due);
  if (cut.dropped > 0)
    console.line(fmt::format("{}: {} line{} past step {}, which is where it goes on, moved to {}", kMetrics,
                             cut.dropped, cut.dropped == 1 ? "" : "s", step, kCutMetrics));
  if (!cut.damaged.empty())
    console.line(fmt::format("NOTE: {}: what cannot be read or is out of order was left as it is and passed over: {}",
                             kMetrics, line_numbers(cut.damaged)));
  const int64_t next = std::max(cut.last_step + 1, begins_at);
  if (next < step) console.line(fmt::format("NOTE: {} lacks the steps {} to {}", kMetrics, next, step - 1));
  return std::move(cut.past);
}

// The function that is returned frees its text, hundreds of bytes per step, at its first call.
PastLines leaders_lines(World& world, std::string own) {
  if (world.size() > 1) own = world.broadcast(world.leads() ? own : "");
  return [text = std::move(own)](const std::function<void(const FlatJson&)>& take) mutable {
    for_each_flat_json(std::exchange(text, {}), take);
  };
}

std::vector<NamedTensor> saved_model(World& world, const std::filesystem::path& checkpoints, int64_t step) {
  std::vector<std::filesystem::path> files = list_checkpoints(checkpoints);
  files.insert(files.begin(), checkpoints / kBestCheckpoint);
  std::vector<NamedTensor> model;
  for (const std::filesystem::path& file : files) {
    if (!is_there(file) || !model.empty()) continue;
    try {
      const Checkpoint checkpoint = read_checkpoint(file);
      if (checkpoint.step == step) model = model_tensors(checkpoint);
    } catch (const Error&) {
      // A file that cannot be read is passed over: the model may be in another one.
    }
  }
  for (const std::string& found : world.communicator().all_gather(model.empty() ? "" : "found"))
    if (found.empty()) model.clear();
  return model;
}

}  // namespace kb
