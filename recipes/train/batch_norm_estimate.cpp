#include "graph/layers.h"
#include "recipes/train/feed.h"
#include "recipes/train/instruments.h"

namespace kb {
namespace {

// Estimates batch norm's running statistics anew from the training set: their mean over N minibatches
// (judging.recompute_bn), all with the present parameters. It replaces the moving average that training keeps (Goyal et
// al. 2017, section 5.1, use one of momentum 0.9), which gets few updates if the minibatch is large.
// Minibatch i holds the samples [i n, (i + 1) n) of the first epoch's order, without augmentation, and no layer drops
// values. The statistics thus depend only on the parameters, the seed and n. They do not depend on the steps done, on
// earlier evaluations or on the number of processes, since every process computes all minibatches.
class BatchNormEstimate : public Instrument {
 public:
  BatchNormEstimate(Session& session, const std::vector<Field>& fields, const Source& train, int64_t seed,
                    int64_t minibatches)
      : session_(session), minibatches_(minibatches), names_{kTrainingPart, &train} {
    for (int i = 0; i < session.depth(); ++i) slots_.emplace_back(session, fields);
    const int64_t n = session.input_type("weights").shape.at(0);
    FieldFill fill = train.gather(Order::training(static_cast<uint64_t>(seed), train.count(), n), 0);
    if (train.is_constant())
      for (HostBatch& slot : slots_) slot.fill(fill, 0);
    else
      fill_ = std::move(fill);
  }

  void evaluation_begins() override {
    for (int64_t batch = 0; batch < minibatches_; ++batch) {
      HostBatch& slot = slots_[static_cast<size_t>(batch) % slots_.size()];
      if (fill_) slot.fill(fill_, batch, names_);
      slot.lend(session_);
      session_.set_scalar(kStatisticsShare, 1.0 / static_cast<double>(batch + 1));
      session_.step();
    }
    session_.wait();
  }

 private:
  Session& session_;
  const int64_t minibatches_;
  std::vector<HostBatch> slots_;  // used in turn, since the device may still read the last ones
  FieldFill fill_;                // empty for noise: the slots hold its one minibatch
  const SampleNames names_;
};

}  // namespace

std::unique_ptr<Instrument> make_batch_norm_estimate(Session& session, const std::vector<Field>& fields,
                                                     const Source& train, int64_t seed, int64_t minibatches) {
  return std::make_unique<BatchNormEstimate>(session, fields, train, seed, minibatches);
}

}  // namespace kb
