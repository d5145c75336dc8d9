// The training loop: batches in, steps, evaluations, metrics out; how it ended.
#pragma once
#include "recipes/console.h"
#include "recipes/evaluate.h"
#include "recipes/interrupt.h"
#include "recipes/metrics.h"
#include "recipes/run_folder.h"

namespace kb {

enum class Ending : uint8_t { finished, interrupted };

struct LoopResult {
  Ending ending = Ending::finished;
  int64_t steps = 0;         // done
  double train_seconds = 0;  // without evaluations
  Evaluation evaluation;     // of the final parameters
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

  // Steps until the plan is done or Ctrl-C. model.safetensors holds the parameters that were evaluated last, at first
  // the initial ones. Throws Error, with the step and its learning rate, where the loss is not finite.
  LoopResult run();

 private:
  using Clock = std::chrono::steady_clock;
  void set_constants();
  void step(int64_t step);
  void set_scalars(int64_t step);
  void after_step(int64_t done);
  bool evaluation_is_due(int64_t done) const;
  void evaluate(int64_t done);
  void show_progress(const StepMetrics& metrics);
  [[noreturn]] void stop_not_finite(const char* what, double value, int64_t step);
  void save_model(int64_t done);

  LoopParts parts_;
  const Order order_;
  std::vector<HostBatch> slots_;
  Loader loader_;
  Evaluator evaluator_;
  Interrupt interrupt_;
  std::vector<double> loss_;
  LoopResult result_;
  double loss_sum_ = 0;  // since the last evaluation
  int64_t losses_ = 0;
  int64_t evaluated_at_ = -1;  // steps done at the last evaluation
  int64_t saved_at_ = 0;       // steps done when model.safetensors was written
};

}  // namespace kb
