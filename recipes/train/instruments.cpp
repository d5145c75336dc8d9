#include "recipes/train/instruments.h"

#include "recipes/train/best_keeper.h"

namespace kb {

Instruments make_instruments(LoopParts& parts, StepFeed& feed) {
  Instruments all;
  // MinibatchGrowth acts first, so that FiniteGuard checks a step with the minibatch that the step will have.
  all.push_back(make_minibatch_growth(parts, feed));
  if (parts.copies.join) all.push_back(make_local_rounds(parts, feed));
  all.push_back(make_noise_log(parts));
  // LayerLog stands before FiniteGuard, which throws: so the norms of a step whose loss is not finite are logged.
  all.push_back(make_layer_log(parts));
  all.push_back(make_finite_guard(parts));
  // LearningJudge stands before Goals, so that a run which diverges at its goal ends as diverged. It is left out if the
  // losses train several groups of parameters, such as adversarial networks, whose losses need not fall.
  if (parts.metrics.groups.size() == 1) all.push_back(make_learning_judge(parts));
  all.push_back(make_training_means(parts));
  if (parts.world.size() > 1) all.push_back(make_rank_times(parts));
  if (parts.statistics)
    all.push_back(make_batch_norm_estimate(*parts.statistics, parts.task.fields, *parts.task.plain,
                                           parts.config.arithmetic.seed, parts.config.judging.recompute_bn));
  auto keeper = std::make_unique<BestKeeper>(parts);
  const BestKeeper& best = *keeper;
  all.push_back(std::move(keeper));
  all.push_back(make_goals(parts));
  // ProgressReport stands before ScheduleLog: it reads the schedule before ScheduleLog adds the step's norms to it.
  all.push_back(make_progress_report(parts, best));
  all.push_back(make_schedule_log(parts));
  return all;
}

}  // namespace kb
