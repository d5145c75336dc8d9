// The observer of a run that a command line began: its console, the files of its run folder, its
// picture of a step, and MLPerf's log.
#pragma once
#include <chrono>
#include <vector>

#include "compiler/overlap.h"
#include "recipes/run/console.h"
#include "recipes/run/mlperf_log.h"
#include "recipes/run/run_record.h"
#include "recipes/run/step_picture.h"
#include "recipes/train/observer.h"

namespace kb {

class RunObserver : public Observer {
 public:
  // All must outlive it. `started`: the process. `measures_overlap`: of every step, as --explain-overlap asks.
  RunObserver(Console& console, RunRecord& record, const StepPicture& picture, MlperfLog& log,
              std::chrono::steady_clock::time_point started, bool measures_overlap = false)
      : console_(console),
        record_(record),
        picture_(picture),
        log_(log),
        started_(started),
        measures_overlap_(measures_overlap) {}

  const std::vector<Overlap>& overlaps() const { return overlaps_; }  // one a step that was measured

  void note(const std::string& line) override { console_.line(line); }
  bool wants_progress() override { return console_.wants_progress(); }
  void progress(const Progress& progress) override { console_.progress(progress); }
  void step(const StepMetrics& metrics) override;
  void layers(const LayerNorms& norms) override { record_.layers(norms); }
  bool wants_histograms() override { return record_.has_files(); }
  void histograms(const LayerHistograms& histograms) override { record_.histograms(histograms); }
  void epoch(const EpochMetrics& metrics) override { record_.epoch(metrics); }
  void evaluation_begins(double epoch) override { log_.evaluation_begins(epoch); }
  void evaluated(const EvaluationReport& report) override;
  void tested(const TestReport& report) override;
  void save_model(int64_t steps) override { record_.save_model(steps); }
  void save_checkpoint(const CheckpointCursor& cursor) override { record_.save_checkpoint(cursor); }
  bool wants_profile(int64_t step) override { return measures_overlap_ || picture_.is_of(step); }
  void profile_begins(int64_t step) override;
  void profiled(int64_t step, const Session& training, const Profile& profile) override;
  void finish() override { record_.wait(); }
  std::string failed(const Failure& failure) override;

 private:
  Console& console_;
  RunRecord& record_;
  const StepPicture& picture_;
  MlperfLog& log_;
  const std::chrono::steady_clock::time_point started_;
  const bool measures_overlap_;
  bool has_stepped_ = false;
  std::vector<Overlap> overlaps_;
};

}  // namespace kb
