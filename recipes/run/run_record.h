// Files that a run leaves in its folder as it goes: metrics with their curves, table and TensorBoard events, the model,
// checkpoints. One process of a run has them; the RunRecord of any other leaves nothing.
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

class RunRecord {
 public:
  RunRecord();  // leaves nothing
  ~RunRecord();
  RunRecord(RunRecord&&) noexcept;
  RunRecord& operator=(RunRecord&&) noexcept;
  // `goes_on`: with the metrics that are there. `begins_at`: steps done before. `flags`: of the run, for TensorBoard.
  // `facts`: into every checkpoint. `say`: see MetricsFile. The store must outlive it.
  RunRecord(const RunFolder& folder, bool goes_on, int64_t begins_at, const StateStore& store,
            const Hyperparameters& flags, std::map<std::string, std::string> facts, int64_t keep, MetricsFile::Say say);

  bool has_files() const { return files_ != nullptr; }
  void step(const StepMetrics& metrics);
  void layers(const LayerNorms& norms);
  void histograms(const LayerHistograms& histograms);
  void epoch(const EpochMetrics& metrics);
  void evaluation(const EvalMetrics& metrics);
  void drawing(const DrawnImages& drawn, int64_t step);
  void test(const TestMetrics& metrics);
  void stop(int64_t step, double lr, std::string_view reason);
  void end(const EndMetrics& metrics);

  // model.safetensors: the parameters after `step` steps.
  void save_model(int64_t step);
  // "RUN/model.safetensors, the parameters after 10 steps; RUN/checkpoints/step-00000010.safetensors"; `step` is that
  // of the model saved last, -1 where there is none.
  std::string kept(int64_t step) const;
  void save_checkpoint(const CheckpointCursor& cursor);
  // Throws what a save met; wait() waits for one under way first.
  void check();
  void wait();

 private:
  struct Files;
  std::unique_ptr<Files> files_;
};

}  // namespace kb
