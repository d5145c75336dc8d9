#include "recipes/train/instruments.h"

#include "recipes/train/batch_norm_estimate.h"
#include "recipes/train/best_keeper.h"
#include "recipes/train/finite_guard.h"
#include "recipes/train/goals.h"
#include "recipes/train/layer_log.h"
#include "recipes/train/learning_judge.h"
#include "recipes/train/minibatch_growth.h"
#include "recipes/train/noise_log.h"
#include "recipes/train/progress_report.h"
#include "recipes/train/schedule_log.h"
#include "recipes/train/training_means.h"

namespace kb {

Instruments make_instruments(LoopParts& parts, StepFeed& feed) {
  Instruments all;
  const auto add = [&all]<class Kind>(std::unique_ptr<Kind> one) -> Kind& {
    Kind& added = *one;
    all.push_back(std::move(one));
    return added;
  };
  // A check before a step is of the minibatch that the step will have.
  add(std::make_unique<MinibatchGrowth>(parts, feed));
  add(std::make_unique<NoiseLog>(parts));
  // The norms of a step whose loss is not finite are still logged.
  add(std::make_unique<LayerLog>(parts));
  add(std::make_unique<FiniteGuard>(parts));
  // A run that diverges at its goal ends as diverged.
  // Losses of networks that work against each other need not fall.
  if (parts.metrics.groups.size() == 1) add(std::make_unique<LearningJudge>(parts));
  add(std::make_unique<TrainingMeans>(parts));
  if (parts.statistics)
    add(std::make_unique<BatchNormEstimate>(*parts.statistics, parts.task.fields, *parts.task.plain,
                                            parts.config.arithmetic.seed, parts.config.judging.recompute_bn));
  const BestKeeper& best = add(std::make_unique<BestKeeper>(parts));
  add(std::make_unique<Goals>(parts));
  // The steps left follow from the gain before the schedule takes the step.
  add(std::make_unique<ProgressReport>(parts, best));
  add(std::make_unique<ScheduleLog>(parts));
  return all;
}

}  // namespace kb
