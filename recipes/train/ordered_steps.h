// Takes the steps of a training whose gradients are applied by an order (recipes/orders/README.md): each worker reads
// the parameters into a copy of its own, computes a gradient there, and the order says when it is applied to which
// version. A step is the k applied gradients of kn samples. One process computes all workers, by a virtual clock or by
// a file: it computes a gradient when its fate is decided, so that one that is dropped or abandoned costs nothing. On
// several processes each worker has its own, and the order is that in which their gradients come
// (recipes/train/gradient_server.h).
//
// A resumed run repeats the order up to its step, without computing: copies of the parameters are in the checkpoint. An
// order of several processes is repeated from the run's order.jsonl.
#pragma once
#include <chrono>
#include <optional>
#include <vector>

#include "recipes/orders/gradient_order.h"
#include "recipes/orders/order_file.h"
#include "recipes/train/gradient_server.h"
#include "recipes/train/parts.h"
#include "recipes/train/worker_gradient.h"

namespace kb {

// Measurements of a step of an ordered training.
struct OrderedStep {
  std::vector<double> figures = {};  // loss and training metrics, means over the gradients
  double clock_s = 0;                // virtual time in seconds at which its last gradient was applied
  double staleness = 0;              // mean number of updates between reading the parameters and applying the gradient
  double wait_ms = 0;                // time in ms to read the samples
};

// Throws Error if the settings of a training of so many processes make no order, or if sync.times or sync.order is a
// file that cannot be read or is of another training.
void check_gradient_order(const Settled& settled, int64_t processes);

class OrderedSteps {
 public:
  // Goes to the place of the step with which the training begins. `parts` must outlive this object. Throws Error if
  // sync.order, or start.order of several processes, is a file of another order.
  explicit OrderedSteps(const LoopParts& parts);

  // Computes and applies the gradients of the next step.
  OrderedStep take(int64_t step, RunSchedule& schedule);

 private:
  // A gradient with a decided fate. If a worker's process has computed it, its figures have come with it.
  struct Decided {
    GradientRecord record;
    std::vector<double> figures = {};
  };
  GradientRecord repeated();
  void go_to_start();
  void begin_clock(OrderState place);
  Decided next();
  const OrderRules& rules() const { return file_ ? file_->rules() : made_ ? made_->rules() : *live_; }
  void start_workers();
  void start(int64_t worker);
  void add_figures(const GradientRecord& gradient, const std::vector<double>& came, OrderedStep& taken);
  void apply(const GradientRecord& gradient, const Update& update, RunSchedule& schedule);
  Update update_of(int64_t gradient) const;
  double rate_of(const GradientRecord& gradient);

  const LoopParts& parts_;
  const OrderPlan plan_;
  std::optional<GradientOrder> made_;  // one process, by a virtual clock
  std::optional<OrderReader> file_;    // one process, by a file
  // These are set on several processes, once the order is at the start: the rules, and the real time at which the
  // order's clock stood at 0.
  std::optional<OrderRules> live_;
  std::chrono::steady_clock::time_point clock_begin_ = {};
  std::optional<GradientServer> server_;
  WorkerGradient gradient_;
  int64_t arrived_ = 0;     // gradients of the update that is not complete
  double rate_before_ = 0;  // rate_of() of the update before
};

}  // namespace kb
