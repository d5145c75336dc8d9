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

// At most one step was begun after a step that is not reported.
StepOutputs StepReports::outputs_of(int64_t step) const {
  const auto session_of = [&](int64_t number) { return taken_[static_cast<size_t>(number) % taken_.size()].session; };
  const bool is_last = step + 1 == begun_;
  const bool is_followed = !is_last && session_of(step + 1) == session_of(step);
  return {*session_of(step), is_followed ? 1 : 0, is_last};
}

double StepReports::read(const std::string& output, const StepOutputs& outputs) {
  outputs.session.read(output, value_, outputs.age);
  return value_.at(0);
}

// Returns the loss, and sets the training metrics and the loss scale.
double StepReports::read_figures(const TakenStep& taken, const StepOutputs& outputs) {
  means_.clear();
  loss_scale_ = taken.loss_scale;
  if (!taken.figures.empty()) {
    means_.assign(taken.figures.begin() + 1, taken.figures.end());
    return taken.figures.front();
  }
  for (const NamedMetric& metric : parts_.metrics.training) means_.push_back(read(metric.name, outputs));
  if (outputs.session.has_output(kLossScale)) loss_scale_ = outputs.scalar(kLossScale);
  return read("loss", outputs);
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
  const StepOutputs outputs = outputs_of(step);
  const double loss = read_figures(taken, outputs);
  const double seconds = end_step(taken);
  StepMetrics metrics{.step = step,
                      .epoch = parts_.plan.epochs(step),
                      .loss = loss,
                      .lr = parts_.schedule.rate(step),
                      .samples_per_s = static_cast<double>(taken.minibatch) / seconds,
                      .data_wait_ms = taken.wait_ms,
                      .compute_ms = 1e3 * (taken.host_seconds - taken.reduce_seconds),
                      .loss_scale = loss_scale_,
                      .clock_s = taken.clock_s,
                      .staleness = taken.staleness,
                      .metrics = parts_.metrics.training,
                      .means = means_,
                      .group_rates = parts_.schedule.group_rates(step)};
  add_padding(metrics);
  for (const auto& instrument : instruments_) instrument->add_to_step(metrics, outputs);
  parts_.observer.step(metrics);
  for (const auto& instrument : instruments_) instrument->stepped({metrics, outputs, train_seconds_});
}

void StepReports::add_padding(StepMetrics& metrics) const {
  const int64_t length = parts_.settled.buckets[parts_.order.bucket(metrics.step)].length;
  if (length == 0 || parts_.task.train->is_constant()) return;
  metrics.length = static_cast<double>(length);
  metrics.padding = padding_of(*parts_.task.train, parts_.order, metrics.step, length,
                               std::ranges::count_if(parts_.task.fields, &Field::is_ragged));
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
