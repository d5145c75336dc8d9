#include "recipes/train/batch_norm_estimate.h"

#include "graph/layers.h"

namespace kb {

BatchNormEstimate::BatchNormEstimate(Session& session, const Split& train, const InputSpec& input, int64_t seed,
                                     int64_t minibatches)
    : session_(session), minibatches_(minibatches) {
  for (int i = 0; i < session.depth(); ++i) slots_.emplace_back(session);
  const int64_t n = session.input_type("weights").shape.at(0);
  if (input.noise)
    for (HostBatch& slot : slots_) fill_with_noise(slot, input.classes, 1);
  else
    fill_ = gather_rows(train, Order::training(static_cast<uint64_t>(seed), train.count(), n));
}

void BatchNormEstimate::run() {
  for (int64_t batch = 0; batch < minibatches_; ++batch) {
    HostBatch& slot = slots_[static_cast<size_t>(batch) % slots_.size()];
    if (fill_) fill_(batch, slot.memory());
    lend(session_, slot);
    session_.set_scalar(kStatisticsShare, 1.0 / static_cast<double>(batch + 1));
    session_.step();
  }
  session_.wait();
}

}  // namespace kb
