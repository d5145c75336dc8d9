// The folder of a study: study.json, which says what its trials are, and a run folder for each of them.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "recipes/study/trial.h"

namespace kb {

inline constexpr const char* kStudySummary = "summary.json";  // is there once a study is done

// Makes `out`, or runs/NAME-TIME where it is empty (but goes on with the newest such folder whose study of the same
// trials is not done), with study.json of these trials in it; where a study is there, adds
// those that it lacks. Throws Error where a trial of the same name has other words there, and where the folder holds
// anything that is no study.
std::filesystem::path open_study(const std::string& name, const std::string& out, const std::vector<Trial>& trials);

}  // namespace kb
