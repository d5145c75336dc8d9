// index.sqlite of a sweep: what its run folders say as one table, for whoever asks. Nothing depends on it: any process
// makes it anew from the folders, whole, and puts it in the place of the one before.
#pragma once
#include <map>
#include <string>

#include "recipes/sweep/sweep_store.h"
#include "recipes/trials/run_reader.h"

namespace kb {

inline constexpr const char* kIndexFile = "index.sqlite";

class SweepIndex {
 public:
  // Writes the index of the plan as the view has it; reads the metrics of a trial that is done the first time alone.
  // Returns why it cannot be written; empty where it is.
  std::string write(const SweepView& view);

 private:
  RunReport report_of(const std::filesystem::path& store, const PlannedTrial& trial);
  std::string bytes(const SweepView& view);

  std::map<std::string, RunReport> reports_;  // of trials that are final, by their names
};

}  // namespace kb
