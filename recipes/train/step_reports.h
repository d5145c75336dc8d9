// Reads the results of steps and reports them in order. A device may be a step ahead of the results that the host has
// read. Also measures the time of the training, without evaluations.
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
  // Both must outlive this object.
  StepReports(LoopParts& parts, const Instruments& instruments);

  // Takes a step that was begun. It must be the next one, and at most one earlier step may be unreported.
  void add(const TakenStep& taken);
  // Waits for the steps before `end`, and reports those that are not reported yet.
  void until(int64_t end);
  // Reports the epoch that ends after `done` steps, all of which must have been reported.
  void end_epoch(int64_t done);

  double train_seconds() const { return train_seconds_; }
  void tell(LoopResult& result) const;

 private:
  using Clock = std::chrono::steady_clock;
  void report(int64_t step);
  StepOutputs outputs_of(int64_t step) const;
  double read_figures(const TakenStep& taken, const StepOutputs& outputs);
  void add_padding(StepMetrics& metrics) const;
  double end_step(const TakenStep& taken);
  double read(const std::string& output, const StepOutputs& outputs);

  LoopParts& parts_;
  const Instruments& instruments_;
  std::array<TakenStep, 2> taken_;     // the last two steps, indexed by number modulo 2
  int64_t begun_, reported_;           // numbers of steps begun and reported, counted from step 0
  std::vector<double> value_, means_;  // the output that is being read; training metrics of a step
  std::optional<double> loss_scale_;
  Clock::time_point last_done_ = {};  // time at which the results of the last reported step were read
  double train_seconds_ = 0, host_seconds_ = 0;
  double epoch_seconds_ = 0;  // train_seconds_ at the last end of an epoch
};

}  // namespace kb
