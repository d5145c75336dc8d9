// index.sqlite of a sweep: a table of what its run folders say, for queries by users. Nothing depends on it: any
// process rebuilds the whole file from the folders and replaces the old one.
#pragma once
#include <map>
#include <string>

#include "recipes/sweep/sweep_store.h"
#include "recipes/trials/run_reader.h"

namespace kb {

inline constexpr const char* kIndexFile = "index.sqlite";

class SweepIndex {
 public:
  // Writes the index of the view's plan. The run of a trial that is final is read once and kept. Returns why the index
  // could not be written; "" if it was.
  std::string write(const SweepView& view);

 private:
  RunReport report_of(const std::filesystem::path& store, const PlannedTrial& trial);
  std::string bytes(const SweepView& view);

  std::map<std::string, RunReport> reports_;  // reports of final trials, by name
};

}  // namespace kb
