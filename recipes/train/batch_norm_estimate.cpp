#include "recipes/train/batch_norm_estimate.h"

#include "graph/layers.h"

namespace kb {

BatchNormEstimate::BatchNormEstimate(Session& session, const std::vector<Field>& fields, const Source& train,
                                     int64_t seed, int64_t minibatches)
    : session_(session), minibatches_(minibatches), names_{kTrainingPart, &train} {
  for (int i = 0; i < session.depth(); ++i) slots_.emplace_back(session, fields);
  const int64_t n = session.input_type("weights").shape.at(0);
  FieldFill fill = train.gather(Order::training(static_cast<uint64_t>(seed), train.count(), n), 0);
  if (train.is_constant())
    for (HostBatch& slot : slots_) slot.fill(fill, 0);
  else
    fill_ = std::move(fill);
}

void BatchNormEstimate::run() {
  for (int64_t batch = 0; batch < minibatches_; ++batch) {
    HostBatch& slot = slots_[static_cast<size_t>(batch) % slots_.size()];
    if (fill_) slot.fill(fill_, batch, names_);
    slot.lend(session_);
    session_.set_scalar(kStatisticsShare, 1.0 / static_cast<double>(batch + 1));
    session_.step();
  }
  session_.wait();
}

}  // namespace kb
