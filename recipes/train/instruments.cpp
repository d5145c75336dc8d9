#include "recipes/train/instruments.h"

#include "recipes/train/batch_norm_estimate.h"
#include "recipes/train/best_keeper.h"
#include "recipes/train/finite_guard.h"
#include "recipes/train/goals.h"
#include "recipes/train/layer_log.h"
#include "recipes/train/learning_judge.h"
#include "recipes/train/local_rounds.h"
#include "recipes/train/minibatch_growth.h"
#include "recipes/train/noise_log.h"
#include "recipes/train/progress_report.h"
#include "recipes/train/rank_times.h"
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
  // MinibatchGrowth acts first, so that FiniteGuard checks a step with the minibatch that the step will have.
  add(std::make_unique<MinibatchGrowth>(parts, feed));
  if (parts.copies.join) add(std::make_unique<LocalRounds>(parts, feed));
  add(std::make_unique<NoiseLog>(parts));
  // LayerLog stands before FiniteGuard, which throws: so the norms of a step whose loss is not finite are logged.
  add(std::make_unique<LayerLog>(parts));
  add(std::make_unique<FiniteGuard>(parts));
  // LearningJudge stands before Goals, so that a run which diverges at its goal ends as diverged. It is left out if the
  // losses train several groups of parameters, such as adversarial networks, whose losses need not fall.
  if (parts.metrics.groups.size() == 1) add(std::make_unique<LearningJudge>(parts));
  add(std::make_unique<TrainingMeans>(parts));
  if (parts.world.size() > 1) add(std::make_unique<RankTimes>(parts));
  if (parts.statistics)
    add(std::make_unique<BatchNormEstimate>(*parts.statistics, parts.task.fields, *parts.task.plain,
                                            parts.config.arithmetic.seed, parts.config.judging.recompute_bn));
  const BestKeeper& best = add(std::make_unique<BestKeeper>(parts));
  add(std::make_unique<Goals>(parts));
  // ProgressReport stands before ScheduleLog: it reads the schedule before ScheduleLog adds the step's norms to it.
  add(std::make_unique<ProgressReport>(parts, best));
  add(std::make_unique<ScheduleLog>(parts));
  return all;
}

}  // namespace kb
