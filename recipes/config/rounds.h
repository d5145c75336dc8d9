// Rounds of local training: replicas of the model take steps of their own and are joined at the end of each round
// (--policy local; Lin et al. 2020, "Don't Use Large Mini-Batches, Use Local SGD").
#pragma once
#include <cstdint>

namespace kb {

struct Rounds {
  int64_t replicas = 0;   // 0: every step is synchronous
  int64_t every = 1;      // steps of a round
  int64_t first = 0;      // step with which the first round begins; the steps before are synchronous
  int64_t end = 0;        // steps of the run, whose last round may be shorter
  int64_t processes = 1;  // processes of the run: they share the replicas evenly, or each replica has as many of them

  int64_t processes_a_replica() const { return processes > replicas ? processes / replicas : 1; }

  bool has(int64_t step) const { return replicas > 0 && step >= first; }
  bool begins_with(int64_t step) const { return has(step) && (step - first) % every == 0; }
  // Returns whether the replicas are joined after the first `done` steps.
  bool ends_after(int64_t done) const {
    return done > 0 && has(done - 1) && ((done - first) % every == 0 || done == end);
  }
  int64_t number_of(int64_t step) const { return (step - first) / every; }                        // counted from 0
  int64_t steps_until(int64_t done) const { return done - first - number_of(done - 1) * every; }  // of that round
};

}  // namespace kb
