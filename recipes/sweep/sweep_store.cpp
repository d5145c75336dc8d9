#include "recipes/sweep/sweep_store.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <thread>

#include "recipes/config/values.h"
#include "recipes/run/run_folder.h"
#include "recipes/trials/run_reader.h"
#include "recipes/trials/study_folder.h"
#include "runtime/atomic_file.h"
#include "runtime/file_error.h"
#include "runtime/input_file.h"
#include "runtime/json.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrialStart = "kn";                 // start of the names of trials' run folders
constexpr std::chrono::milliseconds kMomentOfAnother{5};  // pause while another process makes the same file

fs::path opening_file(const fs::path& folder, int64_t minibatch) {
  return folder / fmt::format("minibatch-{}.json", minibatch);
}

std::string opening_text(const Opening& opening) {
  return Json{{"centre", opening.centre}, {"most_steps", opening.most_steps}}.dump(2) + "\n";
}

// Returns the text of a file; nothing if there is none, or if another process is making it (write_file_once).
std::optional<std::string> text_in(const fs::path& file) {
  if (!is_there(file)) return std::nullopt;
  std::string text = read_file(file);
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

// Returns the opening of a minibatch; nothing if it is not opened yet. Anything else that lies there is an Error, whose
// hint is to remove it.
std::optional<Opening> read_opening(const fs::path& file) try {
  const std::optional<std::string> text = text_in(file);
  if (!text) return std::nullopt;
  const JsonValue json = parse_json(*text, file.string());
  Opening opening;
  for (const auto& [flag, value] : json.at("centre").members()) opening.centre[flag] = value.as<double>();
  opening.most_steps = json.get<int64_t>("most_steps");
  if (opening.most_steps < 0 || opening.most_steps >= kWholeBelow)
    json.at("most_steps").refuse(fmt::format("a number of steps in [1, {}], or 0", kWholeBelow - 1));
  return opening;
} catch (const Error& error) {
  throw Error(fmt::format("{}\n  hint:     remove it: the minibatch is planned again", error.what()));
}

// Returns the names in a folder, as far as it can be read: a name that is missed is found at the next look.
std::vector<std::string> names_in(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  return names;
}

// Throws Error if the folder holds anything but a sweep. Another process may be making the sweep at this moment:
// nothing that belongs to it is there before its sweep.json.
void check_holds_nothing_else(const fs::path& folder) {
  for (const std::string& name : names_in(folder))
    if (!name.starts_with(kSweepFile) && !is_there(folder / kSweepFile))
      throw Error(fmt::format("--store: {}: expected a new or empty folder, or one of a sweep, got one that holds {}",
                              folder.string(), name));
}

// Returns the folder's sweep if it is the one asked for, whichever build began it.
std::optional<SweepDefinition> same_sweep_in(const fs::path& folder, const SweepDefinition& asked) {
  try {
    const SweepDefinition there = read_sweep(folder);
    SweepDefinition of_any_build = there;
    of_any_build.commit = of_any_build.compiler = "";
    grown_definition(of_any_build, asked, folder.string());
    return there;
  } catch (const Error&) {
    return std::nullopt;
  }
}

TrialStanding standing_of(const RunReport& report, const SweepDefinition& definition) {
  const bool is_stopped = !report.how.empty();
  if (!report.is_done())
    return {TrialState::waiting, is_stopped ? report.steps : steps_of_run(report.folder), 0, 0, is_stopped};
  if (report.target_step)
    return {TrialState::reached,   report.steps, *report.target_step,
            report.target_samples, false,        target_crossing(read_run(report.folder), target_of(definition))};
  return {report.diverged ? TrialState::diverged : TrialState::missed, report.steps};
}

bool is_unfinished(const fs::path& folder) {
  SweepView view(folder);
  view.refresh();
  return !view.plan().is_done();
}

}  // namespace

SweepDefinition read_sweep(const fs::path& folder) {
  const fs::path file = folder / kSweepFile;
  const std::optional<std::string> text = text_in(file);
  if (!text)
    throw Error(fmt::format("{} holds no sweep: {} {}", folder.string(),
                            is_there(file) ? "empty is its" : "there is no", kSweepFile));
  return parse_definition(*text, file.string());
}

SweepDefinition open_sweep(const fs::path& folder, const SweepDefinition& asked) {
  make_folder(folder, "--store: ");
  const fs::path file = folder / kSweepFile;
  while (!text_in(file)) {
    check_holds_nothing_else(folder);
    if (write_file_once(file, definition_json(asked))) return asked;
    std::this_thread::sleep_for(kMomentOfAnother);
  }
  const SweepDefinition definition = grown_definition(read_sweep(folder), asked, folder.string());
  write_file_atomically(file, definition_json(definition));
  return definition;
}

TrialStanding read_standing(const fs::path& run, const SweepDefinition& definition) {
  try {
    const RunReport report = read_manifest(run);
    TrialStanding standing = standing_of(report, definition);
    standing.run = trial_run(report);
    return standing;
  } catch (const Error&) {
    // It has not come to a manifest.
    return {is_there(run / kRefusalFile) ? TrialState::refused : TrialState::waiting};
  }
}

std::vector<std::string> foreign_runs(const SweepView& view) {
  std::vector<std::string> all;
  for (const MinibatchPlan& plan : view.plan().minibatches)
    for (const PlannedTrial& trial : plan.trials)
      if (trial.state == TrialState::foreign)
        all.push_back(fmt::format("{} is left out: {}", (view.folder() / trial.name).string(),
                                  difference_text(expected_run(trial, view.definition()), trial.standing.run.value())));
  return all;
}

fs::path default_sweep_folder(const SweepDefinition& asked, const std::function<void(const std::string&)>& say) {
  const std::string name = "sweep-" + asked.recipe;
  for (const fs::path& folder : dated_folders(name)) {
    const std::optional<SweepDefinition> there = same_sweep_in(folder, asked);
    if (!there || !is_unfinished(folder)) continue;
    const std::optional<BuildDifference> other = build_difference(*there);
    if (!other) return folder;
    say(fmt::format("NOTE: {} is passed over: another build began this sweep, of {} {}; this program is of {}",
                    folder.string(), other->part, other->there, other->own));
  }
  return new_dated_folder(name);
}

SweepView::SweepView(fs::path folder, Refusal refusal)
    : folder_(std::move(folder)), definition_(read_sweep(folder_)), refusal_(std::move(refusal)) {}

void SweepView::refresh() {
  read_standings();
  read_openings();
  plan_ = plan_sweep(definition_, openings_, standings_);
}

void SweepView::advance() {
  do refresh();
  while (open_new() || refuse_waiting());
}

// Opens minibatches whose turn has come, and returns whether there were any. If another process opened one first, that
// one's opening holds.
bool SweepView::open_new() {
  bool has_opened = false;
  for (const MinibatchPlan& plan : plan_.minibatches)
    if (plan.is_new) {
      if (!write_file_once(opening_file(folder_, plan.minibatch), opening_text(plan.opening)))
        std::this_thread::sleep_for(kMomentOfAnother);
      has_opened = true;
    }
  return has_opened;
}

bool SweepView::refuse_waiting() {
  bool has_refused = false;
  for (const PlannedTrial* trial : plan_.waiting()) {
    if (!refusal_ || !asked_.insert(trial->name).second) continue;
    const std::string reason = refusal_(definition_, *trial);
    if (reason.empty()) continue;
    make_folder(folder_ / trial->name);
    write_file_once(folder_ / trial->name / kRefusalFile, reason + "\n");
    has_refused = true;
  }
  return has_refused;
}

void SweepView::read_standings() {
  for (const std::string& name : names_in(folder_)) {
    if (!name.starts_with(kTrialStart)) continue;
    const PlannedTrial* trial = plan_.find(name);
    if (!trial || !trial->is_final()) standings_[name] = read_standing(folder_ / name, definition_);
  }
  // A trial that failed here may have been done by another process.
  for (const std::string& name : failed_)
    if (standings_[name].end == TrialState::waiting) standings_[name].end = TrialState::failed;
}

void SweepView::read_openings() {
  for (const int64_t minibatch : definition_.minibatches) {
    if (openings_.contains(minibatch)) continue;
    if (const std::optional<Opening> opening = read_opening(opening_file(folder_, minibatch)))
      openings_[minibatch] = *opening;
  }
}

}  // namespace kb
