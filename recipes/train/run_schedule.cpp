#include "recipes/train/run_schedule.h"

#include <fmt/format.h>

#include <cmath>

#include "optim/wrapped_rules.h"

namespace kb {

std::string scalar_prefix(const std::string& group, size_t groups) {
  return groups > 1 && !group.empty() ? group + "." : "";
}

RunScalars::RunScalars(const Rules& own, const std::vector<GroupLearning>& groups, const RunPlan& plan) {
  for (const auto& [name, learning] : groups) {
    if (is_frozen(learning)) continue;
    Group group{scalar_prefix(name, groups.size()), make_scalars(own, learning, plan)};
    constants_.push_back({group.prefix + kClipNorm, learning.clip_norm});
    constants_.push_back({group.prefix + kEmaDecay, learning.ema});
    for (const NamedScalar& scalar : group.scalars.at(0)) all_.push_back({group.prefix + scalar.name, 0});
    if (!group.prefix.empty()) rates_.push_back({"lr." + name, 0});
    groups_.push_back(std::move(group));
  }
}

std::span<const NamedScalar> RunScalars::at(int64_t step) {
  return at(step, {.step = step}, {.step = step > 0 ? step - 1 : 0});
}

std::span<const NamedScalar> RunScalars::at(int64_t done, const SchedulePlace& place, const SchedulePlace& before) {
  if (groups_.size() == 1 && groups_.front().prefix.empty()) return groups_.front().scalars.at(done, place, before);
  size_t at = 0;
  for (Group& group : groups_)
    for (const NamedScalar& scalar : group.scalars.at(done, place, before)) all_[at++].value = scalar.value;
  return all_;
}

std::span<const NamedScalar> RunScalars::rates(int64_t step) {
  size_t at = 0;
  for (const Group& group : groups_)
    if (!group.prefix.empty()) rates_[at++].value = group.scalars.rate().at(step);
  return rates_;
}

namespace {

// Returns AdaScale's state at the begin of a run with this optimizer; nothing if the learning rate has no gains.
std::optional<AdaScale> make_adascale(const Optimizer& optimizer, const Learning& learning, const BatchPlan& batch) {
  if (!reference_rate(learning).has_gains()) return std::nullopt;
  if (optimizer.schedule_free)
    throw Error(
        fmt::format("learning.scaling: expected learning rates that are known before the run beside learning.optimizer "
                    "= {}, whose mean weighs "
                    "steps by them, got adascale\n  hint: learning.scaling = linear",
                    optimizer.name));
  return AdaScale({learning.base_minibatch, batch.workers(), batch.per_worker});
}

// Throws Error for a schedule-free optimizer where an order applies the gradients: its gradients are those at a point
// beside the parameters, and workers read the parameters alone.
void check_order(const Optimizer& optimizer, const RunPlan& plan) {
  if (plan.ordered == 0 || !optimizer.schedule_free) return;
  throw Error(
      fmt::format("learning.optimizer = {}: expected sync.policy = sync or local, in which gradients are those at the "
                  "point that the optimizer chooses, got workers that read the parameters alone\n"
                  "  hint:     learning.optimizer = adamw",
                  optimizer.name));
}

}  // namespace

SchedulePlace RunSchedule::place(int64_t step) const {
  if (!adascale_) return {.step = step};
  const ScaledStep& scaled = adascale_->at(step);
  return {static_cast<int64_t>(scaled.iterations), scaled.gain};
}

std::span<const NamedScalar> RunSchedule::at(const Update& update) {
  return scalars_.at(update.done, place(update.step), place(update.step_before));
}

double RunSchedule::rate(int64_t step) const {
  const SchedulePlace at = place(step);
  return at.gain * scalars_.rate().at(at.step);
}

std::optional<ScaledStep> RunSchedule::scaled(int64_t step) const {
  return adascale_ ? std::optional(adascale_->at(step)) : std::nullopt;
}

bool RunSchedule::is_over(int64_t done) const {
  return (adascale_ ? adascale_->at(done).iterations : static_cast<double>(done)) >= total();
}

int64_t RunSchedule::steps_left(int64_t done) const {
  const ScaledStep next = adascale_ ? adascale_->at(done) : ScaledStep{1, static_cast<double>(done)};
  return static_cast<int64_t>(std::ceil(std::max(total() - next.iterations, 0.0) / next.gain));
}

void RunSchedule::go_to(int64_t step, const std::string& state, int64_t ahead) {
  const bool has_gains = adascale_.has_value();
  if (has_gains != !state.empty() && (step > 0 || !state.empty()))
    throw Error(
        fmt::format("learning.scaling: expected a state {} AdaScale's place in its schedule, got one {} it at step {}",
                    has_gains ? "with" : "without", has_gains ? "without" : "with", step));
  if (!state.empty()) adascale_ = AdaScale(adascale_->sizes(), step, state);
  ahead_ = ahead;
}

void RunSchedule::take(const std::optional<GradientNorms>& norms) {
  if (adascale_) adascale_->add(norms.value());
}

RunSchedule make_run_schedule(const Rules& own, const std::vector<GroupLearning>& groups, const BatchPlan& batch,
                              const RunPlan& plan) {
  for (const auto& [group, learning] : groups)
    if (!is_frozen(learning)) check_order(find_optimizer(own.optimizers, learning.optimizer), plan);
  for (const auto& [group, learning] : groups)
    if (groups.size() > 1 && reference_rate(learning).has_gains())
      throw Error(
          fmt::format("learning.scaling: expected a rule that is known before the run beside {} groups of parameters, "
                      "got adascale{}\n  hint: learning.scaling = linear",
                      groups.size(), group.empty() ? "" : " for " + group));
  const Learning& learning = groups.front().learning;
  return {RunScalars(own, groups, plan),
          make_adascale(find_optimizer(own.optimizers, learning.optimizer), learning, batch)};
}

std::string ScheduleHash::up_to(int64_t step) {
  for (; next_ < step; ++next_)
    for (const NamedScalar& scalar : scalars_.at(next_)) {
      hash_.update_field(scalar.name);
      hash_.update(&scalar.value, sizeof scalar.value);
    }
  return hash_.hex();
}

}  // namespace kb
