#include "recipes/answer/study_head.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace kb {
namespace {

// Returns the values of a member over the runs, and how many runs have each.
std::map<std::string, size_t> values_of(std::span<const RunReport> runs, std::string RunReport::*member) {
  std::map<std::string, size_t> values;
  for (const RunReport& run : runs)
    if (!(run.*member).empty()) ++values[run.*member];
  return values;
}

void add_of_runs(StudyHead& head, const char* name, std::span<const RunReport> runs, std::string RunReport::*member) {
  const std::map<std::string, size_t> values = values_of(runs, member);
  if (values.empty()) return;
  std::vector<std::string> texts;
  for (const auto& [value, count] : values)
    texts.push_back(values.size() == 1 ? value : fmt::format("{} (trials: {})", value, count));
  head.rows.emplace_back(name, fmt::format("{}", fmt::join(texts, "; ")));
  if (values.size() > 1)
    head.notes.push_back(fmt::format("trials differ in their {}: {}", name, fmt::join(texts, "; ")));
}

}  // namespace

std::string value_of(const StudyHead& head, const std::string& name) {
  for (const auto& [row, value] : head.rows)
    if (row == name) return value;
  return "";
}

StudyHead study_head(const SweepDefinition& definition, std::span<const RunReport> runs) {
  StudyHead head;
  head.rows.emplace_back("target", target_of(definition).text());
  head.rows.emplace_back("minibatches", fmt::format("{}", fmt::join(definition.minibatches, " ")));
  head.rows.emplace_back("--trials", fmt::to_string(definition.trials));
  head.rows.emplace_back("--seeds", fmt::to_string(definition.seeds));
  for (auto& part : definition_parts(definition)) head.rows.push_back(std::move(part));
  if (const std::string centre = centre_text(definition); !centre.empty())
    head.rows.emplace_back("the centre of the search", centre + ", then the best of the minibatch before");
  if (std::string note = beta2_note(definition); !note.empty()) head.notes.push_back(std::move(note));
  add_of_runs(head, "data", runs, &RunReport::data);
  add_of_runs(head, "build", runs, &RunReport::build);
  add_of_runs(head, "device", runs, &RunReport::device);
  return head;
}

}  // namespace kb
