// The head of a study: all that a reader has to know to repeat the study or to compare it with another one.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recipes/sweep/sweep_definition.h"
#include "recipes/trials/run_reader.h"

namespace kb {

struct StudyHead {
  std::vector<std::pair<std::string, std::string>> rows = {};  // names and values: recipe, data, target, ranges, ..
  std::vector<std::string> notes = {};  // reasons that make trials hard to compare, such as several builds or devices
};

// Returns the value of a row; "" if there is none.
std::string value_of(const StudyHead& head, const std::string& name);

// Returns the head of a sweep. `runs`: the trials that were trained.
StudyHead study_head(const SweepDefinition& definition, std::span<const RunReport> runs);

}  // namespace kb
