// Compares several studies on one page: optimizers, models or schedules that were taken to one target on one data set.
#pragma once
#include <string>
#include <vector>

#include "recipes/answer/answer_figures.h"
#include "recipes/answer/named_study.h"

namespace kb {

// A part of a study's head, such as its data.
struct NamedPart {
  std::string study, value;
};
// Throws Error if two studies differ in a part.
void check_same(const std::string& part, const NamedPart& first, const NamedPart& other);

// Throws Error if two sweeps differ in target or data, since their steps are not comparable. Returns a line for each
// source that cannot be checked, because it is a table of measurements, which tells neither.
std::vector<std::string> check_side_by_side(const std::vector<NamedStudy>& studies);

// Throws Error unless a study reached the target: the others are told beside it.
void check_reached(const std::vector<NamedStudy>& studies);

// Returns tables of 80 columns: fits, their ratios to the first study's with 95 % intervals, laws of the best rates,
// effort. Where a run was not synchronous (--policy), virtual times, bytes that a process sends, and claims follow.
std::string side_by_side_text(const std::vector<NamedStudy>& studies);
std::string side_by_side_json(const std::vector<NamedStudy>& studies, const std::string& command);

// Returns figures over all studies: steps against the minibatch, with bands; best rates, if they are known; time to the
// target against its samples, if a cluster was asked for.
std::vector<AnswerFigure> side_by_side_figures(const std::vector<NamedStudy>& studies);
std::string side_by_side_page(const std::vector<NamedStudy>& studies, const std::string& command,
                              const std::vector<AnswerFigure>& figures);

}  // namespace kb
