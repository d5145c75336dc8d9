#include "recipes/train/step_reports.h"

#include <algorithm>
#include <utility>

#include "compiler/passes/loss_scale.h"

namespace kb {

StepReports::StepReports(LoopParts& parts, const Instruments& instruments)
    : parts_(parts), instruments_(instruments), begun_(parts.start.step), reported_(parts.start.step) {}

void StepReports::add(const TakenStep& taken) {
  taken_[static_cast<size_t>(taken.step) % taken_.size()] = taken;
  begun_ = taken.step + 1;
  host_seconds_ += taken.host_seconds;
}

void StepReports::until(int64_t end) {
  while (reported_ < end) report(reported_++);
}

double StepReports::read(const std::string& output, int age) {
  parts_.training().read(output, value_, age);
  return value_.at(0);
}

void StepReports::read_means(int age) {
  means_.clear();
  for (const NamedMetric& metric : parts_.metrics.training) means_.push_back(read(metric.name, age));
}

// Returns the seconds that the step took: to now from its begin or, if that is later, from the end of the step before.
// Steps may overlap on the host, but their seconds do not.
double StepReports::end_step(const TakenStep& taken) {
  const Clock::time_point end = Clock::now();
  const double seconds = std::chrono::duration<double>(end - std::max(taken.begun, last_done_)).count();
  last_done_ = end;
  train_seconds_ += seconds;
  return seconds;
}

// Waits for the step, reads its results, and tells the instruments and the observer.
void StepReports::report(int64_t step) {
  const TakenStep& taken = taken_[static_cast<size_t>(step) % taken_.size()];
  const int age = static_cast<int>(begun_ - 1 - step);
  const double loss = read("loss", age);
  read_means(age);
  const double seconds = end_step(taken);
  StepMetrics metrics{.step = step,
                      .epoch = parts_.plan.epochs(step),
                      .loss = loss,
                      .lr = parts_.schedule.rate(step),
                      .samples_per_s = static_cast<double>(parts_.batch.global) / seconds,
                      .data_wait_ms = taken.wait_ms,
                      .loss_scale = loss_scale(age),
                      .metrics = parts_.metrics.training,
                      .means = means_,
                      .group_rates = parts_.schedule.group_rates(step)};
  for (const auto& instrument : instruments_) instrument->add_to_step(metrics, age);
  parts_.observer.step(metrics);
  for (const auto& instrument : instruments_) instrument->stepped({metrics, age, train_seconds_});
}

std::optional<double> StepReports::loss_scale(int age) const {
  if (!parts_.training().has_output(kLossScale)) return std::nullopt;
  return parts_.training().read_scalar(kLossScale, age);
}

void StepReports::end_epoch(int64_t done) {
  EpochMetrics metrics{.step = done,
                       .epoch = parts_.plan.epochs(done),
                       .lr = parts_.schedule.rate(done - 1),
                       .seconds = train_seconds_ - std::exchange(epoch_seconds_, train_seconds_)};
  for (const auto& instrument : instruments_) instrument->add_to_epoch(metrics);
  parts_.observer.epoch(metrics);
  for (const auto& instrument : instruments_) instrument->epoch_ended();
}

void StepReports::tell(LoopResult& result) const {
  result.train_seconds = train_seconds_;
  result.host_seconds = host_seconds_;
}

}  // namespace kb
