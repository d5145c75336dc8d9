#include "recipes/config/learning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "compiler/passes/passes.h"
#include "optim/rows.h"
#include "recipes/task/suggest.h"

namespace kb {
namespace {

// Returns false if the scaled rate does not exceed the rate of the base minibatch, unless learning.warmup_from is
// given, which asks for a warmup.
bool has_warmup(const Learning& learning, int64_t minibatch) {
  const bool is_within_base = learning.base_minibatch > 0 && reference_rate(learning).at(minibatch) <= learning.lr;
  return learning.warmup_from || !is_within_base;
}

// Returns a text such as " x the gain of the step, 1 to 8 = 512/64, in steps of 64", or "" without AdaScale.
std::string gains_text(const Learning& learning, int64_t minibatch) {
  if (!reference_rate(learning).has_gains()) return "";
  return fmt::format(" x the gain of the step, 1 to {:.6g} = {}/{}, in steps of {}",
                     static_cast<double>(minibatch) / static_cast<double>(learning.base_minibatch), minibatch,
                     learning.base_minibatch, learning.base_minibatch);
}

// Returns how far the steps of each phase take the schedule. In an epoch in which the minibatch grows a step counts by
// its share of the samples that the epoch draws.
std::vector<StepGrowth> step_growths(const RunPlan& plan) {
  std::vector<StepGrowth> growths;
  const auto epoch = static_cast<double>(plan.steps_per_epoch);
  for (size_t number = 1; number < plan.phase_count(); ++number) {
    const MinibatchPhase now = plan.phase(number);
    const int64_t begin = now.begin_step, whole = begin + now.rest_steps;
    StepGrowth growth{begin,
                      0,
                      epoch * (now.epochs(begin) - plan.phase(number - 1).epochs(begin)),
                      now.rate,
                      now.restarts,
                      now.warmup_epochs};
    if (now.rest_steps > 0) {
      growth.steps = epoch * (now.epochs(begin + 1) - now.epochs(begin));
      growths.push_back(growth);
      growth = {.rate = now.rate};
    }
    if (number + 1 < plan.phase_count() && whole >= plan.phase(number + 1).begin_step) continue;
    growth.from = whole;
    growth.steps = epoch / static_cast<double>(now.steps_per_epoch);
    growths.push_back(growth);
  }
  return growths;
}

}  // namespace

std::vector<Optimizer> offered_optimizers(const std::vector<Optimizer>& own) {
  std::vector<Optimizer> offered = own;
  offered.insert(offered.end(), optimizers().begin(), optimizers().end());
  return offered;
}

Optimizer find_optimizer(const std::vector<Optimizer>& own, const std::string& name) {
  std::vector<std::string> names;
  for (const Optimizer& optimizer : offered_optimizers(own)) {
    if (optimizer.name == name) return optimizer;
    names.emplace_back(optimizer.name);
  }
  throw Error(fmt::format("there is no optimizer '{}'{}", name, suggestion(name, names)));
}

void use_optimizer(const Defaults& d, const std::vector<Optimizer>& offered, Learning& learning,
                   const std::string& name) {
  const Optimizer own = find_optimizer(offered, d.optimizer), chosen = find_optimizer(offered, name);
  std::vector<NamedScalar> recipes = hyper_values(own, d.hyper), given;
  const bool alike = chosen.learning_rate == own.learning_rate;
  for (NamedScalar& scalar : recipes)
    if (alike && chosen.reads(scalar.name)) given.push_back(std::move(scalar));
  learning.optimizer = name;
  learning.lr = alike ? d.lr : chosen.learning_rate;
  learning.base_minibatch = alike ? d.base_minibatch : 0;
  learning.hyper = hyper_values(chosen, given);
  learning.schedule = chosen.schedule_free ? ScheduleSpec().shape : d.schedule;
}

TrainConfig config_of(const Defaults& d, const Rules& own) {
  find_row(offered_shapes(own.schedules), "schedule", d.schedule);
  TrainConfig config;
  config.batch.minibatch = d.minibatch;
  config.length.epochs = d.epochs;
  use_optimizer(d, own.optimizers, config.learning, d.optimizer);
  config.learning.scaling = d.scaling;
  config.learning.milestones = d.milestones;
  config.learning.power = d.power;
  config.learning.decay_share = d.decay_share;
  config.learning.warmup = d.warmup;
  config.learning.warmup_epochs = d.warmup_epochs;
  config.learning.warmup_start = d.warmup_start;
  config.learning.label_smoothing = d.label_smoothing;
  return config;
}

bool is_frozen(const Learning& learning) { return learning.optimizer == kFrozen; }

bool may_divide(const std::vector<std::string>& groups) { return groups == std::vector<std::string>{""}; }

std::vector<GroupLearning> learning_of_groups(const TrainConfig& config, const std::vector<std::string>& groups) {
  const bool divides = may_divide(groups);
  std::vector<GroupLearning> rows = config.group_learning;
  for (const GroupLearning& row : rows)
    if (row.group.empty() || (!divides && std::ranges::count(groups, row.group) == 0) ||
        std::ranges::count(rows, row.group, &GroupLearning::group) > 1)
      throw Error(fmt::format("group_learning: expected at most one row for each group{}, got '{}'",
                              divides ? "" : fmt::format(" that the model's losses name, {}", fmt::join(groups, ", ")),
                              row.group));
  std::ranges::sort(rows, {}, &GroupLearning::group);
  if (divides) {
    rows.insert(rows.begin(), {"", config.learning});
  } else {
    std::vector<GroupLearning> named;
    for (const std::string& group : groups) {
      const auto own = std::ranges::find(rows, group, &GroupLearning::group);
      named.push_back(own == rows.end() ? GroupLearning{group, config.learning} : *own);
    }
    rows = std::move(named);
  }
  std::ranges::stable_partition(rows, [](const GroupLearning& row) { return !is_frozen(row.learning); });
  return rows;
}

std::optional<double> find_hyper(const Learning& learning, std::string_view name) {
  const auto at = std::ranges::find(learning.hyper, name, &NamedScalar::name);
  return at == learning.hyper.end() ? std::nullopt : std::optional(at->value);
}

std::vector<NamedScalar> hyper_of_run(const Learning& learning, int64_t minibatch) {
  std::vector<NamedScalar> hyper = learning.hyper;
  if (learning.half_life == 0) return hyper;
  for (NamedScalar& scalar : hyper)
    if (scalar.name == kBeta2Name) scalar.value = std::exp2(-static_cast<double>(minibatch) / learning.half_life);
  return hyper;
}

LearningRate make_rate(const Rules& own, const Learning& learning, const RunPlan& plan) {
  ScheduleSpec spec;
  spec.shape = learning.schedule;
  const RunPlan along = schedule_plan(learning, plan);
  spec.learning_rate = reference_rate(learning).at(plan.minibatch);
  spec.growths = step_growths(along);
  const bool warms_up = has_warmup(learning, plan.minibatch);
  const bool warms_again = std::ranges::any_of(spec.growths, [](const StepGrowth& g) { return g.warmup_epochs > 0; });
  spec.warmup = warms_up || warms_again ? learning.warmup : "none";
  spec.warmup_epochs = warms_up ? warmup_epochs_of(learning, along.steps_per_epoch) : 0;
  spec.warmup_start = learning.warmup_from.value_or(learning.base_minibatch > 0 ? learning.lr : learning.warmup_start);
  spec.milestones = learning.milestones;
  spec.power = learning.power;
  spec.decay_share = learning.decay_share;
  spec.end_rate = learning.end_lr;
  spec.steps_per_epoch = along.steps_per_epoch;
  spec.total_steps = along.steps;
  return LearningRate(std::move(spec), own.schedules);
}

StepScalars make_scalars(const Rules& own, const Learning& learning, const RunPlan& plan) {
  return {make_rate(own, learning, plan), find_optimizer(own.optimizers, learning.optimizer),
          hyper_of_run(learning, plan.minibatch)};
}

std::string rate_derivation(const Rules& own, const Learning& learning, const RunPlan& plan) {
  const bool left_out = !has_warmup(learning, plan.minibatch) && learning.warmup != "none" &&
                        (learning.warmup_epochs > 0 || learning.warmup_steps > 0);
  const ReferenceRate rate = reference_rate(learning);
  const std::string why = rate.has_gains() ? "AdaScale needs none" : "not above the base rate";
  return fmt::format("lr {}{}, {}{}", rate.derivation(plan.minibatch), gains_text(learning, plan.minibatch),
                     left_out ? fmt::format("no warmup ({}), ", why) : "",
                     make_rate(own, learning, plan).description());
}

std::string rate_note(const Rules& own, const Learning& learning, const RunPlan& plan) {
  if (plan.steps == 0) return "NOTE: no step is taken; the weights are evaluated as they begin";
  const ScheduleSpec spec = make_rate(own, learning, plan).spec();
  const double warmup = spec.warmup_epochs * static_cast<double>(spec.steps_per_epoch);
  if (spec.warmup == "none" || warmup < static_cast<double>(plan.steps)) return "";
  return fmt::format("NOTE: the warmup takes {:.0f} steps, the run {}: the learning rate does not get to {}", warmup,
                     plan.steps, spec.learning_rate);
}

std::string optimizer_text(const Learning& learning, int64_t minibatch) {
  std::string text = "optimizer " + learning.optimizer;
  const std::vector<NamedScalar> hyper = hyper_of_run(learning, minibatch);
  for (size_t i = 0; i < hyper.size(); ++i) {
    std::string words = hyper[i].name;
    std::replace(words.begin(), words.end(), '_', ' ');
    text += fmt::format("{} {} {}", i == 0 ? ":" : ",", words, hyper[i].value);
    if (learning.half_life > 0 && hyper[i].name == kBeta2Name)
      text += fmt::format(" (half-life {} samples)", learning.half_life);
  }
  if (learning.clip_norm > 0) text += fmt::format("; gradient clipped at a norm of {}", learning.clip_norm);
  if (learning.ema > 0) text += fmt::format("; parameters averaged with {}", learning.ema);
  return text;
}

std::string group_text(const Rules& own, const GroupLearning& row, const RunPlan& plan) {
  if (is_frozen(row.learning)) return row.group + ": frozen";
  return fmt::format("{}: {}; {}", row.group, rate_derivation(own, row.learning, plan),
                     optimizer_text(row.learning, plan.minibatch));
}

std::string adaptation_text(const Learning& learning, const StepScalars& scalars, const ParameterSpace& space) {
  const std::optional<double> skip = find_hyper(learning, "skip_lr");
  if (!skip) return "";
  const auto adapted =
      std::count_if(space.segments.begin(), space.segments.end(), [](const Segment& segment) { return segment.adapt; });
  const auto others = static_cast<int64_t>(space.segments.size()) - adapted;
  std::string text = fmt::format("layers with rates of their own: {}", adapted);
  if (others == 0) return text;
  std::vector<std::string_view> roles;
  for (const Role role : learning.no_adapt) roles.push_back(name(role));
  const ScheduleSpec& spec = scalars.rate().spec();
  double most = 1;  // greatest factor of the rate by a growth
  for (const StepGrowth& growth : spec.growths) most = std::max(most, growth.rate);
  const std::string grown = most > 1 ? fmt::format(", up to {:.6g} times that as the minibatch grows", most) : "";
  text += fmt::format("; not adapted: {} ({}), their rate is ", others, fmt::join(roles, ", "));
  if (*skip > 0)
    return text + fmt::format("at most {} (learning.hyper.skip_lr), in the shape of the schedule{}", *skip, grown);
  return text + fmt::format("the learning rate itself, up to {}{}; learning.hyper.skip_lr gives them a lower one",
                            spec.learning_rate, grown);
}

}  // namespace kb
