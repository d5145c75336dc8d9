// The folder of a study: study.json, which says what its trials are, and a run folder for each of them.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "recipes/trials/trial.h"

namespace kb {

struct Study {
  std::filesystem::path folder;
  std::vector<Trial> trials;  // all that it has, those asked for among them
  int shards = 0;             // of its trials (--shards), as on the machine that it began on
  size_t first = 0;           // trials that it began with; later ones may follow from what those gave
};

inline constexpr const char* kStudySummary = "summary.json";  // is there once a study is done

// Returns the words of a trial without flags that change no bit and follow from a call: where the data lie, threads.
std::vector<std::string> lasting_words(const std::vector<std::string>& words);

// Returns runs/NAME-TIME, which is not there yet, and the folders that were named so before, the newest first.
std::filesystem::path new_dated_folder(const std::string& name);
std::vector<std::filesystem::path> dated_folders(const std::string& name);

// Makes `out`, or runs/NAME-TIME where it is empty, with study.json of these trials and shards in it; goes on with the
// newest such folder whose study began with the same trials and is not done. Adds those that a study which is there
// lacks. Throws Error where a trial of the same name has other words there, and where the folder holds anything that is
// no study.
Study open_study(const std::string& name, const std::string& out, const std::vector<Trial>& trials, int shards);

}  // namespace kb
