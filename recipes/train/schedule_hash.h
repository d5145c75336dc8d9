// A hash of the learning-rate schedule, by which a resumed run tests whether it has the schedule of its checkpoint.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "recipes/train/run_scalars.h"
#include "runtime/sha256.h"

namespace kb {

// Computes SHA-256 over the scalars of the schedule's first steps. Two schedules have the same hash if they agree in
// all steps so far. With AdaScale these are steps of the schedule, not of the run.
class ScheduleHash {
 public:
  explicit ScheduleHash(RunScalars scalars) : scalars_(std::move(scalars)) {}
  // Returns the hash, in hexadecimal, of the first `step` steps. `step` must not decrease from call to call.
  std::string up_to(int64_t step);

 private:
  RunScalars scalars_;
  Sha256 hash_;
  int64_t next_ = 0;  // first step that is not hashed yet
};

}  // namespace kb
