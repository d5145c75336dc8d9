// Several studies on one page: optimizers, models or schedules that were taken to one target on one data set.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "recipes/answer/answer_figures.h"
#include "recipes/answer/study_answer.h"
#include "recipes/answer/study_head.h"

namespace kb {

// Cost of a study: all of its trials, searches and seeds.
struct StudyEffort {
  size_t runs = 0, diverged = 0, hopeless = 0;
  double samples = 0;  // sum over the runs that say how many they saw
};
StudyEffort effort_of(std::span<const Measurement> runs);

struct NamedStudy {
  std::string name;  // "momentum"
  StudyAnswer answer;
  StudyHead head;  // empty unless the study is a sweep's
  StudyEffort effort;
};

// Throws Error where two sweeps differ in target or data: their steps are not comparable. Returns what cannot be held
// against each other, a line each: tables of measurements say neither.
std::vector<std::string> check_side_by_side(const std::vector<NamedStudy>& studies);

// Tables of 80 columns: fits, their ratios to the first study's with 95 % intervals, laws of the best rates, effort.
std::string side_by_side_text(const std::vector<NamedStudy>& studies);
std::string side_by_side_json(const std::vector<NamedStudy>& studies, const std::string& command);

// Steps against the minibatch of all studies, with bands; best rates likewise where they are known; the time to the
// target against its samples where a cluster was asked for.
std::vector<AnswerFigure> side_by_side_figures(const std::vector<NamedStudy>& studies);
std::string side_by_side_page(const std::vector<NamedStudy>& studies, const std::string& command,
                              const std::vector<AnswerFigure>& figures);

}  // namespace kb
