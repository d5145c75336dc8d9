// Gathers, at each evaluation of a training on several processes, how long each rank computed for a step and waited for
// data. All ranks' steps take the same time, since they wait for each other: without those waits the slowest is seen.
#pragma once
#include <string>

#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"

namespace kb {

// Returns a NOTE on the rank that computes longest, such as "NOTE: rank 5 (node3): 1.31 x the median of the others; 14
// ms of a step wait for it"; "" if it takes at most kSlowRank times that median.
inline constexpr double kSlowRank = 1.1;
std::string slow_rank_text(const RanksReport& report);

class RankTimes : public Instrument {
 public:
  // `parts` must outlive this object.
  explicit RankTimes(const LoopParts& parts) : parts_(parts) {}

  void stepped(const ReportedStep& reported) override;
  void evaluation_begins() override;

 private:
  const LoopParts& parts_;
  int64_t steps_ = 0, last_ = 0;
  double compute_ms_ = 0, data_wait_ms_ = 0;
};

}  // namespace kb
