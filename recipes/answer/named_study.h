// Studies with names, which are held side by side.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "recipes/answer/study_answer.h"
#include "recipes/answer/study_head.h"

namespace kb {

// The cost of a study: all of its trials, searches and seeds.
struct StudyEffort {
  size_t runs = 0, diverged = 0, hopeless = 0;
  double samples = 0;  // sum over the runs that tell how many samples they saw
};
StudyEffort effort_of(std::span<const Measurement> runs);

struct NamedStudy {
  std::string name;    // name of the study's folder, or of its table: "momentum"; of one setting: "momentum: beta1=0.9"
  StudyAnswer answer;  // without best results if the target was not reached
  StudyHead head;      // empty unless the study is a sweep's
  StudyEffort effort;
  std::string source = {};  // name of the folder or table, if several studies are of one
};

// Runs of a study that is named.
struct NamedRuns {
  std::string name;
  std::vector<Measurement> runs;
};

// Greatest number of settings, each of which is a study of its own.
inline constexpr size_t kMostSettings = 32;

// Returns the runs of each setting, in the order of settings, with the name "NAME: SETTING"; under their own name if
// they have one setting. Throws Error for more than kMostSettings.
std::vector<NamedRuns> runs_by_setting(NamedRuns all);

// Returns a line for each setting and minibatch at which runs were stopped and none reached the target: a sweep stops a
// trial that needs more steps than its minibatch's best one, of whatever setting that is.
std::vector<std::string> stopped_notes(const std::vector<NamedRuns>& settings);

}  // namespace kb
