#include "recipes/run/run_observer.h"

#include <fmt/format.h>

#include <cmath>

namespace kb {

void RunObserver::step(const StepMetrics& metrics) {
  record_.step(metrics);
  record_.check();
}

void RunObserver::evaluated(const EvaluationReport& report) {
  const Evaluation& evaluation = report.evaluation;
  EvalMetrics metrics{report.step, report.epoch, evaluation.loss, evaluation.error, evaluation.count};
  std::string averaged;
  if (report.averaged) {
    metrics.ema_loss = report.averaged->loss;
    metrics.ema_error = report.averaged->error;
    averaged = fmt::format("  averaged: {:.2f} %, {:.4f}", 100 * report.averaged->error, report.averaged->loss);
  }
  record_.evaluation(metrics);
  if (!std::isfinite(evaluation.loss)) return;  // the error that follows says so
  console_.line(
      fmt::format("epoch {:<6.4g} step {:<8} test error {:.2f} %  test loss {:.4f}  train loss {}  {:.0f} s{}",
                  report.epoch, report.step, 100 * evaluation.error, evaluation.loss,
                  report.train_loss ? fmt::format("{:.4f}", *report.train_loss) : "-", report.train_seconds, averaged));
}

std::string RunObserver::failed(const Failure& failure) {
  record_.stop(failure.step, failure.learning_rate, failure.reason);
  return record_.kept(failure.saved_at);
}

}  // namespace kb
