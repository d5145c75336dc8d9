// Measured times of the parts of a training step, as medians over several profiles.
#pragma once
#include <vector>

#include "compiler/schedule/overlap.h"
#include "runtime/session.h"

namespace kb {

// Returns the overlap of the step that Session::profile() took.
Overlap measured_overlap(const Session& session, const Profile& profile);
// Returns the overlap of the step with the median time. `steps` must not be empty.
const Overlap& median_step(const std::vector<Overlap>& steps);

// Returns the seconds of every schedule step of Session::profiled(), each the median over several profiles.
std::vector<double> routine_seconds(Session& session);
// Times of one training step, in seconds.
struct TimedStep {
  double prepare = 0;              // sum over the schedule steps before the program `final`
  std::vector<double> final = {};  // every schedule step of `final`
  double sum() const;
  void scale(double factor);  // multiplies all times by `factor`
};
TimedStep profiled_step(Session& session);
// Profiles several steps and returns the profile with the median time.
Profile median_profile(Session& session);

}  // namespace kb
