// End of a training that held out samples: its final and its best state on the test part.
#include "recipes/train/training_loop.h"

namespace kb {

// The state is the same afterwards.
void TrainingLoop::evaluate_test_part() {
  if (!parts_.task.valid) return;
  const int64_t done = result_.steps;
  parts_.world.at("evaluation of the test part");
  Evaluator evaluator(parts_.inference, parts_.task.fields, parts_.metrics.test, *parts_.task.test, parts_.world);
  result_.evaluation = evaluator.run(false);
  result_.part = kTestPart;
  if (parts_.averaged)
    result_.averaged =
        Evaluator(*parts_.averaged, parts_.task.fields, parts_.metrics.test, *parts_.task.test, parts_.world)
            .run(false);
  parts_.observer.tested({done, parts_.plan.epochs(done), false, *result_.evaluation, result_.averaged});
  if (!result_.best) return;
  BestState& best = *result_.best;
  if (best.step == done)
    best.test = result_.evaluation;
  else if (!best.model.empty())
    best.test = evaluate_with(best.model, evaluator);
  if (best.test) parts_.observer.tested({best.step, parts_.plan.epochs(best.step), true, *best.test, std::nullopt});
}

Evaluation TrainingLoop::evaluate_with(const std::vector<NamedTensor>& model, Evaluator& evaluator) {
  const std::vector<NamedTensor> own = parts_.store.canonical(false);
  parts_.store.load(model);
  const Evaluation evaluation = *evaluator.run(false);
  parts_.store.load(own);
  return evaluation;
}

}  // namespace kb
