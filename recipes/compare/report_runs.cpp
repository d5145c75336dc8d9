#include "recipes/compare/report_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "recipes/report/curve_points.h"
#include "recipes/run/run_folder.h"
#include "recipes/sweep/sweep_store.h"
#include "recipes/train/layer_log.h"
#include "runtime/flat_json.h"
#include "runtime/input_file.h"
#include "runtime/threads.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

bool is_run_folder(const fs::path& folder) { return is_there(folder / kManifest) || is_there(folder / kMetrics); }

void find_runs(const fs::path& folder, std::set<fs::path>& found) {
  if (is_run_folder(folder)) {
    found.insert(fs::canonical(folder));
    return;
  }
  std::error_code unreadable;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, unreadable))
    if (entry.is_directory(unreadable) && !entry.is_symlink(unreadable)) find_runs(entry.path(), found);
}

std::set<fs::path> folders_of(const std::vector<fs::path>& places) {
  std::set<fs::path> all;
  for (const fs::path& place : places) {
    std::error_code error;
    if (!fs::is_directory(place, error))
      throw Error(fmt::format("{}: expected a run folder, or one with run folders below it, got {}", place.string(),
                              is_there(place) ? "a file" : "nothing of that name"));
    std::set<fs::path> found;
    find_runs(place, found);
    if (found.empty())
      throw Error(fmt::format("{}: expected a run folder, or one with run folders below it, got none: no {} is there",
                              place.string(), kManifest));
    all.merge(found);
  }
  return all;
}

// Returns the deepest folder that contains all `folders`.
fs::path common_folder(const std::set<fs::path>& folders) {
  fs::path common = folders.begin()->parent_path();
  for (const fs::path& folder : folders)
    while (std::mismatch(common.begin(), common.end(), folder.begin(), folder.end()).first != common.end())
      common = common.parent_path();
  return common;
}

void take_manifest_facts(const JsonValue& manifest, ReportedRun& reported) {
  reported.flags = flags_of_manifest(manifest);
  reported.flags.insert(reported.flags.begin(), {"recipe", reported.run.recipe});
  reported.planned_steps = manifest.get<int64_t>("steps");
  if (manifest.has("memory")) {
    reported.process_bytes = manifest.at("memory").get<int64_t>("process");
    reported.program_bytes = manifest.at("memory").get<int64_t>("programs");
  }
  if (manifest.has("ended"))
    reported.process_bytes = manifest.at("ended").get<int64_t>("peak_memory", reported.process_bytes);
  if (manifest.has("layers")) reported.layers = manifest.at("layers").list<std::string>();
}

// Averages the curves of every step: a run may have a million steps, of which a chart shows some hundred points.
void keep_few_points(RunCurves& curves) {
  constexpr size_t kKept = 5000;
  for (Curve* curve : {&curves.training_loss, &curves.learning_rate, &curves.samples_per_s, &curves.data_wait_ms})
    *curve = averaged(*curve, kKept);
}

// Returns the reason in the last line of the metrics if that is a stop, else "".
std::string reason_of_stop(std::string_view metrics) {
  const size_t end = metrics.find_last_not_of('\n') + 1, before = metrics.substr(0, end).rfind('\n');
  FlatJson line;
  if (!line.parse(metrics.substr(before + 1, end - before - 1)) || line.text("kind") != "stop") return "";
  return std::string(line.text("reason"));
}

ReportedRun read_reported(const fs::path& folder, const std::string& name) {
  ReportedRun reported;
  reported.name = name;
  reported.run = read_run(folder);
  const RunReport& run = reported.run;
  const fs::path metrics_file = folder / kMetrics;
  take_manifest_facts(read_json(folder / kManifest), reported);
  if (!is_there(metrics_file)) return reported;
  const std::string metrics = read_file(metrics_file);
  reported.curves = read_curves(metrics, {run.goal, run.goal_kind.is_share, run.goal_kind.higher_is_better});
  if (!reported.curves.learning_rate.empty())
    reported.done_steps = static_cast<int64_t>(reported.curves.learning_rate.back().step);
  reported.samples_per_s = median_of_curve(reported.curves.samples_per_s);
  reported.data_wait_ms = median_of_curve(reported.curves.data_wait_ms);
  keep_few_points(reported.curves);
  reported.reason = reason_of_stop(metrics);
  if (!reported.layers.empty()) reported.norms = read_layer_norms(metrics_file, reported.layers.size());
  return reported;
}

// A run that was read, or why it is left out.
struct Reading {
  std::optional<ReportedRun> run;
  std::string fault;
};

Reading reading_of(const fs::path& folder, const fs::path& common) {
  try {
    return {read_reported(folder, folder.lexically_relative(common).string()), ""};
  } catch (const Error& error) {
    return {std::nullopt, fmt::format("{} is left out: {}", folder.string(), error.what())};
  }
}

// Reads the folders with one thread per usable processor, and returns the readings in their order.
std::vector<Reading> readings_of(const std::vector<fs::path>& folders, const fs::path& common) {
  std::vector<Reading> readings(folders.size());
  run_side_by_side(folders.size(), static_cast<size_t>(usable_processors()),
                   [&](size_t i) { readings[i] = reading_of(folders[i], common); });
  return readings;
}

// Marks the runs in a sweep's folder that the sweep stopped as hopeless; their manifests say only "interrupted".
void mark_hopeless(const fs::path& store, ReportedRuns& reported) {
  SweepView sweep(store);
  sweep.refresh();
  for (ReportedRun& run : reported.runs) {
    if (run.run.is_done() || run.run.folder.parent_path() != store) continue;
    const PlannedTrial* trial = sweep.plan().find(run.run.folder.filename().string());
    run.is_hopeless = trial && trial->state == TrialState::hopeless;
  }
}

void mark_trials(ReportedRuns& reported) {
  std::set<fs::path> stores;
  for (const ReportedRun& run : reported.runs)
    if (!run.run.is_done() && is_there(run.run.folder.parent_path() / kSweepFile))
      stores.insert(run.run.folder.parent_path());
  for (const fs::path& store : stores) try {
      mark_hopeless(store, reported);
    } catch (const Error& error) {
      reported.left_out.push_back(
          fmt::format("{}: which trials are hopeless is not told: {}", store.string(), error.what()));
    }
}

constexpr std::string_view kSeeds[] = {"seed", "seed-weights", "seed-order"};
// Flags on which no bit of a result depends.
constexpr std::string_view kOfNoBit[] = {"threads", "processes", "loader-threads", "resident"};

bool is_seed(std::string_view flag) { return std::ranges::find(kSeeds, flag) != std::end(kSeeds); }

// Returns "3 seeds", or "3 runs" if two of them have the same seeds.
std::string size_text(const std::vector<ReportedRun>& runs, const std::vector<size_t>& numbers) {
  std::set<std::vector<std::pair<std::string, std::string>>> seeds;
  for (const size_t number : numbers) {
    std::vector<std::pair<std::string, std::string>> own = runs[number].flags;
    std::erase_if(own, [](const auto& flag) { return !is_seed(flag.first); });
    seeds.insert(std::move(own));
  }
  return fmt::format("{} {}", numbers.size(), seeds.size() == numbers.size() ? "seeds" : "runs");
}

// Returns the whole words that all names begin with: "kn512" for "kn512-seed-1" and "kn512-seed-2"; "" if there are
// none.
std::string common_name(const std::vector<ReportedRun>& runs, const std::vector<size_t>& numbers) {
  constexpr std::string_view kSeparators = "-_./ ", kWord = "seed";
  std::string name = runs[numbers.front()].name;
  for (const size_t number : numbers)
    name.resize(static_cast<size_t>(std::ranges::mismatch(name, runs[number].name).in1 - name.begin()));
  name.resize(name.find_last_of(kSeparators) + 1);
  name.resize(name.find_last_not_of(kSeparators) + 1);
  if (!name.ends_with(kWord)) return name;
  name.resize(name.size() - kWord.size());
  name.resize(name.find_last_not_of(kSeparators) + 1);
  return name;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> flags_of_manifest(const JsonValue& manifest) {
  std::vector<std::pair<std::string, std::string>> flags;
  for (const auto& [name, value] : manifest.at("flags").members()) flags.emplace_back(name, scalar_text(value));
  return flags;
}

ReportedRuns read_runs(const std::vector<fs::path>& places) {
  const std::set<fs::path> folders = folders_of(places);
  const fs::path common = common_folder(folders);
  ReportedRuns result;
  for (Reading& reading : readings_of({folders.begin(), folders.end()}, common))
    if (reading.run)
      result.runs.push_back(*std::move(reading.run));
    else
      result.left_out.push_back(reading.fault);
  if (result.runs.empty()) throw Error(fmt::format("no run can be read\n  {}", fmt::join(result.left_out, "\n  ")));
  mark_trials(result);
  std::sort(result.runs.begin(), result.runs.end(), [](const ReportedRun& a, const ReportedRun& b) {
    return ::strverscmp(a.name.c_str(), b.name.c_str()) < 0;
  });
  return result;
}

std::vector<std::pair<std::string, std::string>> compared_flags(
    std::vector<std::pair<std::string, std::string>> flags) {
  std::erase_if(flags, [](const auto& flag) {
    return is_seed(flag.first) || std::ranges::find(kOfNoBit, flag.first) != std::end(kOfNoBit);
  });
  return flags;
}

std::vector<SeedLine> seed_lines(const std::vector<ReportedRun>& runs) {
  std::vector<SeedLine> lines;
  std::map<std::vector<std::pair<std::string, std::string>>, size_t> known;
  for (size_t i = 0; i < runs.size(); ++i) {
    size_t line = lines.size();
    if (!runs[i].run.diverged) line = known.try_emplace(compared_flags(runs[i].flags), line).first->second;
    if (line == lines.size()) lines.push_back({runs[i].name, {}});
    lines[line].runs.push_back(i);
  }
  std::set<std::string> taken;
  for (SeedLine& line : lines) {
    if (line.runs.size() == 1) continue;
    const std::string common = common_name(runs, line.runs);
    // A second line with the same common name is called by its first run.
    if (!common.empty() && taken.insert(common).second) line.name = common;
    line.name += ", " + size_text(runs, line.runs);
  }
  return lines;
}

std::vector<size_t> line_numbers(const std::vector<SeedLine>& lines) {
  size_t count = 0;
  for (const SeedLine& line : lines) count += line.runs.size();
  std::vector<size_t> numbers(count);
  for (size_t i = 0; i < lines.size(); ++i)
    for (const size_t run : lines[i].runs) numbers[run] = i;
  return numbers;
}

}  // namespace kb
