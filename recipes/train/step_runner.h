// Takes the steps of a training: the virtual workers of this process one after another, then sums and update.
#pragma once
#include <chrono>
#include <optional>

#include "recipes/train/parts.h"
#include "recipes/train/step_feed.h"

namespace kb {

// A step that was begun by the host; a device may still be at work on it.
struct TakenStep {
  int64_t step = 0;
  std::chrono::steady_clock::time_point begun;
  double wait_ms = 0;       // milliseconds that it waited for the data
  double host_seconds = 0;  // seconds that the host took to begin it, without waiting for the data
};

class StepRunner {
 public:
  // Both must outlive it.
  StepRunner(LoopParts& parts, StepFeed& feed) : parts_(parts), feed_(feed) {}

  // Returns nothing where the run is asked to stop (World::begin): the step is then left, and has changed nothing.
  std::optional<TakenStep> take(int64_t step);
  // Gives the observer the profile of the step that was just taken, where it wanted one.
  void show_profile();

 private:
  void work(int64_t step, int64_t worker);

  LoopParts& parts_;
  StepFeed& feed_;
  int64_t profiled_ = -1;  // the step that the profile measures
  std::optional<Profile> profile_;
};

}  // namespace kb
