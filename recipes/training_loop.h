// The training loop: batches in, steps, evaluations, metrics out; how it ended.
#pragma once
#include "recipes/console.h"
#include "recipes/evaluate.h"
#include "recipes/interrupt.h"
#include "recipes/metrics.h"
#include "recipes/run_folder.h"

namespace kb {

enum class Ending : uint8_t { finished, interrupted, not_finite };

struct LoopResult {
  Ending ending = Ending::finished;
  int64_t steps = 0;         // done
  double train_seconds = 0;  // without evaluations
  Evaluation evaluation;     // of the final parameters; of the last good ones where the loss was not finite
};

// What the loop works on; all must outlive it.
struct LoopParts {
  const Flags& flags;
  const RunPlan& plan;
  SgdScalars scalars;
  const Dataset& data;
  Session& training;
  Session& inference;
  StateStore& store;
  const RunFolder& folder;
  MetricsFile& metrics;
  Console& console;
};

class TrainingLoop {
 public:
  explicit TrainingLoop(LoopParts parts);

  // Steps until the plan is done, Ctrl-C, or a loss that is not finite. Leaves model.safetensors of the parameters last
  // evaluated.
  LoopResult run();

 private:
  using Clock = std::chrono::steady_clock;
  void set_constants();
  // One step; false where the loss is not finite.
  bool step(int64_t step);
  void set_scalars(int64_t step);
  void after_step(int64_t done);
  bool evaluation_is_due(int64_t done) const;
  void evaluate(int64_t done);
  void show_progress(const StepMetrics& metrics);
  void report_not_finite(int64_t step);

  LoopParts parts_;
  const Order order_;
  std::vector<HostBatch> slots_;
  Loader loader_;
  Evaluator evaluator_;
  Interrupt interrupt_;
  std::vector<double> loss_;
  LoopResult result_;
  int64_t evaluated_at_ = -1;  // steps done at the last evaluation
};

}  // namespace kb
