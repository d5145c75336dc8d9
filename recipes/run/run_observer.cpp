#include "recipes/run/run_observer.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "recipes/perf/overlap_report.h"
#include "recipes/perf/step_profiles.h"

namespace kb {

void RunObserver::step(const StepMetrics& metrics) {
  files().step(metrics);
  if (std::exchange(has_stepped_, true)) return;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - started_;
  console_.line(fmt::format("first step done {:.3f} s after the start of the program", passed.count()));
}

void RunObserver::evaluated(const EvaluationReport& report) {
  const Evaluation& evaluation = report.evaluation;
  log_.evaluated(report);
  files().evaluated(report);
  if (!std::isfinite(evaluation.loss)) return;  // the training throws an error about this loss next
  std::string figures, averaged, trained = "train loss -";
  for (const Figure& figure : evaluation.figures)
    figures += fmt::format("{} {} {}  ", report.part, figure.name, figure.text());
  if (report.training) {
    trained = fmt::format("train loss {:.4f}", report.training->loss);
    for (const Figure& figure : report.training->figures)
      trained += fmt::format("  train {} {}", figure.name, figure.text());
  }
  if (report.averaged) {
    averaged = "  averaged: ";
    for (const Figure& figure : report.averaged->figures) averaged += figure.text() + ", ";
    averaged += fmt::format("{:.4f}", report.averaged->loss);
  }
  const std::string noise = report.noise ? "  " + to_text(*report.noise) : "";
  const std::string gain = report.gain ? fmt::format("  gain {:.3g}", *report.gain) : "";
  console_.line(fmt::format("epoch {:<6.4g} step {:<8} {}{} loss {:.4f}  {}  {:.0f} s{}{}{}", report.epoch, report.step,
                            figures, report.part, evaluation.loss, trained, report.train_seconds, averaged, noise,
                            gain));
}

void RunObserver::open(std::unique_ptr<RunRecord> record, StepPicture picture, MlperfLog log, bool explains_overlap) {
  record_ = std::move(record);
  picture_.emplace(std::move(picture));
  log_ = std::move(log);
  explains_overlap_ = explains_overlap;
}

void RunObserver::profile_begins(int64_t step) {
  if (picture_->is_of(step)) picture_->begin();
}

void RunObserver::profiled(int64_t step, const Session& training, const Profile& profile) {
  if (explains_overlap_) overlaps_.push_back(measured_overlap(training, profile));
  if (picture_->is_of(step)) picture_->draw(training, profile);
}

std::string RunObserver::failed(const Failure& failure) {
  if (record_) record_->stop(failure.step, failure.learning_rate, failure.reason);
  if (failure.saved_at < 0) return "nothing";
  return record_ ? record_->kept(failure.saved_at)
                 : fmt::format("{} of rank 0, the parameters after {} steps", kModel, failure.saved_at);
}

}  // namespace kb
