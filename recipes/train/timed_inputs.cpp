#include "recipes/train/timed_inputs.h"
#include "recipes/train/declared_names.h"

#include "recipes/train/feed.h"
#include "recipes/train/programs.h"
#include "recipes/train/run_schedule.h"

namespace kb {
namespace {

bool is_learning_rate(const std::string& scalar) {
  return scalar == "learning_rate" || scalar.ends_with(".learning_rate");
}

}  // namespace

void fill_timed_inputs(Session& session, const Task& noise, const TrainConfig& config) {
  HostBatch batch(session, noise.fields);
  batch.fill(noise.train->gather(Order::training(0, config.batch.minibatch, config.batch.minibatch), 0), 0);
  batch.feed(session);
  const RunPlan plan{config.batch.minibatch, config.batch.minibatch, 1, 1};
  RunScalars scalars(rules_of(noise), learning_of_groups(config, groups_of(noise, config.batch)), plan);
  for (const NamedScalar& scalar : scalars.at(0))
    session.set_scalar(scalar.name, is_learning_rate(scalar.name) ? 0 : scalar.value);  // keeps the parameters
  session.set_scalar(kLabelSmoothing, config.learning.label_smoothing);
  session.set_scalar("seed", static_cast<double>(config.arithmetic.seed));
}

}  // namespace kb
