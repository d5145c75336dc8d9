// The hash by which a checkpoint recognises its learning-rate schedule.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "recipes/train/run_scalars.h"
#include "runtime/sha256.h"

namespace kb {

// SHA-256 over the scalars of all steps done, as the schedule counts them: equal where two schedules have agreed up to
// here.
class ScheduleHash {
 public:
  explicit ScheduleHash(RunScalars scalars) : scalars_(std::move(scalars)) {}
  std::string up_to(int64_t step);  // steps that do not fall from call to call

 private:
  RunScalars scalars_;
  Sha256 hash_;
  int64_t next_ = 0;
};

}  // namespace kb
