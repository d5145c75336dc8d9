// Reads what the steps gave, and reports them in their order: a device may be some steps ahead of what the host has
// read. Times the training, without its evaluations.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"
#include "recipes/train/step_runner.h"

namespace kb {

class StepReports {
 public:
  // Both must outlive it.
  StepReports(LoopParts& parts, const Instruments& instruments);

  // Takes a step that was begun, the next after the one before; at most one may be unreported then.
  void add(const TakenStep& taken);
  // Waits for the steps before `end` and reports those that were not.
  void until(int64_t end);
  // Reports the epoch that ends after `done` steps, all of them.
  void end_epoch(int64_t done);

  double train_seconds() const { return train_seconds_; }
  void tell(LoopResult& result) const;

 private:
  using Clock = std::chrono::steady_clock;
  void report(int64_t step);
  void read_means(int age);
  double end_step(const TakenStep& taken);
  double read(const std::string& output, int age);
  std::optional<double> loss_scale(int age) const;

  LoopParts& parts_;
  const Instruments& instruments_;
  std::array<TakenStep, 2> taken_;     // steps that may not have been reported, by number modulo 2
  int64_t begun_, reported_;           // steps
  std::vector<double> value_, means_;  // an output that was read; the training metrics of the step
  Clock::time_point last_done_ = {};
  double train_seconds_ = 0, host_seconds_ = 0;
  double epoch_seconds_ = 0;  // train_seconds_ at the last end of an epoch
};

}  // namespace kb
