// Takes the steps of a training whose gradients are applied by an order (recipes/orders/README.md): each worker reads
// the parameters into a copy of its own, computes a gradient there, and the order says when it is applied to which
// version. One process computes all workers. It computes a gradient when its fate is decided, so that one that is
// dropped or abandoned costs nothing; a step is the k applied gradients of kn samples.
//
// A resumed run repeats the order up to its step, without computing: copies of the parameters are in the checkpoint.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "recipes/orders/gradient_order.h"
#include "recipes/orders/order_file.h"
#include "recipes/train/feed.h"
#include "recipes/train/parts.h"

namespace kb {

// Measurements of a step of an ordered training.
struct OrderedStep {
  std::vector<double> figures = {};  // loss and training metrics, means over the gradients
  double clock_s = 0;                // virtual time in seconds at which its last gradient was applied
  double staleness = 0;              // mean number of updates between reading the parameters and applying the gradient
  double wait_ms = 0;                // time in ms to read the samples
};

class OrderedSteps {
 public:
  // Goes to the place of the step with which the training begins. `parts` must outlive this object. Throws Error if
  // sync.order is a file of another order.
  explicit OrderedSteps(const LoopParts& parts);

  // Computes and applies the gradients of the next step.
  OrderedStep take(int64_t step, RunSchedule& schedule);

 private:
  GradientRecord next();
  const OrderRules& rules() const { return file_ ? file_->rules() : made_->rules(); }
  void start_workers();
  void compute(const GradientRecord& gradient, OrderedStep& taken);
  void apply(const GradientRecord& gradient, int64_t step, RunSchedule& schedule);
  double rate_of(const GradientRecord& gradient);

  const LoopParts& parts_;
  const OrderPlan plan_;
  std::optional<GradientOrder> made_;
  std::optional<OrderReader> file_;
  HostBatch batch_;
  FieldFill fill_;
  int64_t arrived_ = 0;        // gradients of the update that is not complete
  double rate_before_ = 0;     // rate_of() of the update before
  std::vector<double> value_;  // the output that is being read
};

}  // namespace kb
