// The configuration of a training and every choice that was left to the machine: programs and loop follow from them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/target.h"
#include "optim/batch_plan.h"
#include "recipes/config/plan.h"
#include "recipes/train/residency.h"

namespace kb {

// How many samples a virtual worker takes at most in the memory there is (recipes/train/fit.h).
struct Fit {
  int64_t per_worker = 0;  // n
  int64_t bytes = 0;       // that all its programs take together
  int64_t memory = 0;      // bytes that they may take
  int64_t recomputed = 0;  // activations that are computed again, for memory is short
  std::string text = {};   // a sentence for a person
};

// All that the programs of a training and its loop follow from.
struct Settled {
  TrainConfig config = {};  // the configuration as it was given
  BatchPlan batch = {};     // sharing of a step in the first phase of the plan
  RunPlan plan = {};
  Target target = {};                     // the device, with arithmetic.memory as its memory if that is given
  Residency residency = {};               // rows of the data that live on the device
  int64_t bucket_bytes = 0;               // bytes of the gradient that processes sum together
  double bucket_mb = 0;                   // arithmetic.bucket_mb as it was given or chosen; 0: nothing is to choose
  int threads = 0;                        // threads of this process; 0: one a core
  int loader_threads = 0;                 // 0: a step fills its own minibatch
  int shards = 0;                         // parts of a minibatch in library calls
  std::optional<Fit> fit = {};            // set if batch.fit asks for it
  std::vector<std::string> reasons = {};  // sentences

  // How a step of the plan's phase `number` is shared; a growth adds workers of as many samples.
  BatchPlan batch_of(size_t number) const;
};

// Returns the choices for programs that are compiled for `processes` processes and looked at or timed alone: buckets
// have a fixed size, batches are sent unless `residency` says otherwise, and no length of the training is checked.
Settled settle_for_one_step(const TrainConfig& config, const Target& target, int64_t processes = 1,
                            Residency residency = {});

}  // namespace kb
