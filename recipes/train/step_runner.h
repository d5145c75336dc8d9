// Takes the steps of a training. In a step the virtual workers of this process run one after another; the last one's
// part also sums the gradients over processes and updates the state.
#pragma once
#include <chrono>
#include <optional>
#include <vector>

#include "recipes/train/ordered_steps.h"
#include "recipes/train/parts.h"
#include "recipes/train/step_feed.h"

namespace kb {

// A step that the host has begun. A device may still be working on it.
struct TakenStep {
  int64_t step = 0;
  std::chrono::steady_clock::time_point begun;
  double wait_ms = 0;                // milliseconds that the step waited for data
  double host_seconds = 0;           // seconds that the host took to begin the step, without that wait
  double reduce_seconds = 0;         // part of host_seconds in which it waited for other processes
  const Session* session = nullptr;  // the program of the step, which has its outputs
  int64_t minibatch = 0;             // samples of the step
  // The loss and the training metrics, means over replicas, and the loss scale of this process's first one. Empty for a
  // synchronous step.
  std::vector<double> figures = {};
  std::optional<double> loss_scale = {};
  // These are set in a step whose gradients an order applies: virtual time in seconds at its end, and mean staleness.
  std::optional<double> clock_s = {}, staleness = {};
};

class StepRunner {
 public:
  // Both must outlive this object.
  StepRunner(LoopParts& parts, StepFeed& feed);

  // Takes the step with this number. Returns nothing if the run is asked to stop (World::begin); the step is then
  // abandoned and has changed no state.
  std::optional<TakenStep> take(int64_t step);
  // Gives the observer the profile of the last step, if it wanted one.
  void show_profile();

 private:
  std::optional<TakenStep> take_ordered(int64_t step);
  Update update_of(int64_t step) const;
  void work(int64_t step, Session& session, int64_t worker);
  void read_replica(const Session& replica, int64_t number, TakenStep& taken);
  void average_figures(TakenStep& taken);
  void join(int64_t done);

  LoopParts& parts_;
  StepFeed& feed_;
  std::optional<OrderedSteps> ordered_;  // empty unless an order applies the gradients
  int64_t profiled_ = -1;                // number of the step to which profile_ belongs
  std::optional<Profile> profile_;
  std::vector<double> value_;  // the output that is being read
};

}  // namespace kb
