// Progress of a study on the console: a line for each training that ended, and an estimate of the time left.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>

#include "recipes/run/console.h"
#include "recipes/trials/executor.h"

namespace kb {

// Returns what became of the training in the folder `run`: "valid error 3.70 %, 12 s", "diverged after 40 steps".
std::string outcome_text(const std::filesystem::path& run, const TrialOutcome& outcome);

class StudyConsole : public TrialObserver {
 public:
  // `store`: the folder of ExecutorOptions. `trials`: number of trials. The console must outlive this object.
  StudyConsole(Console& console, std::filesystem::path store, size_t trials);

  void ended(const Trial& trial, const TrialOutcome& outcome) override;
  void progress(double done, size_t running) override;
  void waits(const Trial& trial, const std::filesystem::path& folder) override;
  bool wants_to_stop() override;  // true once a signal came (Interrupt)

 private:
  using Clock = std::chrono::steady_clock;
  std::string time_left() const;

  Console& console_;
  const std::filesystem::path store_;
  const size_t trials_;
  const Clock::time_point started_ = Clock::now();
  size_t ended_ = 0, were_done_ = 0;
  double done_before_ = -1, done_ = 0;  // number of trials done, with shares, at the first progress() and now
};

}  // namespace kb
