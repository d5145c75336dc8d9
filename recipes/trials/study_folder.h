// The folder of a study: study.json, which lists its trials, and a run folder for each of them.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "recipes/trials/trial.h"

namespace kb {

struct Study {
  std::filesystem::path folder;
  std::vector<Trial> trials;  // all trials of the study, including those asked for
  int shards = 0;             // shards of each trial (--shards), chosen on the machine where the study began
  size_t first = 0;           // number of trials that it began with; later ones may depend on their results
};

inline constexpr const char* kStudySummary = "summary.json";  // file that exists once a study is done

// Returns the words of a trial without flags that change no bit of its result and may differ between calls, such as
// where the data lie and how many threads it has.
std::vector<std::string> lasting_words(const std::vector<std::string>& words);

// Returns the existing folders runs/NAME-*, the newest first.
std::vector<std::filesystem::path> dated_folders(const std::string& name);

// Opens the study in `out` and writes its study.json. If `out` is empty, goes on with the newest runs/NAME-TIME whose
// study began with the same trials and is not done, or makes a new such folder. Adds those of the trials that an
// existing study lacks. Throws Error if a trial of the same name has other words there, and if the folder holds
// anything that is no study.
Study open_study(const std::string& name, const std::string& out, const std::vector<Trial>& trials, int shards);

}  // namespace kb
