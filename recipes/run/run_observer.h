// Observes a run that a command line began: its console, the files of its run folder, its picture of a step, and
// MLPerf's log.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "compiler/schedule/overlap.h"
#include "recipes/config/flag_names.h"
#include "recipes/run/console.h"
#include "recipes/run/mlperf_log.h"
#include "recipes/run/run_record.h"
#include "recipes/run/step_picture.h"
#include "recipes/train/observer.h"

namespace kb {

class RunObserver : public Observer {
 public:
  // `started`: start of the process. Until open() the observer has a console alone.
  RunObserver(bool quiet, bool may_rewrite, std::chrono::steady_clock::time_point started)
      : console_(quiet, may_rewrite), started_(started) {}

  void note(const std::string& line) override { console_.line(with_flags(line)); }
  bool wants_progress() override { return console_.wants_progress(); }
  void progress(const Progress& progress) override { console_.progress(progress); }
  void order_begins(const OrderPlan& plan, int64_t decided) override { files().order_begins(plan, decided); }
  void ordered(const GradientRecord& gradient) override { files().ordered(gradient); }
  void step(const StepMetrics& metrics) override;
  void layers(const LayerNorms& norms) override { files().layers(norms); }
  bool wants_histograms() override { return record_ != nullptr; }
  void histograms(const LayerHistograms& histograms) override { files().histograms(histograms); }
  void ranks(const RanksReport& report) override { files().ranks(report); }
  void epoch(const EpochMetrics& metrics) override { files().epoch(metrics); }
  void evaluation_begins(double epoch) override { log_.evaluation_begins(epoch); }
  void evaluated(const EvaluationReport& report) override;
  void tested(const TestReport& report) override { files().tested(report); }
  void save_model(int64_t steps) override { files().save_model(steps); }
  void save_checkpoint(const CheckpointCursor& cursor) override { files().save_checkpoint(cursor); }
  bool wants_profile(int64_t step) override { return explains_overlap_ || picture_->is_of(step); }
  void profile_begins(int64_t step) override;
  void profiled(int64_t step, const Session& training, const Profile& profile) override;
  void finish() override { files().finish(); }
  std::string failed(const Failure& failure) override;

 protected:
  // Sets where events go; must be called before the first of them. `explains_overlap`: every step is profiled.
  // `record`: null in a process that writes no files.
  void open(std::unique_ptr<RunRecord> record, StepPicture picture, MlperfLog log, bool explains_overlap);

  Console console_;
  std::unique_ptr<RunRecord> record_;
  MlperfLog log_;
  std::vector<Overlap> overlaps_;  // overlap of every step, if it is explained

 private:
  Observer& files() { return record_ ? *record_ : no_files_; }

  Observer no_files_;
  std::optional<StepPicture> picture_;
  bool explains_overlap_ = false;
  const std::chrono::steady_clock::time_point started_;
  bool has_stepped_ = false;
};

}  // namespace kb
