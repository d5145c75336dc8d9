// Estimates batch norm's running statistics anew from the training set: their mean over N minibatches
// (judging.recompute_bn), all with the present parameters. It replaces the moving average that training keeps (Goyal et
// al. 2017, section 5.1, use one of momentum 0.9), which gets few updates if the minibatch is large.
#pragma once
#include "recipes/train/feed.h"
#include "recipes/train/instrument.h"

namespace kb {

// Minibatch i holds the samples [i n, (i + 1) n) of the first epoch's order, without augmentation, and no layer drops
// values. The statistics thus depend only on the parameters, the seed and n. They do not depend on the steps done, on
// earlier evaluations or on the number of processes, since every process computes all minibatches.
class BatchNormEstimate : public Instrument {
 public:
  // `session` runs the statistics program (Use::estimate) of a task with these fields; session and source must outlive
  // this object. The source must have samples for all minibatches, unless it is noise: then one minibatch serves for
  // all.
  BatchNormEstimate(Session& session, const std::vector<Field>& fields, const Source& train, int64_t seed,
                    int64_t minibatches);

  // Sets the running statistics in the session's state.
  void run();

  void evaluation_begins() override { run(); }

 private:
  Session& session_;
  const int64_t minibatches_;
  std::vector<HostBatch> slots_;  // used in turn, since the device may still read the last ones
  FieldFill fill_;                // empty for noise: the slots hold its one minibatch
  const SampleNames names_;
};

}  // namespace kb
