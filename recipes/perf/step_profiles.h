// Steps that are measured: the times of their parts, as the median of several profiles.
#pragma once
#include <vector>

#include "compiler/schedule/overlap.h"
#include "runtime/session.h"

namespace kb {

// Returns the overlap of the step that Session::profile() took.
Overlap measured_overlap(const Session& session, const Profile& profile);
// Returns the overlap of the step with the median time. `steps` must not be empty.
const Overlap& median_step(const std::vector<Overlap>& steps);

// Seconds of the steps of the routine that ends a step (Session::profiled), each the median of several profiles.
std::vector<double> routine_seconds(Session& session);
// Seconds of the steps of `final`, each by itself, and of all of `prepare` together.
struct TimedStep {
  double prepare = 0;
  std::vector<double> final = {};
  double sum() const;
  void scale(double factor);
};
TimedStep profiled_step(Session& session);
// Profiles several steps and returns the profile with the median time.
Profile median_profile(Session& session);

}  // namespace kb
