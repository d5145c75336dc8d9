// Writes the files that a run leaves in its folder as it goes: metrics with their curves, table and TensorBoard events,
// the model, checkpoints. One process of a run does that.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "recipes/orders/order_file.h"
#include "recipes/run/metrics_views.h"
#include "recipes/run/run_folder.h"
#include "recipes/run/tensorboard_events.h"
#include "recipes/train/metrics.h"
#include "recipes/train/observer.h"
#include "runtime/checkpoint.h"

namespace kb {

class RunRecord : public Observer {
 public:
  // Opens the files. `goes_on`: continues the metrics that are there. `begins_at`: number of steps done before.
  // `flags`: those of the run, for TensorBoard. `facts`: part of every checkpoint. `keep`: number of checkpoints that
  // stay. `say`: see MetricsFile. `store` must outlive the object.
  RunRecord(const RunFolder& folder, bool goes_on, int64_t begins_at, const StateStore& store,
            const Hyperparameters& flags, std::map<std::string, std::string> facts, int64_t keep, MetricsFile::Say say);

  // Begins or goes on with order.jsonl after so many gradients; those of a run that this one branches from are made
  // again.
  void order_begins(const OrderPlan& plan, int64_t decided) override;
  void ordered(const GradientRecord& gradient) override { order_->write(gradient); }
  // Throws the error that a save of a checkpoint met, too.
  void step(const StepMetrics& metrics) override;
  void layers(const LayerNorms& norms) override;
  void histograms(const LayerHistograms& histograms) override { events_.histograms(histograms); }
  void ranks(const RanksReport& report) override { metrics_.ranks(report); }
  void epoch(const EpochMetrics& metrics) override { metrics_.epoch(metrics); }
  void evaluated(const EvaluationReport& report) override;
  void tested(const TestReport& report) override;
  void stop(int64_t step, double lr, std::string_view reason);
  void end(const EndMetrics& metrics);

  // Writes model.safetensors: the parameters after `step` steps. Throws FileError that names the newest checkpoint if
  // it cannot.
  void save_model(int64_t step) override;
  // Returns "RUN/model.safetensors, the parameters after 10 steps; RUN/checkpoints/step-00000010.safetensors". `step`:
  // that of the last saved model.
  std::string kept(int64_t step);
  void save_checkpoint(const CheckpointCursor& cursor) override;
  // Waits for a save that is under way, and throws the error that it met.
  void finish() override { checkpoints_.wait(); }

 private:
  void finish_checkpoint();
  void sync() const;

  const RunFolder folder_;
  const StateStore& store_;
  MetricsFile metrics_;
  TensorboardEvents events_;
  MetricsViews views_;
  CheckpointWriter checkpoints_;
  std::optional<OrderWriter> order_;
};

}  // namespace kb
