#include "recipes/trials/study_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/error.h"
#include "recipes/run/run_folder.h"
#include "runtime/atomic_file.h"
#include "runtime/file_error.h"
#include "runtime/input_file.h"
#include "runtime/json.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStudyFile = "study.json";

std::string study_text(const Study& study) {
  Json json;
  json["shards"] = study.shards;
  json["first"] = study.first;
  json["trials"] = Json::array();
  for (const Trial& trial : study.trials) json["trials"].push_back({{"name", trial.name}, {"arguments", trial.words}});
  return json.dump(2) + "\n";
}

Study read_study(const fs::path& folder) {
  const JsonValue json = read_json(folder / kStudyFile);
  Study study{folder, {}, static_cast<int>(json.get<int64_t>("shards"))};
  for (const JsonValue& trial : json.at("trials").items())
    study.trials.push_back({trial.get<std::string>("name"), trial.at("arguments").list<std::string>()});
  study.first = study.trials.size();  // default for files of release 0.1, which lack the number
  if (json.has("first")) study.first = std::min(study.first, static_cast<size_t>(json.get<int64_t>("first")));
  return study;
}

// Returns whether these trials are those that the study began with, or all that it has.
bool is_of(const Study& study, const std::vector<Trial>& trials) {
  const std::vector<Trial>& there = study.trials;
  return (trials.size() == study.first || trials.size() == there.size()) &&
         std::equal(trials.begin(), trials.end(), there.begin(), [](const Trial& a, const Trial& b) {
           return a.name == b.name && lasting_words(a.words) == lasting_words(b.words);
         });
}

[[noreturn]] void refuse_other(const fs::path& folder, const std::string& trial, const std::vector<std::string>& there,
                               const std::vector<std::string>& asked) {
  const auto [a, b] = std::mismatch(there.begin(), there.end(), asked.begin(), asked.end());
  const auto from = [](const std::vector<std::string>& words, auto at) {
    const auto begin = at == words.begin() ? at : std::prev(at);
    return fmt::format("{}", fmt::join(begin, words.end() - begin > 2 ? begin + 2 : words.end(), " "));
  };
  throw Error(
      fmt::format("--out: {} holds a study with other flags: trial {}\n  expected: {}\n  got:      {}\n  hint:     the "
                  "same flags go on "
                  "with it; for others name another folder",
                  folder.string(), trial, from(there, a), from(asked, b)));
}

// Adds the trials that the study lacks. Throws Error if it has one of the same name with other words.
void add_trials(Study& study, const std::vector<Trial>& asked) {
  std::vector<Trial>& there = study.trials;
  for (const Trial& trial : asked) {
    const auto same = std::find_if(there.begin(), there.end(), [&](const Trial& t) { return t.name == trial.name; });
    if (same == there.end())
      there.push_back(trial);
    else if (lasting_words(same->words) != lasting_words(trial.words))
      refuse_other(study.folder, trial.name, lasting_words(same->words), lasting_words(trial.words));
    else
      *same = trial;
  }
}

// Returns the newest folder of an unfinished study that began with just these trials, so that a repeated command goes
// on with it; if there is none, a new folder.
fs::path chosen_folder(const std::string& name, const std::vector<Trial>& trials) {
  for (const fs::path& folder : dated_folders(name))
    if (is_there(folder / kStudyFile) && !is_there(folder / kStudySummary) && is_of(read_study(folder), trials))
      return folder;
  return new_dated_folder(name);
}

}  // namespace

std::vector<std::string> lasting_words(const std::vector<std::string>& words) {
  constexpr const char* kOfACall[] = {"--data", "--threads", "--loader-threads", "--keep", "--resident"};
  std::vector<std::string> lasting;
  for (size_t i = 0; i < words.size(); ++i) {
    if (std::find(std::begin(kOfACall), std::end(kOfACall), words[i]) != std::end(kOfACall))
      ++i;  // skips the flag's value as well
    else
      lasting.push_back(words[i]);
  }
  return lasting;
}

std::vector<fs::path> dated_folders(const std::string& name) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("runs", error))
    if (entry.path().filename().string().starts_with(name + "-")) folders.push_back(entry.path());
  std::sort(folders.rbegin(), folders.rend());  // newest first: their names end with the time
  return folders;
}

Study open_study(const std::string& name, const std::string& out, const std::vector<Trial>& trials, int shards) {
  const fs::path folder = fs::absolute(out.empty() ? chosen_folder(name, trials) : fs::path(out));
  Study study{folder, trials, shards, trials.size()};
  if (is_there(folder / kStudyFile)) {
    study = read_study(folder);
    add_trials(study, trials);
  } else {
    make_folder(folder, "--out: ");
    if (!fs::is_empty(folder))
      throw Error(fmt::format("--out: {}: expected a new or empty folder, or one of a study, got one that holds {}",
                              folder.string(), fs::directory_iterator(folder)->path().filename().string()));
  }
  write_file_atomically(folder / kStudyFile, study_text(study));
  return study;
}

}  // namespace kb
