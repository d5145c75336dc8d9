// Progress of a sweep on the console: a line for each trial of this process that ended or waits for its folder, and how
// long the rest may take.
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "recipes/run/console.h"
#include "recipes/sweep/sweep_store.h"
#include "recipes/trials/executor.h"

namespace kb {

class SweepConsole : public TrialObserver {
 public:
  // `budget`: time after which it asks to stop. `console` and `view` must outlive this object.
  SweepConsole(Console& console, const SweepView& view, std::optional<std::chrono::duration<double>> budget);

  void ended(const Trial& trial, const TrialOutcome& outcome) override;
  void waits(const Trial& trial, const std::filesystem::path& folder) override;
  void progress(double done, size_t running) override;
  bool wants_to_stop() override;  // true once a signal came (Interrupt), or the budget is spent

 private:
  using Clock = std::chrono::steady_clock;
  bool has_spent() const;
  std::string standing() const;

  Console& console_;
  const SweepView& view_;
  const std::optional<std::chrono::duration<double>> budget_;
  const Clock::time_point started_ = Clock::now();
  const size_t closed_before_;  // number of trials that were closed when this process began
};

}  // namespace kb
