#include "recipes/train/timed_inputs.h"

#include "recipes/config/learning.h"
#include "recipes/train/feed.h"

namespace kb {

void fill_timed_inputs(Session& session, const Task& noise, const TrainConfig& config) {
  HostBatch batch(session, noise.fields);
  batch.fill(noise.train->gather(Order::training(0, config.batch.minibatch, config.batch.minibatch), 0), 0);
  batch.feed(session);
  const RunPlan plan{config.batch.minibatch, config.batch.minibatch, 1, 1};
  auto scalars = make_scalars(noise.optimizers, config.learning, plan);
  for (const NamedScalar& scalar : scalars.at(0)) session.set_scalar(scalar.name, scalar.value);
  session.set_scalar("learning_rate", 0);  // the parameters stay
  session.set_scalar("label_smoothing", config.learning.label_smoothing);
  session.set_scalar("seed", static_cast<double>(config.arithmetic.seed));
}

}  // namespace kb
