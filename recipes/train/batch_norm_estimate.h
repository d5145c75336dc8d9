// Batch norm's running statistics, estimated anew from the training set: the mean over N minibatches with the
// parameters as they are, in place of the moving average of training, which a large minibatch updates seldom (Goyal et
// al. 2017, section 5.1, keep that one, of momentum 0.9).
#pragma once
#include "recipes/train/feed.h"
#include "recipes/train/instrument.h"

namespace kb {

// An estimate of batch norm's running statistics. Minibatch i holds the samples [i n, (i + 1) n) of the first epoch's
// order, not augmented; there is no dropout. So the statistics depend on parameters, seed and n alone: not on steps
// done, evaluations before, or the number of processes, each of which computes them all.
class BatchNormEstimate : public Instrument {
 public:
  // `session` runs a statistics program of a task with these fields; it and the source must outlive this. The
  // minibatches must lie in the source; of noise there is one, which stands for all.
  BatchNormEstimate(Session& session, const std::vector<Field>& fields, const Source& train, int64_t seed,
                    int64_t minibatches);

  // Writes the running statistics.
  void run();

  void evaluation_begins() override { run(); }

 private:
  Session& session_;
  const int64_t minibatches_;
  std::vector<HostBatch> slots_;  // in turn: the device may still read some
  FieldFill fill_;                // none: the slots hold what stands for all
  const SampleNames names_;
};

}  // namespace kb
