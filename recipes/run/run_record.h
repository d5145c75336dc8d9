// Writes the files that a run leaves in its folder as it goes: metrics with their curves, table and TensorBoard events,
// the model, checkpoints. One process of a run does that; the RunRecord of any other writes nothing.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "recipes/run/run_folder.h"
#include "recipes/run/tensorboard_events.h"
#include "recipes/train/evaluate.h"
#include "recipes/train/metrics.h"
#include "runtime/checkpoint.h"

namespace kb {

struct GradientRecord;
struct OrderPlan;

class RunRecord {
 public:
  RunRecord();  // writes nothing
  ~RunRecord();
  RunRecord(RunRecord&&) noexcept;
  RunRecord& operator=(RunRecord&&) noexcept;
  // Opens the files. `goes_on`: continues the metrics that are there. `begins_at`: number of steps done before.
  // `flags`: those of the run, for TensorBoard. `facts`: part of every checkpoint. `keep`: number of checkpoints that
  // stay. `say`: see MetricsFile. `store` must outlive the object.
  RunRecord(const RunFolder& folder, bool goes_on, int64_t begins_at, const StateStore& store,
            const Hyperparameters& flags, std::map<std::string, std::string> facts, int64_t keep, MetricsFile::Say say);

  bool has_files() const { return files_ != nullptr; }
  // Begins or goes on with order.jsonl after so many gradients; those of a run that this one branches from are made
  // again.
  void order_begins(const OrderPlan& plan, int64_t decided);
  void ordered(const GradientRecord& gradient);
  void step(const StepMetrics& metrics);
  void layers(const LayerNorms& norms);
  void histograms(const LayerHistograms& histograms);
  void ranks(const RanksReport& report);
  void epoch(const EpochMetrics& metrics);
  void evaluation(const EvaluationReport& report);
  void test(const TestReport& report);
  void stop(int64_t step, double lr, std::string_view reason);
  void end(const EndMetrics& metrics);

  // Writes model.safetensors: the parameters after `step` steps. Throws FileError that names the newest checkpoint if
  // it cannot.
  void save_model(int64_t step);
  // Returns "RUN/model.safetensors, the parameters after 10 steps; RUN/checkpoints/step-00000010.safetensors". `step`:
  // that of the last saved model; -1: none was saved, and the text is "nothing".
  std::string kept(int64_t step) const;
  void save_checkpoint(const CheckpointCursor& cursor);
  // Throws the error that a save met; wait() first waits for a save that is under way.
  void check();
  void wait();

 private:
  struct Files;
  void finish_checkpoint() const;
  std::unique_ptr<Files> files_;
};

}  // namespace kb
