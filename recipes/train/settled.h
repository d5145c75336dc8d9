// The configuration of a training and every choice that was left to the machine. Together they determine the programs
// and the loop.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/target.h"
#include "optim/batch_plan.h"
#include "recipes/config/buckets.h"
#include "recipes/config/plan.h"
#include "recipes/train/residency.h"

namespace kb {

// The result of batch.fit: the largest virtual worker whose programs fit into the memory (recipes/train/fit.h).
struct Fit {
  int64_t per_worker = 0;  // n, samples of a virtual worker
  int64_t bytes = 0;       // bytes that all programs take together
  int64_t memory = 0;      // bytes of the memory, of which programs may fill the share kFitShare
  int64_t recomputed = 0;  // number of activations that are computed again to save memory
  std::string text = {};   // a sentence for a person
};

// Everything that determines the programs of a training and its loop, except the task.
struct Settled {
  TrainConfig config = {};             // the configuration as it was given
  BatchPlan batch = {};                // sharing of a step of config.batch.minibatch samples
  std::vector<Bucket> buckets = {{}};  // at least one
  RunPlan plan = {};
  Target target = {};                     // the device, with arithmetic.memory, if given, and arithmetic.products
  Residency residency = {};               // rows of the data that live on the device
  int64_t bucket_bytes = 0;               // bytes of the gradient that processes sum together
  double bucket_mb = 0;                   // arithmetic.bucket_mb as given or chosen; 0: neither, so the default holds
  int threads = 0;                        // threads of this process; 0: one per core
  int loader_threads = 0;                 // 0: the training thread fills each minibatch
  int shards = 0;                         // number of parts of a minibatch in library calls
  std::optional<Fit> fit = {};            // set if batch.fit asks for it
  std::vector<std::string> reasons = {};  // a sentence for people about each choice that needs one

  // Returns how a step of a phase of the plan and of a bucket is shared. A growth adds virtual workers; n stays the
  // same.
  BatchPlan batch_of(size_t phase, size_t bucket = 0) const;
};

// Returns the target of a device, with the kernels that the configuration chooses for a GPU (arithmetic.products).
Target chosen_kernels(const Arithmetic& arithmetic, Target target);

// Returns choices for programs that are compiled for `processes` processes in order to inspect or time single steps.
// Buckets have the given or the default size, batches are sent unless `residency` says otherwise, and the length of the
// training is not checked.
Settled settle_for_one_step(const TrainConfig& config, const Target& target, int64_t processes = 1,
                            Residency residency = {});

}  // namespace kb
